// Bench: one call from its arguments to its exit code: 0 all is well, 1 a goal is missed or a bench failed, 2 a wrong call. What it
// measured is in its files after each bench: a crash loses only the bench that crashed.

import { readFileSync, writeFileSync } from "node:fs";
import { type Call, parseCall, renderUsage } from "./call.ts";
import { type Machine, renderMachine } from "./machine.ts";
import { renderPlot } from "./plot.ts";
import {
  type BenchRecord,
  encodeRecord,
  judgeRecords,
  parseRecord,
  renderFailure,
  renderResults,
  sentenceOf,
} from "./record.ts";
import { type BenchOptions, type BenchResult, renderResult, UnfinishedBench } from "./table.ts";

export type Benches = Readonly<Record<string, (options: BenchOptions) => Promise<BenchResult>>>;

export interface Surroundings {
  readonly benches: Benches;
  readonly readMachine: () => Promise<Machine>;
  readonly print: (text: string) => void;
  readonly printError: (text: string) => void;
}

/** A file that cannot be used: what and why, in one sentence. */
class FileError extends Error {
  override readonly name = "FileError";
}

export async function runCall(args: readonly string[], around: Surroundings): Promise<number> {
  const known = Object.keys(around.benches);
  const call = parseCall(args, known);
  if (call.kind === "wrong") {
    around.printError(`${call.sentence}\n${renderUsage(known)}`);
    return 2;
  }
  try {
    const records = call.kind === "show" ? show(call, around) : [await measure(call, around)];
    const fault = judgeRecords(records);
    if (fault === undefined) return 0;
    around.printError(`${fault}\n`);
    return 1;
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    around.printError(`${error.message}\n`);
    return 2;
  }
}

function show(
  { files, svg }: Extract<Call, { kind: "show" }>,
  { print }: Surroundings,
): readonly BenchRecord[] {
  const records = files.map(readRecord);
  for (const record of records)
    print(`${renderMachine(record.machine)}\n${renderResults(record)}\n`);
  if (svg !== undefined) write(svg, renderPlot(records));
  return records;
}

async function measure(
  { names, options, json, svg }: Extract<Call, { kind: "measure" }>,
  { benches, readMachine, print, printError }: Surroundings,
): Promise<BenchRecord> {
  const machine = await readMachine();
  let record: BenchRecord = { machine, options, results: [], failures: [] };
  const save = (): void => {
    if (json !== undefined) write(json, encodeRecord(record));
    if (svg !== undefined) write(svg, renderPlot([record]));
  };
  // Before the first bench: an hour later would be a bad time to learn that a file cannot be written.
  save();
  print(`${renderMachine(machine)}\n`);
  const keep = (result: BenchResult): void => {
    record = { ...record, results: [...record.results, result] };
    print(`${renderResult(result)}\n`);
  };
  for (const name of names) {
    try {
      const result = await benches[name]?.(options);
      if (result === undefined) throw new Error("there is no such bench");
      keep(result);
    } catch (error) {
      if (error instanceof UnfinishedBench) keep(error.result);
      const failure = { bench: name, sentence: sentenceOf(error) };
      record = { ...record, failures: [...record.failures, failure] };
      printError(`${renderFailure(failure)}\n\n`);
    }
    save();
  }
  return record;
}

function readRecord(file: string): BenchRecord {
  const record = parseRecord(attempt(`${file} cannot be read`, () => readFileSync(file, "utf8")));
  if (typeof record === "string") throw new FileError(`${file} ${record}.`);
  return record;
}

function write(file: string, text: string): void {
  attempt(`${file} cannot be written`, () => writeFileSync(file, text));
}

function attempt<X>(what: string, work: () => X): X {
  try {
    return work();
  } catch (error) {
    throw new FileError(`${what}: ${sentenceOf(error)}.`, { cause: error });
  }
}
