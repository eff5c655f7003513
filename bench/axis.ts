// Bench: the axis of the plot: ratios → places on a logarithmic scale, on which 0.1 and 10 are equally far from 1. Pure.

export interface Axis {
  readonly ticks: readonly number[];
  /** From 0 to 1; what lies outside is at the edge. */
  place(ratio: number): number;
  /** Whether it lies outside, and where. */
  clips(ratio: number): "below" | "above" | undefined;
}

/** 1, 2 and 5 of each power of ten. What lies beyond the first or the last is shown at the edge: it would press all else together. */
const TICKS = [-2, -1, 0, 1].flatMap((power) =>
  [1, 2, 5].map((digit) => Number(`${digit}e${power}`)),
);
const LAST = 100;

/** As short as all ratios permit, with room on both sides of 1. */
export function planAxis(ratios: readonly number[]): Axis {
  const all = [...TICKS, LAST];
  const shown = [0.5, 2, ...ratios.filter((ratio) => ratio > 0 && Number.isFinite(ratio))];
  const from = all.findLast((tick) => tick <= Math.min(...shown)) ?? all[0] ?? 0.01;
  const to = all.find((tick) => tick >= Math.max(...shown)) ?? LAST;
  const length = Math.log(to / from);
  return {
    ticks: all.filter((tick) => tick >= from && tick <= to),
    place: (ratio) => Math.min(1, Math.max(0, Math.log(Math.max(ratio, 1e-9) / from) / length)),
    clips: (ratio) => (ratio < from ? "below" : ratio > to ? "above" : undefined),
  };
}
