// Whole worlds in this process: the same seed tells the same story, and stories differ.

import { expect, test } from "vitest";
import { runSchedule } from "./run.ts";
import { drawSchedule } from "./schedule.ts";
import { prepareDefinitions } from "./world.ts";

test("the same seed has the same trace, line by line, and another seed another", async () => {
  const definitions = await prepareDefinitions();
  const traces: string[][] = [[], [], []];
  const [first, second, other] = [
    await runSchedule(drawSchedule(12), { definitions, trace: traces[0]! }),
    await runSchedule(drawSchedule(12), { definitions, trace: traces[1]! }),
    await runSchedule(drawSchedule(13), { definitions, trace: traces[2]! }),
  ];
  expect(traces[0]).toEqual(traces[1]);
  expect(first.hash).toBe(second.hash);
  expect(first.hash).not.toBe(other.hash);
  expect(first.violations).toEqual([]);
});
