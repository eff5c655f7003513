// The informer's laws over random histories: whatever the server goes through, once it is quiet the cache is the truth, and
// the calls to onChange, replayed from nothing, build exactly the cache.

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { type Fault, ScriptedStore, THING, type Thing } from "../../test/scriptedStore.ts";
import { StoreError, type StoreErrorCode } from "../ports/store.ts";
import { createInformer } from "./informer.ts";

const name = fc.constantFrom("a", "b", "c", "d", "e", "f");
const change = fc.oneof(
  fc.record({ do: fc.constant("put" as const), name, value: fc.nat(99), mine: fc.boolean() }),
  fc.record({ do: fc.constant("remove" as const), name }),
  fc.record({ do: fc.constant("replace" as const), name, value: fc.nat(99), mine: fc.boolean() }),
);
const code = fc.constantFrom<StoreErrorCode>(
  "Gone",
  "Internal",
  "Unavailable",
  "TooManyRequests",
  "Unreachable",
  "Forbidden",
);
const fault = fc.oneof(
  code.map((each): Fault => new StoreError(each, "injected", { retryAfterSeconds: 2 })),
  fc.constantFrom<Fault>("end", "hang", "ok"),
);
const action = fc.oneof(
  { weight: 6, arbitrary: change },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("advance" as const), ms: fc.nat(90_000) }) },
  fc.record({ do: fc.constant("cut" as const), code }),
  fc.record({ do: fc.constant("end" as const) }),
  fc.record({ do: fc.constant("compact" as const) }),
  fc.record({ do: fc.constant("bookmark" as const) }),
  fc.record({
    do: fc.constant("fault" as const),
    verb: fc.constantFrom("list" as const, "watch" as const),
    fault,
  }),
);
type Action = typeof action extends fc.Arbitrary<infer A> ? A : never;

async function act(step: Action, store: ScriptedStore, clock: VirtualClock): Promise<void> {
  switch (step.do) {
    case "put":
    case "remove":
    case "replace":
      make(step, store);
      return;
    case "advance":
      await clock.advance(step.ms);
      return;
    case "cut":
      store.endWatches(new StoreError(step.code, "cut"));
      return;
    case "end":
      store.endWatches();
      return;
    case "compact":
      store.compact();
      return;
    case "bookmark":
      store.bookmark();
      return;
    case "fault":
      store.faults[step.verb].push(step.fault);
  }
}

function make(step: typeof change extends fc.Arbitrary<infer C> ? C : never, store: ScriptedStore) {
  if (step.do !== "put") store.remove(step.name);
  if (step.do !== "remove") store.put(step.name, step.value, step.mine ? { mine: "yes" } : {});
}

// "max": by default fast-check stops at ten elements, which is too short to reach the rarer histories.
const history = fc.record({
  actions: fc.array(action, { maxLength: 60, size: "max" }),
  betweenPages: fc.array(fc.oneof(change, fc.constant("compact" as const)), {
    maxLength: 12,
    size: "max",
  }),
  pageSize: fc.integer({ min: 1, max: 4 }),
  labelSelector: fc.constantFrom(undefined, "mine=yes"),
  chance: fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })),
});

test("at quiet the cache equals the server, and the changes told build exactly the cache", async () => {
  await fc.assert(
    fc.asyncProperty(history, async (world) => {
      const clock = new VirtualClock();
      const store = new ScriptedStore(clock);
      store.pageSize = world.pageSize;
      const pending = [...world.betweenPages];
      store.beforePage = (page) => {
        const step = page > 0 ? pending.shift() : undefined;
        if (step === "compact") store.compact();
        else if (step !== undefined) make(step, store);
      };
      const replayed = new Map<string, Thing>();
      const violations: string[] = [];
      const informer = createInformer<Thing>({
        store,
        resource: THING,
        ...(world.labelSelector !== undefined && { labelSelector: world.labelSelector }),
        clock,
        random: () => world.chance.next().value ?? 0,
        onChange(key, before, after) {
          if (replayed.get(key) !== before) violations.push(`${key}: before is not what was told`);
          if (before === undefined && after === undefined) violations.push(`${key}: no change`);
          if (before !== undefined && after !== undefined) {
            const [was, is] = [before.metadata, after.metadata];
            if (was.uid !== is.uid) violations.push(`${key}: two objects in one change`);
            if (was.resourceVersion === is.resourceVersion) violations.push(`${key}: told twice`);
            if (Number(was.resourceVersion) > Number(is.resourceVersion)) {
              violations.push(`${key}: went back in time`);
            }
          }
          if (after === undefined) replayed.delete(key);
          else replayed.set(key, after);
        },
        onError: (error) => {
          if (error.during === "onChange") violations.push(String(error.error));
        },
      });
      for (const step of world.actions) await act(step, store, clock);
      store.faults.list.length = 0;
      store.faults.watch.length = 0;
      await clock.advance(30 * 60_000);
      expect(violations).toEqual([]);
      const truth = store.things(world.labelSelector);
      const cached = new Map([...informer.keys()].map((key) => [key, informer.get(key)]));
      expect(informer.isSynced()).toBe(true);
      expect(cached).toEqual(truth);
      expect(replayed).toEqual(truth);
      await informer.stop();
      expect([store.openWatches, clock.pendingTimers]).toEqual([0, 0]);
    }),
    { numRuns: 200 },
  );
});
