import { expect, test } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { WEB } from "../../test/shares.ts";
import type { ServiceImport } from "../api/mcs.ts";
import { createAddresses } from "./addresses.ts";

function anImport(ready: "True" | "False"): ServiceImport {
  return {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceImport",
    metadata: { namespace: "shop", name: "web" },
    status: {
      conditions: [
        { type: "Ready", status: ready, reason: "Any", message: "", lastTransitionTime: "" },
      ],
    },
  };
}

test("R57: an address outlives all that shows it, until it is forgotten", () => {
  const addresses = createAddresses(new VirtualClock());
  addresses.note(WEB, ["10.0.0.1"]);
  addresses.note(WEB, []);
  expect(addresses.recall(WEB)).toEqual(["10.0.0.1"]);
  addresses.forget(WEB);
  expect(addresses.recall(WEB)).toEqual([]);
});

test("R57: a refused address that was in use is worth asking for again, for ten seconds", async () => {
  const clock = new VirtualClock();
  const addresses = createAddresses(clock);
  const inUse = anImport("True");
  expect(addresses.isWorthAsking(WEB, inUse)).toBe(true);
  await clock.advance(9_999);
  expect(addresses.isWorthAsking(WEB, inUse)).toBe(true);
  await clock.advance(1);
  expect(addresses.isWorthAsking(WEB, inUse)).toBe(false);
  // Given in the end: the next refusal is a new story.
  addresses.note(WEB, ["10.0.0.1"]);
  expect(addresses.isWorthAsking(WEB, inUse)).toBe(true);
});

test("an address that was only asked for is not worth asking again", () => {
  const addresses = createAddresses(new VirtualClock());
  expect(addresses.isWorthAsking(WEB, anImport("False"))).toBe(false);
  expect(addresses.isWorthAsking(WEB, undefined)).toBe(false);
});
