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

/** What the function under measurement did that counts, and what it made, which is held until memory was measured. */
export interface Measured {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly made: unknown;
}

export async function measureCost(run: () => Promise<Measured>): Promise<Cost> {
  const before = heldBytes();
  const result: { made: unknown } & Measured = await run();
  const { wallMs, cpuMs } = result;
  const after = heldBytes();
  // Used after the collection, so that it cannot have been collected.
  if (result.made === undefined) throw new Error("a measurement made nothing");
  return { wallMs, cpuMs, heldBytes: after - before };
}

function heldBytes(): number {
  // Twice: what finalizers let go of is collected by the second.
  collectGarbage();
  collectGarbage();
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
