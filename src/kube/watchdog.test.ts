// The watchdog: silence is counted from the last byte, and stopping leaves nothing behind.

import { expect, it } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { createWatchdog } from "./watchdog.ts";

it("barks once, when nothing came for the whole time", async () => {
  const clock = new VirtualClock();
  let barks = 0;
  const watchdog = createWatchdog(clock, 1000, () => barks++);
  await clock.advance(900);
  watchdog.feed();
  await clock.advance(999);
  expect(barks).toBe(0);
  await clock.advance(1);
  expect(barks).toBe(1);
  await clock.advance(10_000);
  expect(barks).toBe(1);
});

it("leaves no timer when it is stopped, even after it was put off", async () => {
  const clock = new VirtualClock();
  const watchdog = createWatchdog(clock, 1000, () => undefined);
  await clock.advance(900);
  watchdog.feed();
  await clock.advance(200);
  watchdog.stop();
  expect(clock.pendingTimers).toBe(0);
});
