// A fixed number of simulated worlds, and every seed that ever failed, over all cores.

import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { beforeAll, expect, test } from "vitest";
import { bundleWorker, runCrew } from "./crew.ts";
import { renderBroken } from "./report.ts";
import type { Answer, Order } from "./worker.ts";

const WORLDS = 500;
/** Generous: how long it takes says more about the machine than about the worlds. */
const PATIENCE_MS = 30 * 60_000;

let code: string;
beforeAll(async () => {
  code = await bundleWorker();
});

async function runAll(orders: readonly Order[], jobs = availableParallelism()) {
  const answers: Answer[] = [];
  await runCrew(orders, {
    jobs,
    shrinkBudget: 60,
    code,
    onAnswer: (answer) => {
      answers.push(answer);
      return answer.outcome.violations.length === 0;
    },
  });
  return answers;
}

function brokenOf(answers: readonly Answer[]): string {
  const broken = answers.filter(({ outcome }) => outcome.violations.length > 0);
  return broken.map((answer) => renderBroken(answer)).join("\n");
}

test(
  `no rule is broken in ${WORLDS} worlds`,
  async () => {
    const orders = Array.from({ length: WORLDS }, (_, at) => ({ seed: at + 1 }));
    expect(brokenOf(await runAll(orders))).toBe("");
  },
  PATIENCE_MS,
);

test(
  "no rule is broken in a world that once broke one",
  async () => {
    const text = await readFile(new URL("./seeds.txt", import.meta.url), "utf8");
    const seeds = text.split("\n").flatMap((line) => /^\d+/.exec(line)?.[0] ?? []);
    expect(brokenOf(await runAll(seeds.map((seed) => ({ seed: Number(seed) }))))).toBe("");
  },
  PATIENCE_MS,
);

test(
  "two threads tell the same story of the same seed, event by event",
  async () => {
    const order: Order = { seed: 7, isTraced: true };
    const [first] = await runAll([order], 1);
    const [, second] = await runAll([{ seed: 8 }, order], 1);
    expect(second?.trace).toEqual(first?.trace);
    expect(second?.outcome.hash).toBe(first?.outcome.hash);
  },
  PATIENCE_MS,
);
