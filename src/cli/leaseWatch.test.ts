// Watching Leases on a virtual clock: whose is renewed, what a hub that stumbles changes, and that --wait watches, too.

import { expect, test } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { type Lease, LEASE } from "../api/builtin.ts";
import type { ClusterId } from "../api/names.ts";
import { apiVersionOf } from "../api/object.ts";
import type { HubSighting } from "../core/clusterset/sighting.ts";
import { formatMicroTime } from "../ports/clock.ts";
import { type Store, StoreError } from "../ports/store.ts";
import type { Cluster } from "./cluster.ts";
import type { CliContext } from "./context.ts";
import { watchLeases } from "./leaseWatch.ts";
import { createReach, type LookOptions } from "./observer.ts";
import { lookUntilWell } from "./status.ts";

const { signal } = new AbortController();
const ignore = (): void => undefined;

function aLease(renewedMs: number): Lease {
  return {
    apiVersion: apiVersionOf(LEASE),
    kind: LEASE.kind,
    metadata: { namespace: "isthmus-hub", name: "east" },
    spec: { renewTime: formatMicroTime(renewedMs) },
  };
}

function aHub(leases: readonly Lease[]): HubSighting {
  return {
    server: "https://hub",
    reader: "west" as ClusterId,
    members: [],
    leases,
    hasShares: true,
    serviceShares: [],
    endpointShares: [],
  };
}

/** `answer` is asked once a second, from 1. */
async function watch(clock: VirtualClock, answer: (asked: number) => Promise<readonly Lease[]>) {
  let asked = 0;
  const store = {
    list: async () => ({ items: await answer(++asked), resourceVersion: "1" }),
  } as unknown as Store;
  const hub = aHub([aLease(clock.now() - 60_000)]);
  const watching = watchLeases({ clock, signal }, { store, hub, tell: ignore });
  await clock.advance(20_000);
  return (await watching).before;
}

const stumble = () => Promise.reject(new StoreError("Unavailable", "etcd is away"));

test("a hub that stumbles while its Leases are watched is asked again", async () => {
  const clock = new VirtualClock();
  const old = aLease(clock.now() - 60_000);
  const before = await watch(clock, (asked) => (asked < 5 ? stumble() : Promise.resolve([old])));
  expect(before!.elapsedMs).toBeGreaterThanOrEqual(12_000);
});

test("a hub that stumbles at the end is given a little longer", async () => {
  const clock = new VirtualClock();
  const old = aLease(clock.now() - 60_000);
  const before = await watch(clock, (asked) => (asked === 13 ? stumble() : Promise.resolve([old])));
  expect(before!.elapsedMs).toBe(14_000);
});

test("a hub that answers no more, or never, has not shown that nobody was heard", async () => {
  expect((await watch(new VirtualClock(), stumble))!.elapsedMs).toBe(0);
  const never = () => new Promise<never>(ignore);
  expect((await watch(new VirtualClock(), never))!.elapsedMs).toBe(0);
});

test("status --wait watches Leases like status, so that a dead agent is not taken for well", async () => {
  const looks: LookOptions[] = [];
  const observer = {
    defaultNamespace: "default",
    look: (options: LookOptions = {}) => {
      looks.push(options);
      return Promise.resolve({ sightings: [], nowMs: 0 });
    },
  };
  const flags = { kubeconfig: [], context: [], hub: true, wait: true, timeout: "5m" };
  const context = { clock: new VirtualClock(), signal, error: ignore } as unknown as CliContext;
  await lookUntilWell(context, { observer, flags, timeoutMs: 300_000 });
  expect(looks).toEqual([{ namespace: undefined, watchesLeases: true }]);
});

test("who looks again at the same hub does so by the same client", () => {
  let opened = 0;
  const reach = createReach({ reach: () => ({ number: ++opened }) as unknown as Cluster });
  const target = { server: "https://hub", token: "a" };
  expect(reach(target)).toBe(reach({ ...target }));
  expect(reach({ ...target, token: "b" })).not.toBe(reach(target));
  expect(opened).toBe(2);
});
