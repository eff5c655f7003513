// Bench: exported services exist, the agents start: how long until each is imported in both clusters; then slices change one
// by one; then all exports are deleted. As multiples of an agent without logic, and at growing sizes: what one change costs
// must not depend on how many services there are.

import { SERVICE_EXPORT } from "../src/api/mcs.ts";
import { watchArrival, watchGone } from "./arrival.ts";
import { renderFit } from "./fit.ts";
import { type Fleet, withFleet } from "./fleet.ts";
import { percentileOf } from "./measure.ts";
import { readOutcome, requireSameOutcome } from "./outcome.ts";
import {
  compareSides,
  reportRested,
  type Round,
  type Side,
  type SideName,
  takeTurns,
  withSide,
} from "./side.ts";
import { openSight } from "./sight.ts";
import { createExports, createServices, removeAll, resetServices, type Size } from "./source.ts";
import {
  type BenchOptions,
  type BenchResult,
  compareRounds,
  type Row,
  UnfinishedBench,
} from "./table.ts";

const SIZES: readonly Size[] = [...withTen(100, 1_000), { services: 1_000, endpoints: 100 }];
const QUICK_SIZES = withTen(100);
/** Twice, four times, eight times as many, and as many as a large clusterset has. */
const GROWTH = withTen(100, 200, 400, 800, 5_000);
const QUICK_GROWTH = withTen(50, 100);

const TIME_GOAL = 1.3;
const WRITES_GOAL = 1.05;
const FLAT_GOAL = 1.2;
const WARMUP_CHANGES = 100;
const CHANGES = 150;

interface Figures {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly writes: number;
  readonly peakRssBytes: number;
  readonly changeMs: number;
  readonly changeCpuMs: number;
  readonly withdrawMs: number;
  readonly withdrawWrites: number;
}

/** What it left is compared, and not kept: it is large. */
interface Life {
  readonly figures: Figures;
  readonly outcome: readonly string[];
}

interface Measured {
  readonly size: Size;
  readonly rounds: readonly Round<Figures>[];
}

export function runColdBench({ quick, rounds }: BenchOptions): Promise<BenchResult> {
  return measureSizes(quick ? QUICK_SIZES : SIZES, rounds, (measured) => ({
    title: titleOf("cold"),
    rows: measured.flatMap(rowsOf),
  }));
}

export function runGrowthBench({ quick, rounds }: BenchOptions): Promise<BenchResult> {
  return measureSizes(quick ? QUICK_GROWTH : GROWTH, rounds, (measured) => ({
    title: titleOf("growth"),
    rows: [...measured.flatMap(rowsOf), ...growthRows(measured)],
    notes: fitsOf(measured),
  }));
}

function withTen(...counts: readonly number[]): readonly Size[] {
  return counts.map((services) => ({ services, endpoints: 10 }));
}

function titleOf(bench: string): string {
  return `${bench}: exported Services × endpoints imported in two clusters through a hub ÷ an agent without logic`;
}

/** The largest take longest, and come last: should one of them fail, the others were not measured for nothing. */
async function measureSizes(
  sizes: readonly Size[],
  rounds: number,
  toResult: (measured: readonly Measured[]) => BenchResult,
): Promise<BenchResult> {
  const measured: Measured[] = [];
  try {
    for (const size of sizes) measured.push({ size, rounds: await measureSize(size, rounds) });
  } catch (error) {
    if (measured.length === 0) throw error;
    throw new UnfinishedBench(toResult(measured), error);
  }
  return toResult(measured);
}

function measureSize(size: Size, rounds: number): Promise<readonly Round<Figures>[]> {
  return withFleet(async (fleet) => {
    await createServices(fleet.a, size);
    const results: Round<Figures>[] = [];
    for (let round = 0; round < rounds; round++) {
      const { ours, floor } = await takeTurns(round, (name) => live(fleet, size, name));
      requireSameOutcome(ours.outcome, floor.outcome);
      results.push({ ours: ours.figures, floor: floor.figures });
    }
    return results;
  });
}

/** From the first export to the last withdrawal. */
async function live(fleet: Fleet, size: Size, name: SideName): Promise<Life> {
  await resetServices(fleet.a, size);
  await createExports(fleet.a, size.services);
  return withSide(fleet, name, async (side) => {
    const synced = await sync(fleet, size, side);
    const outcome = await readOutcome(fleet);
    const changed = await change(fleet, size, side);
    const withdrawn = await withdraw(fleet, size, side);
    return { figures: { ...synced, ...changed, ...withdrawn }, outcome };
  });
}

