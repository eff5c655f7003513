// Bench: slices of exported services change, nothing else going on, at 50 a second, and all at once; then an agent starts
// anew. How long until the other cluster has it, what it costs and what is written, as multiples of an agent without logic.
// Both take turns on the same servers.

import { setTimeout as pause } from "node:timers/promises";
import { watchArrival } from "./arrival.ts";
import { type Fleet, withFleet } from "./fleet.ts";
import { percentileOf } from "./measure.ts";
import {
  compareSides,
  reportRested,
  type Round,
  type Side,
  type SideName,
  takeTurns,
  type WorkReport,
  withSide,
} from "./side.ts";
import { openSight, type Sight } from "./sight.ts";
import { createExports, createServices, type Size } from "./source.ts";
import type { BenchOptions, BenchResult, Row } from "./table.ts";

interface Extent {
  readonly size: Size;
  readonly warmup: number;
  readonly idle: number;
  readonly stream: number;
  readonly rolled: number;
}

const WHOLE: Extent = {
  size: { services: 1_000, endpoints: 10 },
  warmup: 300,
  idle: 300,
  stream: 1_000,
  rolled: 500,
};
const QUICK: Extent = {
  size: { services: 100, endpoints: 10 },
  warmup: 50,
  idle: 50,
  stream: 250,
  rolled: 50,
};
const PER_SECOND = 50;
/** Pods of a service are replaced one after the other, and its slice changes each time. */
const ROLL_STEPS = 5;
/** The share on the hub, and a slice in each cluster. */
const PLACES = 3;
const P50_GOAL = 1.3;
const P99_GOAL = 2;
const WRITES_GOAL = 1.05;
/** Whoever writes for nothing after a restart mostly does so at once. */
const RESTED_MS = 6_000;
const POLL_MS = 10;

interface Figures {
  readonly idleMs: readonly number[];
  readonly streamMs: readonly number[];
  readonly streamCpuMs: number;
  readonly changeWrites: number;
  readonly rollMs: number;
  readonly rollWrites: number;
  readonly restartMs: number;
  readonly restartWrites: number;
}

export function runChangeBench({ quick, rounds }: BenchOptions): Promise<BenchResult> {
  const extent = quick ? QUICK : WHOLE;
  return withFleet(async (fleet) => {
    await bringIntoStep(fleet, extent.size);
    const sight = await openSight(fleet, extent.size);
    try {
      const results: Round<Figures>[] = [];
      for (let round = 0; round < rounds; round++) {
        results.push(await takeTurns(round, (name) => measure(fleet, sight, extent, name)));
      }
      return { title: titleOf(extent), rows: rowsOf(results, extent) };
    } finally {
      await sight.stop();
    }
  });
}

function titleOf({ size: { services, endpoints } }: Extent): string {
  return `change: slices of ${services} Services × ${endpoints} endpoints, from one cluster through a hub to the other ÷ an agent without logic`;
}

/** All services are imported before it counts. */
async function bringIntoStep(fleet: Fleet, size: Size): Promise<void> {
  await createServices(fleet.a, size);
  await createExports(fleet.a, size.services);
  const arrival = await watchArrival(fleet, size);
  try {
    await withSide(fleet, "ours", async (side) => {
      await side.tell("start");
      await side.unlessDead(arrival.complete);
      await settle(side);
    });
  } finally {
    await arrival.stop();
  }
}

async function measure(
  fleet: Fleet,
  sight: Sight,
  extent: Extent,
  name: SideName,
): Promise<Figures> {
  return withSide(fleet, name, async (side) => {
    await side.tell("resume");
    await settle(side);
    await side.unlessDead(sight.oneByOne(extent.warmup));
    const start = await reportRested(side);
    const idleMs = await side.unlessDead(sight.oneByOne(extent.idle));
    const idled = await reportRested(side);
    const streamMs = await side.unlessDead(sight.stream(extent.stream, PER_SECOND));
    const streamed = await reportRested(side);
    const rollMs = await side.unlessDead(sight.roll(extent.rolled, ROLL_STEPS));
    const rolled = await reportRested(side);
    return {
      idleMs,
      streamMs,
      streamCpuMs: streamed.cpuMs - idled.cpuMs,
      changeWrites: streamed.writes - start.writes,
      rollMs,
      rollWrites: rolled.writes - streamed.writes,
      ...(name === "ours" ? await restart(side) : await reread(side)),
    };
  });
}

async function settle(side: Pick<Side, "report">): Promise<void> {
  while (!(await side.report()).isSettled) await pause(POLL_MS);
}

async function restart(side: Side) {
  const agent = await side.replace("b");
  const report = async (): Promise<WorkReport> => (await agent.ask("report")) as WorkReport;
  const startedMs = performance.now();
  await agent.ask("resume");
  await settle({ report });
  const restartMs = performance.now() - startedMs;
  await pause(RESTED_MS);
  return { restartMs, restartWrites: (await report()).writes };
}

async function reread(side: Side) {
  const agent = await side.replace("b");
  return { restartMs: (await agent.ask("reread")) as number, restartWrites: 0 };
}

function rowsOf(rounds: readonly Round<Figures>[], extent: Extent): Row[] {
  const row = (
    name: string,
    unit: Row["unit"],
    of: (figures: Figures) => number,
    rest: { readonly goal?: number; readonly floor?: number } = {},
  ): Row => compareSides(rounds, { name, unit, of, ...rest });
  const changes = extent.idle + extent.stream;
  const rolled = extent.rolled * ROLL_STEPS;
  return [
    row("idle, p50", "ms", ({ idleMs }) => percentileOf(idleMs, 50), { goal: P50_GOAL }),
    row("idle, p99", "ms", ({ idleMs }) => percentileOf(idleMs, 99), { goal: P99_GOAL }),
    row("50 a second, p50", "ms", ({ streamMs }) => percentileOf(streamMs, 50), {
      goal: P50_GOAL,
    }),
    row("50 a second, p99", "ms", ({ streamMs }) => percentileOf(streamMs, 99), {
      goal: P99_GOAL,
    }),
    row(
      "50 a second, processor per 1,000",
      "ms",
      ({ streamCpuMs }) => (streamCpuMs / extent.stream) * 1_000,
    ),
    row("writes ÷ one per change and place", "writes", ({ changeWrites }) => changeWrites, {
      goal: WRITES_GOAL,
      floor: changes * PLACES,
    }),
    row(`${extent.rolled} rolled, until quiet`, "ms", ({ rollMs }) => rollMs),
    row(
      `${extent.rolled} rolled, writes ÷ one per change and place`,
      "writes",
      ({ rollWrites }) => rollWrites,
      { goal: WRITES_GOAL, floor: rolled * PLACES },
    ),
    row(`${extent.rolled} rolled, writes`, "writes", ({ rollWrites }) => rollWrites),
    row("restart until steady ÷ reading it all", "ms", ({ restartMs }) => restartMs),
    row("restart, writes ÷ imports", "writes", ({ restartWrites }) => restartWrites, {
      goal: 0,
      floor: extent.size.services,
    }),
  ];
}
