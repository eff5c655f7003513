// Durations in, how many were no longer than each bound out. Plain numbers: whoever shows them reads them when asked.

export interface HistogramReading {
  /** In seconds, ascending. */
  readonly bounds: readonly number[];
  /** Of each bound those that were not within the one before, and at the end those beyond all. */
  readonly counts: readonly number[];
  readonly sumSeconds: number;
}

export interface Histogram {
  note(ms: number): void;
  read(): HistogramReading;
}

/** From one round trip to an API server to an outage of minutes. */
const LATENCY_BOUNDS: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
];

export function createHistogram(bounds = LATENCY_BOUNDS): Histogram {
  const counts = [...bounds, Infinity].map(() => 0);
  let sumSeconds = 0;
  return {
    note(ms) {
      const seconds = ms / 1_000;
      const at = bounds.findIndex((bound) => seconds <= bound);
      const index = at === -1 ? bounds.length : at;
      counts[index] = (counts[index] ?? 0) + 1;
      sumSeconds += seconds;
    },
    read: () => ({ bounds, counts: [...counts], sumSeconds }),
  };
}
