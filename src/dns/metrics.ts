// DNS: what servers counted in, series for Prometheus out. Read when somebody asks. No text of a query becomes a label: zones, types and
// codes that are not known are "other", so that nobody can make series by asking.

import type { Registry } from "prom-client";
import {
  defineBuildInfo,
  defineCounter,
  defineGauge,
  defineHistogram,
  type Series,
  sole,
} from "../metrics/series.ts";
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

export function registerDnsMetrics(registry: Registry, measured: Measured): void {
  const { zones, servers, feed } = measured;
  const layout = createLayout(zones.length);
  const totals = (): Float64Array => servers.report().totals;

  function count(name: string, help: string, labels: readonly string[], read: () => Series) {
    defineCounter(registry, { name, help, labels, read });
  }
  function gauge(name: string, help: string, read: () => number): void {
    defineGauge(registry, { name, help, read: () => sole(read()) });
  }
  /** One series for each word, from a place in the totals on. */
  function listed(label: string, words: readonly string[], from: number): () => Series {
    return () => {
      const values = totals();
      return words.map((word, index) => [{ [label]: word }, values[from + index] ?? 0] as const);
    };
  }

  defineBuildInfo(registry);
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
  defineHistogram(registry, {
    name: "isthmus_dns_answer_seconds",
    help: `From a datagram to its answer, within the server; one of ${SAMPLE_EVERY} is timed.`,
    read: () => {
      const values = totals();
      const end = layout.latency + LATENCY_BUCKETS.length + 1;
      const counts = [...values.subarray(layout.latency, end)];
      const sumSeconds = values[layout.latencySum] ?? 0;
      return [[{}, { bounds: LATENCY_BUCKETS, counts, sumSeconds }]];
    },
  });
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
