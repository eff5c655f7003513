// Shrinking, against a rule that is known to need certain steps.

import { expect, test } from "vitest";
import { drawSchedule } from "./schedule.ts";
import { shrink } from "./shrink.ts";

test("what is left of a schedule is just what the broken rule needs", async () => {
  const schedule = drawSchedule(5);
  const needed = [3, 17, 18].map((at) => schedule.steps[at]);
  const part = await shrink(
    schedule,
    async ({ steps }) => needed.every((step) => steps.includes(step!)),
    10_000,
  );
  expect(part.steps).toEqual([3, 17, 18]);
});

test("clusters that nothing needs never join", async () => {
  const schedule = drawSchedule(5);
  const part = await shrink(schedule, async ({ setting }) => setting.members[0]!, 10_000);
  expect(part.steps).toEqual([]);
  expect(part.absent).toEqual([...Array(schedule.setting.clusters).keys()].slice(1).toReversed());
});

test("no more worlds are run than allowed, and what was found by then still breaks the rule", async () => {
  const schedule = drawSchedule(5);
  let runs = 0;
  const part = await shrink(
    schedule,
    async ({ steps }) => {
      runs += 1;
      return steps.includes(schedule.steps[9]!);
    },
    4,
  );
  expect(runs).toBe(4);
  expect(part.steps).toContain(9);
});
