// What a server process says by itself, on virtual time. Real processes: test/dnsProcesses.test.ts.

import { expect, test } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { repeatReport } from "./fork.ts";

test("a server process reports every second, and never piles up reports that a stopped reader does not take", async () => {
  const clock = new VirtualClock();
  const taken: (() => void)[] = [];
  const timer = repeatReport(clock, () => new Promise((resolve) => void taken.push(resolve)));
  await clock.advance(3_600_000);
  expect(taken).toHaveLength(1);
  for (let second = 0; second < 3; second++) {
    taken.at(-1)?.();
    await clock.advance(1_000);
  }
  expect(taken).toHaveLength(4);
  timer.cancel();
  expect(clock.pendingTimers).toBe(0);
});
