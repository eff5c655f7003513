// The virtual clock itself: order, settling, and the same cancel and sleep behaviour as the real one.

import { expect, test } from "vitest";
import { sleep } from "../src/ports/clock.ts";
import { VirtualClock } from "./clock.ts";

test("timers fire by due time, and in order of scheduling when due together", async () => {
  const clock = new VirtualClock();
  const fired: string[] = [];
  clock.schedule(20, () => fired.push("late"));
  clock.schedule(10, () => fired.push("first"));
  clock.schedule(10, () => fired.push("second"));
  await clock.advance(9);
  expect(fired).toEqual([]);
  await clock.advance(11);
  expect(fired).toEqual(["first", "second", "late"]);
  expect(clock.pendingTimers).toBe(0);
});

test("promises settle between two timers, and what they schedule fires in the same advance", async () => {
  const clock = new VirtualClock();
  const seen: string[] = [];
  async function step(name: string): Promise<void> {
    await sleep(clock, 10);
    await Promise.resolve();
    seen.push(`${name} at ${clock.monotonic() - 1_000}`);
    await sleep(clock, 10);
    seen.push(`${name} again at ${clock.monotonic() - 1_000}`);
  }
  const done = step("a");
  clock.schedule(10, () => seen.push("timer at 10"));
  await clock.advance(25);
  await done;
  expect(seen).toEqual(["a at 10", "timer at 10", "a again at 20"]);
  expect(clock.monotonic()).toBe(1_025);
});

test("a cancelled timer never fires and is no longer pending", async () => {
  const clock = new VirtualClock();
  let fired = false;
  const timer = clock.schedule(5, () => {
    fired = true;
  });
  timer.cancel();
  await clock.advance(10);
  expect(fired).toBe(false);
  expect(clock.pendingTimers).toBe(0);
});

test("the wall clock moves along, and can be stepped without moving durations", async () => {
  const clock = new VirtualClock("2026-03-01T00:00:00Z");
  await clock.advance(1_500);
  clock.stepWall(-60_000);
  expect(new Date(clock.now()).toISOString()).toBe("2026-02-28T23:59:01.500Z");
  expect(clock.monotonic()).toBe(2_500);
});

test("timers that reschedule themselves without delay are reported instead of looping for ever", async () => {
  const clock = new VirtualClock();
  const again = (): void => {
    clock.schedule(0, again);
  };
  again();
  await expect(clock.advance(1)).rejects.toThrow("timers loop");
});
