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

const worlds = Array.from({ length: WORLDS }, (_, at) => ({ seed: at + 1 }));
let code: string;
let fallen: readonly Order[];
let answers: readonly Answer[];

// By the same threads, one set after the other: the first worlds of a thread take the longest.
beforeAll(async () => {
  code = await bundleWorker();
  const text = await readFile(new URL("./seeds.txt", import.meta.url), "utf8");
  fallen = text.split("\n").flatMap(readSeed);
  answers = await runAll([...fallen, ...worlds]);
}, PATIENCE_MS);

function readSeed(line: string): Order[] {
  if (line === "" || line.startsWith("#")) return [];
  const [, seed, drains] = /^(\d+) (drains: )?/.exec(line) ?? [];
  if (seed === undefined) throw new Error(`no seed is in the line "${line}"`);
  return [{ seed: Number(seed), hasDrains: drains !== undefined }];
}

async function runAll(orders: readonly Order[], jobs = availableParallelism()) {
  const told: Answer[] = [];
  await runCrew(orders, {
    jobs,
    shrinkBudget: 60,
    code,
    onAnswer: (answer) => {
      told.push(answer);
      return answer.outcome.violations.length === 0;
    },
  });
  return told;
}

function brokenOf(orders: readonly Order[]): string {
  const name = ({ seed, hasDrains = false }: Order): string => `${seed} ${hasDrains}`;
  const names = new Set(orders.map(name));
  return answers
    .filter((answer) => names.has(name(answer)) && answer.outcome.violations.length > 0)
    .map((answer) => renderBroken(answer))
    .join("\n");
}

test("no rule is broken in a world that once broke one", () => {
  expect(brokenOf(fallen)).toBe("");
});

test("a seed that failed can be on record with drains", () => {
  expect(readSeed("7 why it failed")).toEqual([{ seed: 7, hasDrains: false }]);
  expect(readSeed("7 drains: why it failed")).toEqual([{ seed: 7, hasDrains: true }]);
});

test(`no rule is broken in ${WORLDS} worlds`, () => {
  expect(brokenOf(worlds)).toBe("");
  expect(answers).toHaveLength(fallen.length + WORLDS);
});

test(
  "two threads tell the same story of the same seed, event by event",
  async () => {
    const order: Order = { seed: 7, isTraced: true };
    const [first] = await runAll([order], 1);
    const [, second] = await runAll([{ seed: 8 }, order], 1);
    expect(second?.trace).toEqual(first?.trace);
    expect(second?.outcome.hash).toBe(first?.outcome.hash);
    const among = answers.find(({ seed, hasDrains }) => seed === order.seed && hasDrains !== true);
    expect(among?.outcome.hash).toBe(first?.outcome.hash);
  },
  PATIENCE_MS,
);
