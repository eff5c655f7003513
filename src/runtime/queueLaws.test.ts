// The queue's contract as laws, over random schedules.

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { sleep } from "../ports/clock.ts";
import { StoreError } from "../ports/store.ts";
import { createQueue, type Outcome } from "./queue.ts";

const KEYS = ["a", "b", "c", "d", "e"] as const;
const step = fc.oneof(
  fc.record({
    do: fc.constantFrom("add" as const, "addLater" as const),
    key: fc.constantFrom(...KEYS),
  }),
  fc.record({ do: fc.constant("advance" as const), ms: fc.nat({ max: 25 }) }),
);
const run = fc.record({
  ms: fc.nat({ max: 20 }),
  looksAfterMs: fc.option(fc.nat({ max: 20 }), { nil: undefined }),
  end: fc.oneof(
    { weight: 4, arbitrary: fc.constant("done" as const) },
    fc.constant("after" as const),
    fc.constant("throw" as const),
    fc.constant("429" as const),
  ),
});
const world = fc.record({
  steps: fc.array(step, { maxLength: 60, size: "max" }),
  runs: fc.array(run, { maxLength: 40, size: "max" }),
  workers: fc.integer({ min: 1, max: 3 }),
  maxKeys: fc.integer({ min: 1, max: 6 }),
  rateLimit: fc.option(fc.constant({ perSecond: 200, burst: 2 }), { nil: undefined }),
});

test("in any schedule no key runs twice at once, none is lost, and none is passed over twice", async () => {
  await fc.assert(
    fc.asyncProperty(world, async ({ steps, runs, workers, maxKeys, rateLimit }) => {
      const clock = new VirtualClock();
      let tick = 0;
      const lastAdded = new Map<string, number>();
      const lastLooked = new Map<string, number>();
      const active = new Set<string>();
      /** Keys that must have been waiting since they were added, and who started since. */
      const queued = new Map<string, string[]>();
      const script = [...runs];
      // Not asserted in the handler: the queue would take the assertion's error for a failed run.
      const violations: string[] = [];
      async function handler(key: string): Promise<Outcome> {
        if (active.has(key)) violations.push(`${key} runs twice at once`);
        active.add(key);
        if (active.size > workers) violations.push("more runs than workers");
        lastLooked.set(key, ++tick);
        const passedBy = queued.get(key) ?? [];
        if (new Set(passedBy).size < passedBy.length) violations.push(`${key} was passed over`);
        queued.delete(key);
        for (const starts of queued.values()) starts.push(key);
        const { looksAfterMs, ms, end } = script.shift() ?? { ms: 1, end: "done" };
        if (looksAfterMs !== undefined) {
          await sleep(clock, looksAfterMs);
          queue.looks(key);
          lastLooked.set(key, ++tick);
        }
        if (ms > 0) await sleep(clock, ms);
        active.delete(key);
        if (end === "throw") throw new Error("no luck");
        if (end === "429") {
          throw new StoreError("TooManyRequests", "busy", { retryAfterSeconds: 0.03 });
        }
        return end === "after" ? { afterMs: 15 } : "done";
      }
      const queue = createQueue({
        clock,
        random: () => 0.5,
        handler,
        keys: () => KEYS,
        onFailure: () => undefined,
        onOverflow: () => undefined,
        workers,
        maxKeys,
        backoff: { baseMs: 5, capMs: 50 },
        ...(rateLimit && { rateLimit }),
      });
      queue.start();
      for (const action of steps) {
        if (action.do === "advance") {
          await clock.advance(action.ms);
          continue;
        }
        lastAdded.set(action.key, ++tick);
        const before = queue.snapshot().waiting;
        queue[action.do](action.key);
        if (queue.snapshot().waiting > before) queued.set(action.key, []);
      }
      await clock.advance(60_000);
      expect(violations).toEqual([]);
      expect(queue.snapshot()).toMatchObject({ waiting: 0, delayed: 0, running: 0 });
      for (const [key, added] of lastAdded) {
        expect(lastLooked.get(key) ?? 0, `a look at ${key} after it was added`).toBeGreaterThan(
          added,
        );
      }
      await queue.stop();
      expect(clock.pendingTimers).toBe(0);
    }),
    { numRuns: 300 },
  );
});
