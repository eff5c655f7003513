// Bench: what one call measured, and the file that keeps it: machine, results, and benches that failed. Pure; whoever shows a record
// needs not measure again.

import { Type } from "typebox";
import { Check, Errors } from "typebox/schema";
import type { Machine } from "./machine.ts";
import { type BenchOptions, type BenchResult, isMet, renderResult, UNITS } from "./table.ts";

export interface Failure {
  readonly bench: string;
  readonly sentence: string;
}

export interface BenchRecord {
  readonly machine: Machine;
  readonly options: BenchOptions;
  readonly results: readonly BenchResult[];
  readonly failures: readonly Failure[];
}

/** Counts up when older readers would misread it. */
const FORMAT = 1;

// JSON has no word for what a division by zero makes.
const FIGURE = Type.Union([Type.Number(), Type.Null()]);
const SCHEMA = Type.Object({
  isthmusBench: Type.Literal(FORMAT),
  machine: Type.Object({
    processor: Type.String(),
    cores: Type.Number(),
    memoryBytes: Type.Number(),
    kernel: Type.String(),
    node: Type.String(),
    kubernetes: Type.String(),
    load: Type.Array(Type.Number()),
  }),
  options: Type.Object({ quick: Type.Boolean(), rounds: Type.Number() }),
  results: Type.Array(
    Type.Object({
      title: Type.String(),
      rows: Type.Array(
        Type.Object({
          name: Type.String(),
          unit: Type.Enum([...UNITS]),
          ours: FIGURE,
          floor: FIGURE,
          ratio: Type.Object({ median: FIGURE, min: FIGURE, max: FIGURE }),
          goal: Type.Optional(Type.Number()),
        }),
      ),
      notes: Type.Optional(Type.Array(Type.String())),
    }),
  ),
  failures: Type.Array(Type.Object({ bench: Type.String(), sentence: Type.String() })),
});

export function encodeRecord(record: BenchRecord): string {
  return `${JSON.stringify({ isthmusBench: FORMAT, ...record }, undefined, 2)}\n`;
}

/** The record, or why the text is none: the rest of a sentence that begins with the file. */
export function parseRecord(text: string): BenchRecord | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "is not JSON";
  }
  if (typeof value !== "object" || value === null || !("isthmusBench" in value)) {
    return "holds no bench results";
  }
  if (value.isthmusBench !== FORMAT) {
    return `has bench results of format ${JSON.stringify(value.isthmusBench)}, and this bench reads ${FORMAT}`;
  }
  if (!Check(SCHEMA, value)) {
    const [, errors] = Errors(SCHEMA, value);
    const { instancePath = "", message = "" } = errors.at(-1) ?? {};
    return `has broken bench results: ${instancePath.slice(1).replaceAll("/", ".") || "all of it"} ${message}`;
  }
  const { isthmusBench: _, ...record } = JSON.parse(text, (__, part: unknown) =>
    part === null ? Number.NaN : part,
  ) as BenchRecord & { readonly isthmusBench: unknown };
  return record;
}

export function renderFailure({ bench, sentence }: Failure): string {
  return `${bench} failed: ${sentence}`;
}

export function renderResults({ results, failures }: BenchRecord): string {
  return [
    ...results.map(renderResult),
    ...failures.map((failure) => `${renderFailure(failure)}\n`),
  ].join("\n");
}

/** What was not as it should be, in one sentence; undefined when everything was. */
export function judgeRecords(records: readonly BenchRecord[]): string | undefined {
  const missed = records
    .flatMap(({ results }) => results.flatMap(({ rows }) => rows))
    .filter((row) => !isMet(row)).length;
  const failed = records.flatMap(({ failures }) => failures.map(({ bench }) => bench));
  const faults = [
    missed === 0 ? [] : [`${missed} ${missed === 1 ? "goal" : "goals"} missed`],
    failed.length === 0 ? [] : [`failed: ${failed.join(", ")}`],
  ].flat();
  return faults.length === 0 ? undefined : faults.join("; ");
}

/** With its causes: the innermost is often the one that helps. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const own = error.message || error.name;
  return error.cause === undefined ? own : `${own}: ${sentenceOf(error.cause)}`;
}
