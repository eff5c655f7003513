// The real clock keeps the promises of the port that virtual time keeps by construction.

import { expect, test } from "vitest";
import { systemClock, systemRandom } from "./clock.ts";

function waitFor(delayMs: number): Promise<number> {
  const from = systemClock.monotonic();
  return new Promise((resolve) => {
    systemClock.schedule(delayMs, () => resolve(systemClock.monotonic() - from));
  });
}

test("a timer never fires early, not even by the fraction that Node rounds away", async () => {
  const waits = await Promise.all([0.4, 1.7, 2.9, 5.5].map(async (ms) => (await waitFor(ms)) - ms));
  for (const late of waits) expect(late).toBeGreaterThanOrEqual(0);
});

test("a delay longer than Node's longest timer waits instead of firing at once", async () => {
  let fired = false;
  const timer = systemClock.schedule(2 ** 31 + 5_000, () => {
    fired = true;
  });
  await waitFor(5);
  timer.cancel();
  expect(fired).toBe(false);
});

test("a timer without a delay lets sockets have their turn, and no more", async () => {
  const order: string[] = [];
  setImmediate(() => order.push("sent before"));
  const waited = waitFor(0).then(() => order.push("due"));
  setImmediate(() => order.push("sent after"));
  await Promise.resolve();
  expect(order).toEqual([]);
  await waited;
  expect(order).toEqual(["sent before", "due"]);
});

test.each([0, 1])("a cancelled timer of %i ms does not fire", async (delayMs) => {
  let fired = false;
  systemClock
    .schedule(delayMs, () => {
      fired = true;
    })
    .cancel();
  await waitFor(5);
  expect(fired).toBe(false);
});

test("a delay that is not a number is refused", () => {
  expect(() => systemClock.schedule(Number.NaN, () => undefined)).toThrow(RangeError);
});

test("chance stays within [0, 1)", () => {
  for (let i = 0; i < 1_000; i++) {
    const drawn = systemRandom();
    expect(drawn >= 0 && drawn < 1).toBe(true);
  }
});
