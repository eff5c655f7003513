// Bench: what one measurement costs in time, processor and memory held, and the statistics over several. Never prints.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

export interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number;
  /** What is still held after a garbage collection, over what was held before: heap and buffers. */
  readonly heldBytes: number;
}

/** What counted of one run, and what it made: held until memory was measured, then let go by hand. */
export interface Measured {
  readonly wallMs: number;
  readonly cpuMs: number;
  /**
   * Emptied, not left to fall out of scope: a suspended async function can keep the last value that it awaited, and the next
   * measurement would see it vanish.
   */
  readonly made: unknown[];
}

export async function measureCost(run: () => Promise<Measured>): Promise<Cost> {
  const before = await settledBytes();
  const { wallMs, cpuMs, made } = await run();
  const after = await settledBytes();
  if (made.length === 0) throw new Error("a measurement made nothing");
  made.length = 0;
  return { wallMs, cpuMs, heldBytes: after - before };
}

/** Heap and buffers in use, without garbage. */
export async function settledBytes(): Promise<number> {
  // Sockets close and finalizers run in turns of the event loop between two collections.
  for (let turn = 0; turn < 3; turn++) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    collectGarbage();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Wall and processor time of all that is timed through it. */
export function createStopwatch() {
  let wallMs = 0;
  let cpuMs = 0;
  return {
    async time<X>(work: () => X | Promise<X>): Promise<X> {
      const wallFrom = performance.now();
      const cpuFrom = process.cpuUsage();
      const result = await work();
      wallMs += performance.now() - wallFrom;
      const { user, system } = process.cpuUsage(cpuFrom);
      cpuMs += (user + system) / 1_000;
      return result;
    },
    total: () => ({ wallMs, cpuMs }),
  };
}

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (index: number): number => sorted[index] ?? Number.NaN;
  const middle = (sorted.length - 1) / 2;
  return {
    median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2,
    min: at(0),
    max: at(sorted.length - 1),
  };
}

/** The smallest value that so many per cent of all do not exceed. */
export function percentileOf(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const rank = Math.max(1, Math.ceil((sorted.length * percent) / 100));
  return sorted[rank - 1] ?? Number.NaN;
}
