// Test tool: rows, results and records of benches that nobody ran.

import type { Machine } from "./machine.ts";
import type { BenchRecord } from "./record.ts";
import type { BenchResult, Row } from "./table.ts";

export const MACHINE: Machine = {
  processor: "Abacus 9",
  cores: 2,
  memoryBytes: 8e9,
  kernel: "Linux 6.1",
  node: "v20.19.0",
  kubernetes: "v1.36.3",
  load: [0.1, 0.2, 0.3],
};

export function aRow(changes: Partial<Row> = {}): Row {
  return {
    name: "time",
    unit: "ms",
    ours: 12,
    floor: 10,
    ratio: { median: 1.2, min: 1.1, max: 1.3 },
    ...changes,
  };
}

export function aResult(rows: readonly Row[], changes: Partial<BenchResult> = {}): BenchResult {
  return { title: "cold ÷ the floor", rows, ...changes };
}

export function aRecord(changes: Partial<BenchRecord> = {}): BenchRecord {
  return {
    machine: MACHINE,
    options: { quick: false, rounds: 3 },
    results: [],
    failures: [],
    ...changes,
  };
}
