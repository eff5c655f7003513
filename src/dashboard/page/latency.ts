// Page: the samples of propagation in, what the plot and its table say out.

import type { LatencySample } from "../state.ts";

export interface Spread {
  readonly samples: number;
  readonly p50: number;
  readonly p99: number;
  readonly most: number;
}

export interface PairSpread extends Spread {
  readonly source: string;
  readonly importer: string;
}

/** Undefined without a sample. */
export function measureSpread(samples: readonly LatencySample[]): Spread | undefined {
  if (samples.length === 0) return undefined;
  const sorted = samples.map(({ ms }) => ms).toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { samples: sorted.length, p50: at(0.5), p99: at(0.99), most: sorted.at(-1) ?? 0 };
}

/** Slowest first. */
export function measurePairs(samples: readonly LatencySample[]): readonly PairSpread[] {
  const pairs = new Map<string, LatencySample[]>();
  for (const sample of samples) {
    const name = `${sample.source} ${sample.importer}`;
    pairs.set(name, [...(pairs.get(name) ?? []), sample]);
  }
  return [...pairs.values()]
    .flatMap((group) => {
      const [first] = group;
      const spread = measureSpread(group);
      if (first === undefined || spread === undefined) return [];
      return [{ source: first.source, importer: first.importer, ...spread }];
    })
    .toSorted((a, b) => b.p99 - a.p99 || a.source.localeCompare(b.source));
}

export interface Axis {
  readonly fromMs: number;
  readonly toMs: number;
  /** Powers of ten, the ends included. */
  readonly ticks: readonly number[];
}

/** Logarithmic: a change that took ten seconds must not press those of ten milliseconds flat. */
export function planAxis(samples: readonly LatencySample[]): Axis {
  const values = samples.map(({ ms }) => Math.max(1, ms));
  const low = Math.floor(Math.log10(Math.min(10, ...values)));
  const high = Math.ceil(Math.log10(Math.max(1000, ...values)));
  const ticks = Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index));
  return { fromMs: 10 ** low, toMs: 10 ** high, ticks };
}

/** 0 at the bottom, 1 at the top. */
export function placeOnAxis({ fromMs, toMs }: Axis, ms: number): number {
  const share = Math.log10(Math.max(1, ms) / fromMs) / Math.log10(toMs / fromMs);
  return Math.min(1, Math.max(0, share));
}
