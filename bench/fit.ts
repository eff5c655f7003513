// Bench: how cost grows with size. Points in, the exponent k of cost = c·n^k out, and a line that says it. Pure.

import { spreadOf } from "./measure.ts";
import { digitsOf, type Unit } from "./table.ts";

export interface Point {
  readonly n: number;
  readonly cost: number;
}

export interface Fit {
  /** 0: the size does not matter; 1: twice the size, twice the cost. */
  readonly exponent: number;
  /** The largest cost ÷ the smallest, wherever they are: a bump in the middle counts. */
  readonly growth: number;
  readonly smallest: Point;
  readonly largest: Point;
}

export interface FitLine {
  readonly name: string;
  readonly unit: Unit;
  /** What n counts. */
  readonly of: string;
  readonly points: readonly Point[];
  /** The growth up to which it is called flat; absent: shown only. */
  readonly flat?: number;
}

/** Least squares over the logarithms, of the median cost at each size. Undefined without two sizes, or where a logarithm has no value. */
export function fitPower(points: readonly Point[]): Fit | undefined {
  const medians = mediansOf(points);
  const [smallest, largest] = [medians[0], medians.at(-1)];
  if (smallest === undefined || largest === undefined || smallest === largest) return undefined;
  if (!medians.every(({ n, cost }) => isLogarithmic(n) && isLogarithmic(cost))) return undefined;
  const xs = medians.map(({ n }) => Math.log(n));
  const ys = medians.map(({ cost }) => Math.log(cost));
  const [meanX, meanY] = [meanOf(xs), meanOf(ys)];
  const covariance = meanOf(xs.map((x, index) => (x - meanX) * ((ys[index] ?? 0) - meanY)));
  const variance = meanOf(xs.map((x) => (x - meanX) ** 2));
  const costs = medians.map(({ cost }) => cost);
  return {
    exponent: covariance / variance,
    growth: Math.max(...costs) / Math.min(...costs),
    smallest,
    largest,
  };
}

/** As in "change p50: 8.7 → 9.1 ms from 100 to 5000 services, n^0.01, 1.05 × (flat: ≤ 1.2)". */
export function renderFit({ name, unit, of, points, flat }: FitLine): string {
  const fit = fitPower(points);
  if (fit === undefined) {
    const shown = points.map(({ n, cost }) => `${digitsOf(cost)} ${unit} at ${n}`).join(", ");
    return `${name}: no fit of ${shown === "" ? "nothing" : `${shown} ${of}`}`;
  }
  const { exponent, growth, smallest, largest } = fit;
  const costs = `${digitsOf(smallest.cost)} → ${digitsOf(largest.cost)} ${unit}`;
  const power = `n^${exponent.toFixed(2).replace("-0.00", "0.00")}`;
  const missed = flat !== undefined && growth > flat ? ", MISSED" : "";
  const verdict = flat === undefined ? "" : ` (flat: ≤ ${flat}${missed})`;
  return `${name}: ${costs} from ${smallest.n} to ${largest.n} ${of}, ${power}, ${growth.toFixed(2)} ×${verdict}`;
}

/** One point for each size, by size. */
function mediansOf(points: readonly Point[]): readonly Point[] {
  const sizes = [...new Set(points.map(({ n }) => n))].toSorted((a, b) => a - b);
  return sizes.map((n) => {
    const costs = points.filter((point) => point.n === n).map(({ cost }) => cost);
    return { n, cost: spreadOf(costs).median };
  });
}

function isLogarithmic(value: number): boolean {
  return value > 0 && Number.isFinite(value);
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
