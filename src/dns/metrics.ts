// DNS: what servers counted in, series for Prometheus out. Read when somebody asks. No text of a query becomes a label: zones, types and
// codes that are not known are "other", so that nobody can make series by asking.

import { Counter, Gauge, type Metric, type Registry } from "prom-client";
import { VERSION } from "../api/version.ts";
import {
  createLayout,
  DROPS,
  FORWARDS,
  LATENCY_BUCKETS,
  queryIndex,
  RCODES,
  SAMPLE_EVERY,
  TRANSPORTS,
  TYPES,
} from "./counters.ts";
import type { Servers } from "./pool.ts";

export interface Measured {
  readonly zones: readonly string[];
  readonly servers: Pick<Servers, "report" | "processes">;
  readonly feed: { isSynced(): boolean; ageMs(): number };
}

type Series = readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[];

export function registerDnsMetrics(registry: Registry, measured: Measured): void {
  const { zones, servers, feed } = measured;
  const layout = createLayout(zones.length);
  const registers = [registry];
  const totals = (): Float64Array => servers.report().totals;

  function count(name: string, help: string, labelNames: readonly string[], read: () => Series) {
    // oxlint-disable-next-line no-new -- it lives in its registry
    new Counter({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const [labels, value] of read()) this.inc(labels, value);
      },
    });
  }
  function gauge(name: string, help: string, read: () => number): void {
    // oxlint-disable-next-line no-new -- it lives in its registry
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  }
  /** One series for each word, from a place in the totals on. */
  function listed(label: string, words: readonly string[], from: number): () => Series {
    return () => {
      const values = totals();
      return words.map((word, index) => [{ [label]: word }, values[from + index] ?? 0] as const);
    };
  }

  const build = new Gauge({
    name: "isthmus_build_info",
    help: "The version that runs.",
    labelNames: ["version"],
    registers,
  });
  build.set({ version: VERSION }, 1);
  count(
    "isthmus_dns_queries_total",
    "Queries that were answered, by zone, type and response code.",
    ["zone", "type", "rcode"],
    () => listQueries(zones, totals()),
  );
  count(
    "isthmus_dns_received_total",
    "Messages that came in, answered or not.",
    ["transport"],
    listed("transport", TRANSPORTS, layout.transport),
  );
  count(
    "isthmus_dns_dropped_total",
    "Messages without an answer and connections that were cut, by reason.",
    ["reason"],
    listed("reason", DROPS, layout.dropped),
  );
  count(
    "isthmus_dns_slipped_total",
    "Answers cut to nothing because of the rate limit: the client may ask again over TCP.",
    [],
    () => [[{}, totals()[layout.slipped] ?? 0]],
  );
  count(
    "isthmus_dns_forwarded_total",
    "Queries that went to other servers, by what became of them.",
    ["outcome"],
    listed("outcome", FORWARDS, layout.forwarded),
  );
  registry.registerMetric(
    createHistogram(() => {
      const values = totals();
      const end = layout.latency + LATENCY_BUCKETS.length + 1;
      return {
        buckets: values.subarray(layout.latency, end),
        sum: values[layout.latencySum] ?? 0,
      };
    }),
  );
  gauge("isthmus_dns_serial", "Serial of the zones, where it is lowest.", () => {
    return servers.report().serial;
  });
  gauge("isthmus_dns_names", "Names that exist, in all zones.", () => servers.report().names);
  gauge("isthmus_dns_synced", "1 when everything that there was has been read once.", () =>
    feed.isSynced() ? 1 : 0,
  );
  gauge(
    "isthmus_dns_data_age_seconds",
    "Since the API server last proved that nothing newer is known; a minute is normal.",
    () => feed.ageMs() / 1_000,
  );
  gauge("isthmus_dns_tcp_connections", "Open connections of clients.", () => {
    return servers.report().tcpConnections;
  });
  gauge("isthmus_dns_forwards_in_flight", "Queries that wait for other servers.", () => {
    return servers.report().forwarding;
  });
  gauge("isthmus_dns_processes", "Processes that answer.", () => servers.processes().running);
  count("isthmus_dns_process_restarts_total", "Server processes that ended unasked.", [], () => [
    [{}, servers.processes().restarts],
  ]);
}

/** Those that happened, and of each zone the usual one from the start, so that a rate can be taken of it. */
function listQueries(zones: readonly string[], totals: Float64Array): Series {
  const series: (readonly [Readonly<Record<string, string>>, number])[] = [];
  for (const [zoneIndex, zone] of [...zones, "other"].entries()) {
    for (const [typeIndex, type] of TYPES.entries()) {
      for (const [rcodeIndex, rcode] of RCODES.entries()) {
        const value = totals[queryIndex(zoneIndex, typeIndex, rcodeIndex)] ?? 0;
        const isUsual = type === "A" && rcode === "NOERROR";
        if (value > 0 || isUsual) series.push([{ zone, type, rcode }, value]);
      }
    }
  }
  return series;
}

/** prom-client counts observations itself; ours were counted elsewhere, so this only says them. */
function createHistogram(
  read: () => { readonly buckets: Float64Array; readonly sum: number },
): Metric {
  const name = "isthmus_dns_answer_seconds";
  const help = `From a datagram to its answer, within the server; one of ${SAMPLE_EVERY} is timed.`;
  const histogram = {
    name,
    get: () => {
      const { buckets, sum } = read();
      let below = 0;
      const values = [...LATENCY_BUCKETS, "+Inf"].map((le, index) => {
        below += buckets[index] ?? 0;
        return { labels: { le }, value: below, metricName: `${name}_bucket` };
      });
      return Promise.resolve({
        name,
        help,
        type: "histogram",
        aggregator: "sum",
        values: [
          ...values,
          { labels: {}, value: sum, metricName: `${name}_sum` },
          { labels: {}, value: below, metricName: `${name}_count` },
        ],
      });
    },
    reset: () => undefined,
  };
  return histogram as unknown as Metric;
}
