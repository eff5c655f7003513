// The end of a join, on virtual time: what the newcomer asks of the hub with the credential that it was given a moment ago.

import { expect, test } from "vitest";
import { CLUSTER_MEMBER } from "../src/api/isthmus.ts";
import { memberNamespace } from "../src/api/names.ts";
import { carryOutJoin } from "../src/controllers/join.ts";
import type { JoinPlan } from "../src/controllers/joinplan.ts";
import { type Store, StoreError, type StoreErrorCode } from "../src/ports/store.ts";
import { AgentWorld } from "./agentWorld.ts";

/** A hub that refuses the newcomer so many times, for that reason. */
async function joinRefused(code: StoreErrorCode, refusals: number) {
  const world = await AgentWorld.open("east", "west");
  const [east] = world.sites;
  const { id: cluster, site } = east!;
  let left = refusals;
  const refuse = (): void => {
    if (left > 0) {
      left -= 1;
      throw new StoreError(code, "not you");
    }
  };
  const hub: Store = {
    ...world.hubStore,
    get: async (...asked) => (refuse(), world.hubStore.get(...asked)),
    list: async (...asked) => (refuse(), world.hubStore.list(...asked)),
  };
  const member = await world.hubStore.get(CLUSTER_MEMBER, {
    namespace: memberNamespace(cluster),
    name: cluster,
  });
  const credential = { cluster, server: "https://hub.example.com:6443", claim: "0".repeat(64) };
  const plan = {
    cluster,
    found: {},
    credential: { ...credential, token: "new" },
    isMember: true,
    spec: member!.spec,
    properties: [],
    doubts: [],
  } as unknown as JoinPlan;
  // An embedded cluster has no roles; what is placed there is not what this is about.
  const store: Store = {
    ...site.store,
    get: (...asked) => site.store.get(...asked).catch(() => undefined),
    apply: async (_, object) => object,
  };
  const options = {
    store,
    door: { store: hub, requestToken: async () => "new", joinToken: "t" },
    connect: () => hub,
    clock: world.clock,
    signal: new AbortController().signal,
  };
  const beganMs = world.clock.monotonic();
  const outcome = await world.during(
    carryOutJoin(options, plan).then(
      ({ warnings }) => warnings,
      (error: unknown) => error,
    ),
  );
  return { outcome, tookMs: world.clock.monotonic() - beganMs };
}

test.each(["Forbidden", "Unauthorized"] as const)(
  "a hub that answers %s for a moment, because its roles and accounts are as new as the credential, is asked again",
  async (code) => {
    const { outcome } = await joinRefused(code, 5);
    expect(outcome).toEqual([]);
  },
);

test("a hub that goes on refusing is believed after ten seconds", async () => {
  const { outcome, tookMs } = await joinRefused("Forbidden", Infinity);
  expect(outcome).toMatchObject({ code: "Forbidden" });
  expect(tookMs).toBeGreaterThanOrEqual(10_000);
  expect(tookMs).toBeLessThan(15_000);
});

test("any other failure is told at once", async () => {
  const { outcome, tookMs } = await joinRefused("Invalid", Infinity);
  expect(outcome).toMatchObject({ code: "Invalid" });
  expect(tookMs).toBeLessThan(5_000);
});
