// Bench: exported services exist, Isthmus starts: how long until each is imported in both clusters, as a multiple of making
// the same API writes with the same concurrency. Measured from the call of startCentral, clients connected.

import { setTimeout as pause } from "node:timers/promises";
import { watchArrival } from "./arrival.ts";
import { startChild } from "./child.ts";
import type { FloorReport, FloorTask } from "./floor.ts";
import type { IsthmusReport } from "./isthmus.ts";
import { readOutcome, requireSameOutcome } from "./outcome.ts";
import { type Pair, withPair } from "./pair.ts";
import { createExports, createServices, ENDPOINTS, removeImports } from "./source.ts";
import { type BenchOptions, type BenchResult, compareRounds } from "./table.ts";

const GOAL = 1.5;
/** Whoever writes more than is needed mostly does so late. */
const AFTERMATH_MS = 2_000;

interface Sync {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly writes: number;
  readonly outcome: readonly string[];
}

interface Round {
  readonly ours: Sync;
  readonly floor: Sync;
}

export function runColdBench({ quick, rounds }: BenchOptions): Promise<BenchResult> {
  const count = quick ? 100 : 1_000;
  return withPair(async (pair) => {
    await createServices(pair.a, count);
    const results: Round[] = [];
    for (let round = 0; round < rounds; round++) {
      // Each goes first in turn: servers are slower or quicker with what they went through before.
      const first = round % 2 === 0 ? await syncOurs(pair, count) : undefined;
      const floor = await syncFloor(pair, count);
      const ours = first ?? (await syncOurs(pair, count));
      requireSameOutcome(ours.outcome, floor.outcome);
      results.push({ ours, floor });
    }
    return { title: titleOf(count), rows: rowsOf(results) };
  });
}

function titleOf(count: number): string {
  return `cold: ${count} exported Services of ${ENDPOINTS} endpoints imported in two clusters ÷ only the same writes, as many at once`;
}

function syncOurs(pair: Pair, count: number): Promise<Sync> {
  return sync(pair, { count, file: "./isthmus.ts", task: "start" }, async (ask) => {
    const { cpuMs } = (await ask("report")) as IsthmusReport;
    await pause(AFTERMATH_MS);
    const { writes } = (await ask("report")) as IsthmusReport;
    return { cpuMs, writes };
  });
}

function syncFloor(pair: Pair, count: number): Promise<Sync> {
  const task: FloorTask = { imports: count };
  return sync(pair, { count, file: "./floor.ts", task }, async (_, answer) => {
    return (await answer) as FloorReport;
  });
}

async function sync(
  pair: Pair,
  run: { readonly count: number; readonly file: string; readonly task: unknown },
  report: (
    ask: (message: unknown) => Promise<unknown>,
    answer: Promise<unknown>,
  ) => Promise<{ readonly cpuMs: number; readonly writes: number }>,
): Promise<Sync> {
  await removeImports(pair);
  await createExports(pair.a, run.count);
  const arrival = await watchArrival(pair, run.count);
  try {
    const child = await startChild(run.file, pair.access);
    try {
      const startedMs = performance.now();
      const answer = child.ask(run.task);
      const [completeMs] = await child.unlessDead(Promise.all([arrival.complete, answer]));
      const reported = await report(child.ask, answer);
      const outcome = await readOutcome(pair);
      return { ...reported, wallMs: completeMs - startedMs, outcome };
    } finally {
      await child.stop();
    }
  } finally {
    await arrival.stop();
  }
}

function rowsOf(rounds: readonly Round[]) {
  return [
    compareRounds(rounds, {
      name: "time",
      unit: "ms",
      ours: ({ ours }) => ours.wallMs,
      floor: ({ floor }) => floor.wallMs,
      goal: GOAL,
    }),
    compareRounds(rounds, {
      name: "processor, without the servers",
      unit: "ms",
      ours: ({ ours }) => ours.cpuMs,
      floor: ({ floor }) => floor.cpuMs,
    }),
    compareRounds(rounds, {
      name: "API writes",
      unit: "writes",
      ours: ({ ours }) => ours.writes,
      floor: ({ floor }) => floor.writes,
    }),
  ];
}
