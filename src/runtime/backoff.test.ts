// Delays after failures: growth, bounds, and what the server asked for.

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { StoreError } from "../ports/store.ts";
import { backoffMs, LONGEST_RETRY_AFTER_MS, retryAfterMs } from "./backoff.ts";

const policy = { baseMs: 100, capMs: 5_000 };

test("the delay doubles per failure from the base up to the cap", () => {
  const delays = [1, 2, 3, 6, 7, 5_000].map((failures) => backoffMs(policy, failures, () => 1));
  expect(delays).toEqual([100, 200, 400, 3_200, 5_000, 5_000]);
});

test("whatever is drawn, the delay stays between half and the whole, and never exceeds the cap", () => {
  const drawn = fc.double({ min: 0, max: 0.999_999, noNaN: true });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100_000 }), drawn, (failures, chance) => {
      const full = backoffMs(policy, failures, () => 1);
      const delay = backoffMs(policy, failures, () => chance);
      expect(delay).toBeGreaterThanOrEqual(full / 2);
      expect(delay).toBeLessThanOrEqual(Math.min(full, policy.capMs));
    }),
  );
});

test("what is drawn decides: the delays of many are spread evenly over the upper half", () => {
  const delays = [0, 0.25, 0.5, 0.75].map((chance) => backoffMs(policy, 3, () => chance));
  expect(delays).toEqual([200, 250, 300, 350]);
});

test("what the server asks for is never undercut, and spread by up to a tenth", () => {
  const error = new StoreError("TooManyRequests", "slow down", { retryAfterSeconds: 30 });
  expect(retryAfterMs(error, () => 0)).toBe(30_000);
  expect(retryAfterMs(error, () => 0.5)).toBe(31_500);
});

test("a server that asks for an absurd wait is obeyed up to a bound only", () => {
  const error = new StoreError("Unavailable", "see you", { retryAfterSeconds: 1e12 });
  expect(retryAfterMs(error, () => 0)).toBe(LONGEST_RETRY_AFTER_MS);
});

test("no wish, a nonsensical wish, or another kind of error asks for nothing", () => {
  expect(retryAfterMs(new StoreError("Internal", "oops"), () => 0)).toBe(0);
  const broken = new StoreError("Internal", "oops", { retryAfterSeconds: Number.NaN });
  expect(retryAfterMs(broken, () => 0)).toBe(0);
  expect(retryAfterMs(new Error("plain"), () => 0)).toBe(0);
});