async function sync(fleet: Fleet, size: Size, side: Side) {
  const arrival = await watchArrival(fleet, size);
  try {
    const before = await side.report();
    const startedMs = performance.now();
    await side.tell("start");
    const completeMs = await side.unlessDead(arrival.complete);
    const { cpuMs } = await side.report();
    const { writes, peakRssBytes } = await reportRested(side);
    return { wallMs: completeMs - startedMs, cpuMs: cpuMs - before.cpuMs, writes, peakRssBytes };
  } finally {
    await arrival.stop();
  }
}

async function change(fleet: Fleet, size: Size, side: Side) {
  const sight = await openSight(fleet, size);
  try {
    await side.unlessDead(sight.oneByOne(WARMUP_CHANGES));
    const before = await side.report();
    const times = await side.unlessDead(sight.oneByOne(CHANGES));
    const after = await side.report();
    return {
      changeMs: percentileOf(times, 50),
      changeCpuMs: (after.cpuMs - before.cpuMs) / CHANGES,
    };
  } finally {
    await sight.stop();
  }
}

async function withdraw(fleet: Fleet, { services }: Size, side: Side) {
  const gone = await watchGone(fleet, services);
  try {
    const before = await side.report();
    const startedMs = performance.now();
    await removeAll(fleet.a, SERVICE_EXPORT);
    const goneMs = await side.unlessDead(gone.complete);
    const { writes } = await reportRested(side);
    return { withdrawMs: goneMs - startedMs, withdrawWrites: writes - before.writes };
  } finally {
    await gone.stop();
  }
}

function rowsOf({ size: { services, endpoints }, rounds }: Measured): Row[] {
  const row = (
    name: string,
    unit: Row["unit"],
    of: (figures: Figures) => number,
    goal?: number,
  ): Row => compareSides(rounds, { name: `${services} × ${endpoints}: ${name}`, unit, of, goal });
  return [
    row("time", "ms", ({ wallMs }) => wallMs, TIME_GOAL),
    row("API writes", "writes", ({ writes }) => writes, WRITES_GOAL),
    row("processor, without the servers", "ms", ({ cpuMs }) => cpuMs),
    row("peak RSS of the importing agent", "MB", ({ peakRssBytes }) => peakRssBytes / 1e6),
    row("withdrawal of all", "ms", ({ withdrawMs }) => withdrawMs),
    row("API writes to withdraw", "writes", ({ withdrawWrites }) => withdrawWrites, WRITES_GOAL),
    row("one change, p50", "ms", ({ changeMs }) => changeMs, TIME_GOAL),
    row("one change, processor", "ms", ({ changeCpuMs }) => changeCpuMs),
  ];
}

/** Ours alone, at the largest number of services and at the smallest. */
function growthRows(measured: readonly Measured[]): Row[] {
  const [small, large] = [measured.at(0), measured.at(-1)];
  if (small === undefined || large === undefined) return [];
  const pairs = large.rounds.map((round, index) => ({
    large: round.ours,
    small: (small.rounds[index] ?? round).ours,
  }));
  const row = (name: string, of: (figures: Figures) => number, goal?: number): Row =>
    compareRounds(pairs, {
      name: `${name}, ${large.size.services} services ÷ ${small.size.services}`,
      unit: "ms",
      ours: (pair) => of(pair.large),
      floor: (pair) => of(pair.small),
      ...(goal !== undefined && { goal }),
    });
  return [
    row("one change, p50", ({ changeMs }) => changeMs, FLAT_GOAL),
    row("one change, processor", ({ changeCpuMs }) => changeCpuMs),
  ];
}

function fitsOf(measured: readonly Measured[]): readonly string[] {
  const fit = (
    name: string,
    side: SideName,
    of: (figures: Figures, services: number) => number,
  ): string =>
    renderFit({
      name: `${name}, ${side}`,
      unit: "ms",
      of: "services",
      points: measured.flatMap(({ size: { services }, rounds }) =>
        rounds.map((round) => ({ n: services, cost: of(round[side], services) })),
      ),
    });
  return (["ours", "floor"] as const).flatMap((side) => [
    fit("one change, p50", side, ({ changeMs }) => changeMs),
    fit("one change, processor", side, ({ changeCpuMs }) => changeCpuMs),
    fit("cold sync, for each service", side, ({ wallMs }, services) => wallMs / services),
  ]);
}
