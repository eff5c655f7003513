// Metrics: how to read numbers that were counted elsewhere in, series of a registry out. Everything is read when somebody asks:
// nothing is counted here.

import { Counter, Gauge, type Metric, type Registry } from "prom-client";
import { VERSION } from "../api/version.ts";
import type { HistogramReading } from "../runtime/histogram.ts";

export type Labels = Readonly<Record<string, string>>;
export type Series<T = number> = readonly (readonly [labels: Labels, value: T])[];

export interface Definition<T = number> {
  readonly name: string;
  readonly help: string;
  /** Absent: one series without labels. */
  readonly labels?: readonly string[];
  readonly read: () => Series<T>;
}

/** A fleet has a few hundred members; more series than that are somebody's mistake. */
const MOST_SERIES = 2_000;

/** A series without labels. */
export function sole(value: number): Series {
  return [[{}, value]];
}

export function defineGauge(registry: Registry, { name, help, labels, read }: Definition): void {
  // oxlint-disable-next-line no-new -- it lives in its registry
  new Gauge({
    name,
    help,
    ...(labels !== undefined && { labelNames: labels }),
    registers: [registry],
    collect() {
      this.reset();
      for (const [given, value] of read().slice(0, MOST_SERIES)) this.set(given, value);
    },
  });
}

export function defineCounter(registry: Registry, { name, help, labels, read }: Definition): void {
  // oxlint-disable-next-line no-new -- it lives in its registry
  new Counter({
    name,
    help,
    ...(labels !== undefined && { labelNames: labels }),
    registers: [registry],
    collect() {
      this.reset();
      for (const [given, value] of read().slice(0, MOST_SERIES)) this.inc(given, value);
    },
  });
}

/** prom-client counts observations itself; ours were counted elsewhere, so this only says them. */
export function defineHistogram(
  registry: Registry,
  { name, help, labels = [], read }: Definition<HistogramReading>,
): void {
  const histogram = {
    name,
    labelNames: labels,
    get: () =>
      Promise.resolve({
        name,
        help,
        type: "histogram",
        aggregator: "sum",
        values: read().flatMap(([labels, reading]) => listBuckets(name, labels, reading)),
      }),
    reset: () => undefined,
  };
  registry.registerMetric(histogram as unknown as Metric);
}

function listBuckets(
  name: string,
  labels: Labels,
  { bounds, counts, sumSeconds }: HistogramReading,
) {
  let below = 0;
  const buckets = [...bounds, "+Inf"].map((le, index) => {
    below += counts[index] ?? 0;
    return { labels: { ...labels, le }, value: below, metricName: `${name}_bucket` };
  });
  return [
    ...buckets,
    { labels, value: sumSeconds, metricName: `${name}_sum` },
    { labels, value: below, metricName: `${name}_count` },
  ];
}

export function defineBuildInfo(registry: Registry): void {
  defineGauge(registry, {
    name: "isthmus_build_info",
    help: "The version that runs.",
    labels: ["version"],
    read: () => [[{ version: VERSION }, 1]],
  });
}
