// Worlds in which clusters are drained now and then, in the middle of everything else. A seed without drains is what it was.

import { availableParallelism } from "node:os";
import { expect, test } from "vitest";
import { runCrew } from "./crew.ts";
import { drawWorld } from "./drain.ts";
import { renderBroken } from "./report.ts";
import { drawSchedule } from "./schedule.ts";

const WORLDS = 40;
/** Generous: how long it takes says more about the machine than about the worlds. */
const PATIENCE_MS = 10 * 60_000;

test("drains are added to a world, which is the same without them", () => {
  for (let seed = 1; seed <= 50; seed += 1) {
    const whole = drawWorld({ seed, hasDrains: true });
    const isDrain = (step: object): boolean =>
      "member" in step && (step.member === "drain" || step.member === "undrain");
    expect(whole.steps.filter(isDrain).length).toBeGreaterThan(0);
    const rest = { ...whole, steps: whole.steps.filter((step) => !isDrain(step)) };
    expect(rest).toEqual(drawSchedule(seed));
    expect(drawWorld({ seed })).toEqual(drawSchedule(seed));
  }
});

test(
  `no rule is broken in ${WORLDS} worlds with drains: nobody's last endpoint goes, and at quiet all is as it should be`,
  async () => {
    const broken: string[] = [];
    const orders = Array.from({ length: WORLDS }, (_, at) => ({ seed: at + 1, hasDrains: true }));
    await runCrew(orders, {
      jobs: availableParallelism(),
      shrinkBudget: 60,
      onAnswer: (answer) => {
        if (answer.outcome.violations.length > 0) broken.push(renderBroken(answer));
      },
    });
    expect(broken.join("\n")).toBe("");
  },
  PATIENCE_MS,
);
