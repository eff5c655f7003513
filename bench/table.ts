// Bench: results → the table that people read, and whether every stated goal was met. Pure.

import { type Spread, spreadOf } from "./measure.ts";

export interface BenchOptions {
  readonly quick: boolean;
  readonly rounds: number;
}

export const UNITS = ["µs", "ms", "s", "MB", "writes", "requests", "%"] as const;
export type Unit = (typeof UNITS)[number];

export interface Row {
  readonly name: string;
  readonly unit: Unit;
  /** Medians. */
  readonly ours: number;
  readonly floor: number;
  /** Of ours to the floor in the same round. */
  readonly ratio: Spread;
  /** The median ratio must not exceed it; absent: shown only. */
  readonly goal?: number;
}

export interface BenchResult {
  readonly title: string;
  readonly rows: readonly Row[];
  /** Sentences under the table: fits and the like. */
  readonly notes?: readonly string[];
}

/** Not all could be measured: what was counts all the same. */
export class UnfinishedBench extends Error {
  override readonly name = "UnfinishedBench";
  readonly result: BenchResult;

  constructor(result: BenchResult, cause: unknown) {
    super("not everything was measured", { cause });
    this.result = result;
  }
}

/** Ours and the floor of the same rounds, and what must hold of their ratio. */
export function compareRounds<R>(
  rounds: readonly R[],
  row: {
    readonly name: string;
    readonly unit: Unit;
    readonly ours: (round: R) => number;
    readonly floor: (round: R) => number;
    readonly goal?: number;
  },
): Row {
  const { name, unit, goal } = row;
  return {
    name,
    unit,
    ours: spreadOf(rounds.map(row.ours)).median,
    floor: spreadOf(rounds.map(row.floor)).median,
    ratio: spreadOf(rounds.map((round) => row.ours(round) / row.floor(round))),
    ...(goal !== undefined && { goal }),
  };
}

export function isMet({ ratio, goal }: Row): boolean {
  return goal === undefined || ratio.median <= goal;
}

export function renderResult({ title, rows, notes = [] }: BenchResult): string {
  const lines = [["", "ours", "floor", "ratio", "spread", "goal", ""], ...rows.map(cellsOf)];
  const widths = lines[0]?.map((_, column) =>
    Math.max(...lines.map((cells) => cells[column]?.length ?? 0)),
  );
  const padded = lines.map((cells) =>
    cells
      .map((cell, column) => {
        const width = widths?.[column] ?? 0;
        return column === 0 ? cell.padEnd(width) : cell.padStart(width);
      })
      .join("  ")
      .trimEnd(),
  );
  return `${[title, ...padded, ...notes].join("\n")}\n`;
}

function cellsOf(row: Row): string[] {
  const { ours, floor, unit, ratio, goal } = row;
  return [
    row.name,
    `${digitsOf(ours)} ${unit}`,
    `${digitsOf(floor)} ${unit}`,
    ratio.median.toFixed(2),
    `${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)}`,
    goal === undefined ? "" : `≤ ${goal}`,
    goal === undefined ? "" : isMet(row) ? "met" : "MISSED",
  ];
}

export function digitsOf(value: number): string {
  if (Number.isInteger(value) || value >= 100) return value.toFixed(0);
  return value.toFixed(value < 1 ? 2 : 1);
}
