import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  addOutage,
  DAMPED_AT_MOST_MS,
  isFlapping,
  isForgotten,
  type Outages,
  REMEMBERED_AT_MOST_MS,
} from "./damping.ts";

const SECOND_MS = 1_000;

/** Outages at the given seconds. */
function suffer(...seconds: readonly number[]): Outages {
  let outages: Outages | undefined;
  for (const second of seconds) outages = addOutage(outages, second * SECOND_MS);
  if (outages === undefined) throw new Error("there was no outage");
  return outages;
}

const moments = fc
  .array(fc.integer({ min: 0, max: 600 }), { minLength: 1, maxLength: 60 })
  .map((list) => list.toSorted((a, b) => a - b));

test("nobody flaps who was never out", () => {
  expect(isFlapping(undefined, 0)).toBe(false);
});

test("one outage a day is no flapping, nor are two in a row", () => {
  expect(isFlapping(suffer(0, 86_400, 172_800), 172_800 * SECOND_MS)).toBe(false);
  expect(isFlapping(suffer(0, 35), 35 * SECOND_MS)).toBe(false);
});

test("three outages within two minutes are flapping", () => {
  expect(isFlapping(suffer(0, 60, 120), 120 * SECOND_MS)).toBe(true);
});

test("an outage every other minute is never flapping", () => {
  const seconds = Array.from({ length: 50 }, (_, at) => at * 125);
  expect(isFlapping(suffer(...seconds), 49 * 125 * SECOND_MS)).toBe(false);
});

test("between the thresholds what was decided stands", () => {
  // 2207 right after the third outage, 1500 after the second of two, 1041 and 983 when it has almost and just decayed.
  expect(isFlapping(suffer(0, 120), 120 * SECOND_MS)).toBe(false);
  const damped = suffer(0, 60, 120);
  expect(isFlapping(damped, (120 + 130) * SECOND_MS)).toBe(true);
  expect(isFlapping(damped, (120 + 140) * SECOND_MS)).toBe(false);
});

test("another outage while flapping prolongs it", () => {
  fc.assert(
    fc.property(moments, fc.nat(240), (seconds, later) => {
      const outages = suffer(...seconds);
      const nowMs = ((seconds.at(-1) ?? 0) + later) * SECOND_MS;
      expect(!isFlapping(outages, nowMs) || isFlapping(addOutage(outages, nowMs), nowMs)).toBe(
        true,
      );
    }),
  );
});

test("the longest that anybody is damped is four minutes after the last outage, and six until forgotten", () => {
  expect(DAMPED_AT_MOST_MS).toBe(240 * SECOND_MS);
  expect(REMEMBERED_AT_MOST_MS).toBe(360 * SECOND_MS);
});

test("after quiet for the stated time nobody is flapping, and a little later nothing is remembered", () => {
  fc.assert(
    fc.property(moments, fc.nat(1_000_000), (seconds, moreMs) => {
      const outages = suffer(...seconds);
      const quietSinceMs = (seconds.at(-1) ?? 0) * SECOND_MS;
      expect(isFlapping(outages, quietSinceMs + DAMPED_AT_MOST_MS + moreMs)).toBe(false);
      expect(isForgotten(outages, quietSinceMs + REMEMBERED_AT_MOST_MS + moreMs)).toBe(true);
    }),
  );
});

test("the penalty is bounded, and who is flapping is remembered", () => {
  fc.assert(
    fc.property(moments, fc.nat(1_000_000), (seconds, laterMs) => {
      const outages = suffer(...seconds);
      expect(outages.penalty).toBeLessThanOrEqual(4_000);
      const nowMs = (seconds.at(-1) ?? 0) * SECOND_MS + laterMs;
      expect(isFlapping(outages, nowMs) && isForgotten(outages, nowMs)).toBe(false);
    }),
  );
});

test("without another outage nobody begins to flap", () => {
  fc.assert(
    fc.property(moments, fc.nat(500_000), fc.nat(500_000), (seconds, soonMs, laterMs) => {
      const outages = suffer(...seconds);
      const nowMs = (seconds.at(-1) ?? 0) * SECOND_MS + soonMs;
      expect(isFlapping(outages, nowMs) || !isFlapping(outages, nowMs + laterMs)).toBe(true);
    }),
  );
});
