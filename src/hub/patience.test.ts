// Hub: how long a member that is not in order is waited for.

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { awaitedForMs, type Conduct, noteConduct } from "./patience.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Out of order for the first duration, in order for the next, and so on; then out of order. */
function livedThrough(...durationsMs: readonly number[]): { conduct: Conduct; nowMs: number } {
  let nowMs = 5 * MINUTE;
  let conduct = noteConduct(undefined, false, nowMs);
  for (const [at, durationMs] of durationsMs.entries()) {
    nowMs += durationMs;
    conduct = noteConduct(conduct, at % 2 === 0, nowMs);
  }
  return { conduct: noteConduct(conduct, false, nowMs), nowMs };
}

function leftAfter(...durationsMs: readonly number[]): number {
  const { conduct, nowMs } = livedThrough(...durationsMs);
  return awaitedForMs(conduct, nowMs);
}

test("who is in order is not waited for; who is not is for ten minutes", () => {
  expect(awaitedForMs(noteConduct(undefined, true, 0), 0)).toBe(0);
  const conduct = noteConduct(undefined, false, 0);
  expect(awaitedForMs(conduct, 0)).toBe(10 * MINUTE);
  expect(awaitedForMs(noteConduct(conduct, false, 4 * MINUTE), 9 * MINUTE)).toBe(MINUTE);
  expect(awaitedForMs(conduct, 11 * MINUTE)).toBe(0);
});

test("all that was waited for it counts, and is forgiven after an hour in order", () => {
  expect(leftAfter(4 * MINUTE, 59 * MINUTE)).toBe(6 * MINUTE);
  expect(leftAfter(4 * MINUTE, 59 * MINUTE, 5 * MINUTE, MINUTE)).toBe(MINUTE);
  expect(leftAfter(4 * MINUTE, 60 * MINUTE)).toBe(10 * MINUTE);
});

test("a moment out of order costs ten seconds: who changes at every moment is soon waited for no more", () => {
  expect(leftAfter(1, 1)).toBe(10 * MINUTE - 10 * SECOND);
  expect(leftAfter(...Array.from({ length: 120 }, () => 1))).toBe(0);
});

test("in no hour is anybody waited for longer than twice the patience, however it behaves", () => {
  const durations = fc.array(fc.integer({ min: 1, max: 70 * MINUTE }), { maxLength: 40 });
  fc.assert(
    fc.property(durations, (durationsMs) => {
      const waits: { fromMs: number; toMs: number }[] = [];
      for (const at of durationsMs.keys()) {
        if (at % 2 === 1) continue;
        const { conduct, nowMs } = livedThrough(...durationsMs.slice(0, at));
        const lastedMs = Math.min(durationsMs[at] ?? 0, awaitedForMs(conduct, nowMs));
        waits.push({ fromMs: nowMs, toMs: nowMs + lastedMs });
      }
      for (const { fromMs } of waits) {
        const within = waits.filter((wait) => wait.fromMs >= fromMs);
        const spentMs = within
          .map(({ fromMs: from, toMs }) => Math.min(toMs, fromMs + 60 * MINUTE) - from)
          .filter((ms) => ms > 0)
          .reduce((sum, ms) => sum + ms, 0);
        expect(spentMs).toBeLessThanOrEqual(20 * MINUTE);
      }
    }),
  );
});
