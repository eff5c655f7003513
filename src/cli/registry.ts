// CLI: what an agent or central is doing in, its series for Prometheus out. Nothing that a member or a user says becomes a label but
// the ids of members.

import { Registry } from "prom-client";
import { type MemberMeasures, type Imported, QUEUES } from "../controllers/measures.ts";
import type { Latencies } from "../controllers/propagation.ts";
import {
  defineBuildInfo,
  defineCounter,
  defineGauge,
  defineHistogram,
  type Labels,
  type Series,
  sole,
} from "../metrics/series.ts";
import type { HubMember } from "../ports/hub.ts";
import { createHistogram } from "../runtime/histogram.ts";
import type { InformerSnapshot } from "../runtime/informer.ts";
import type { QueueSnapshot } from "../runtime/queue.ts";
import type { WriteCount } from "../runtime/writes.ts";
import type { SpanCounts } from "../traces/exporter.ts";

/** The part of a process at work that can be measured. */
export interface Measured {
  members(): readonly HubMember[];
  /** "cluster reason" to count. */
  rejectionTotals(): ReadonlyMap<string, number>;
  hubSilentMs(): number;
  /** Clusters that it was told to work for, and that have not said who they are. */
  unidentified(): number;
  /** Each cluster that it works for, and what it does on the hub for it. */
  clusters(): readonly ClusterMeasures[];
  latencies(): Latencies;
  /** Why it has not read everything once; undefined once it has. */
  explainUnread(): string | undefined;
  /** Why it should be started anew; undefined while everything moves. */
  explainStuck(): string | undefined;
}

export interface ClusterMeasures extends MemberMeasures {
  readonly hub?: {
    readonly watches: readonly InformerSnapshot[];
    readonly writes: readonly WriteCount[];
  };
}

export interface ProcessState {
  /** Undefined while this process does not work. */
  measured: Measured | undefined;
  /** Why it cannot be of use yet; undefined when it is: at work, or standing by for who is. */
  unready: string | undefined;
  /** What became of the spans of this process; absent: it makes none. */
  spans?: () => SpanCounts;
}

const NOTHING = createHistogram().read();

export function createRegistry(state: ProcessState): Registry {
  const registry = new Registry();
  let reading: readonly ClusterMeasures[] | undefined;

  /** Read once for all series of a page, which are collected in one go. */
  function clusters(): readonly ClusterMeasures[] {
    if (reading === undefined) {
      reading = state.measured?.clusters() ?? [];
      queueMicrotask(() => {
        reading = undefined;
      });
    }
    return reading;
  }
  function gauge(name: string, help: string, labels: readonly string[], read: () => Series): void {
    defineGauge(registry, { name, help, labels, read });
  }
  function counter(
    name: string,
    help: string,
    labels: readonly string[],
    read: () => Series,
  ): void {
    defineCounter(registry, { name, help, labels, read });
  }
  function sum(read: (measures: ClusterMeasures) => number): Series {
    return sole(clusters().reduce((total, measures) => total + read(measures), 0));
  }

  defineBuildInfo(registry);
  gauge("isthmus_leader", "1 while this process is the one that works.", [], () =>
    sole(state.measured === undefined ? 0 : 1),
  );
  gauge("isthmus_exports", "ServiceExports of the clusters that this process works for.", [], () =>
    sum(({ exports }) => exports),
  );
  gauge("isthmus_imports", "Services that are imported into them.", [], () =>
    sum(({ imports }) => imports),
  );
  gauge("isthmus_hub_contact_seconds", "Since the hub last answered.", [], () =>
    sole((state.measured?.hubSilentMs() ?? 0) / 1_000),
  );
  gauge(
    "isthmus_unidentified_members",
    "Clusters that this process was given and that have not said who they are.",
    [],
    () => sole(state.measured?.unidentified() ?? 0),
  );
  gauge(
    "isthmus_member_silent_seconds",
    "Since a member was last heard, on the clock of this process.",
    ["cluster"],
    () => members().map(({ cluster, silentMs }) => [{ cluster }, silentMs / 1_000]),
  );
  gauge(
    "isthmus_member_drained",
    "1 for a member that asks the others to lead their traffic elsewhere.",
    ["cluster"],
    () => members().map(({ cluster, isDrained }) => [{ cluster }, Number(isDrained)]),
  );
  gauge(
    "isthmus_rejected_endpoints",
    "What members share and this cluster does not take in.",
    ["cluster", "reason"],
    () =>
      [...(state.measured?.rejectionTotals() ?? [])].map(([key, count]) => {
        const [cluster = "", reason = ""] = key.split(" ");
        return [{ cluster, reason }, count];
      }),
  );
  gauge(
    "isthmus_conflicts",
    "ServiceExports whose Conflict condition is True, by what is in conflict.",
    ["cluster", "reason"],
    () =>
      clusters().flatMap(({ cluster, conflicts }) =>
        [...conflicts].map(([reason, count]) => [{ cluster, reason }, count] as const),
      ),
  );
  gauge(
    "isthmus_imported_services",
    "Services that a cluster imports from a source.",
    ["cluster", "source"],
    () => listSources(({ services }) => [[{}, services]]),
  );
  gauge(
    "isthmus_imported_endpoints",
    "Endpoints that a cluster imports from a source.",
    ["cluster", "source", "ready"],
    () =>
      listSources(({ ready, unready }) => [
        [{ ready: "true" }, ready],
        [{ ready: "false" }, unready],
      ]),
  );

  defineHistogram(registry, {
    name: "isthmus_propagation_seconds",
    help: "From a change to its import, written: since the source's API server told of it (from cluster), or since the hub did (from hub).",
    labels: ["from"],
    read: () =>
      (["cluster", "hub"] as const).map((from) => [
        { from },
        state.measured?.latencies().imported[from].read() ?? NOTHING,
      ]),
  });
  defineHistogram(registry, {
    name: "isthmus_publish_seconds",
    help: "From a change in this cluster to the hub's answer that it has it.",
    read: () => [[{}, state.measured?.latencies().published.read() ?? NOTHING]],
  });

  gauge(
    "isthmus_queue_keys",
    "Services in a work queue: waiting for a worker, delayed until later, or being worked on.",
    ["cluster", "queue", "state"],
    () =>
      listQueues(({ waiting, delayed, running }) =>
        Object.entries({ waiting, delayed, running }).map(([is, keys]) => [{ state: is }, keys]),
      ),
  );
  gauge(
    "isthmus_queue_oldest_seconds",
    "How long the service has waited that is next in a work queue.",
    ["cluster", "queue"],
    () => listQueues(({ oldestMs }) => sole(oldestMs / 1_000)),
  );
  gauge(
    "isthmus_queue_longest_run_seconds",
    "How long the longest of the runs under way has taken.",
    ["cluster", "queue"],
    () => listQueues(({ longestRunningMs }) => sole(longestRunningMs / 1_000)),
  );
  counter(
    "isthmus_queue_overflows_total",
    "Services that a full work queue refused, and looks for later.",
    ["cluster", "queue"],
    () => listQueues(({ overflows }) => sole(overflows)),
  );
  counter(
    "isthmus_reconciles_total",
    "Runs by how they ended: done, to be looked at again, or failed.",
    ["cluster", "queue", "outcome"],
    () =>
      listQueues(({ outcomes }) =>
        Object.entries(outcomes).map(([outcome, runs]) => [{ outcome }, runs]),
      ),
  );
  counter(
    "isthmus_writes_total",
    "Writes to API servers by kind, verb and result.",
    ["cluster", "server", "kind", "verb", "result"],
    () =>
      clusters().flatMap(({ cluster, writes, hub }) => [
        ...writes.map((write) => renderWrite({ cluster, server: "cluster" }, write)),
        ...(hub?.writes ?? []).map((write) => renderWrite({ cluster, server: "hub" }, write)),
      ]),
  );

  const WATCH_LABELS = ["cluster", "server", "resource"];
  gauge(
    "isthmus_watch_age_seconds",
    "Since an API server last proved that nothing newer is known of a resource; a minute is normal.",
    WATCH_LABELS,
    () => listWatches(({ ageMs }) => ageMs / 1_000),
  );
  gauge("isthmus_watched_objects", "Objects of a resource that are known.", WATCH_LABELS, () =>
    listWatches(({ objects }) => objects),
  );
  counter("isthmus_watch_events_total", "Events of watches.", WATCH_LABELS, () =>
    listWatches(({ events }) => events),
  );
  counter(
    "isthmus_watch_restarts_total",
    "Watches after the first; one in five to ten minutes is normal.",
    WATCH_LABELS,
    () => listWatches(({ watches }) => Math.max(0, watches - 1)),
  );
  counter(
    "isthmus_watch_relists_total",
    "Lists after the first: the API server failed, or forgot where we were.",
    WATCH_LABELS,
    () => listWatches(({ lists }) => Math.max(0, lists - 1)),
  );
  counter("isthmus_watch_failures_total", "Lists and watches that failed.", WATCH_LABELS, () =>
    listWatches(({ failures }) => failures),
  );
  counter("isthmus_trace_spans_total", "Spans by what became of them.", ["result"], () => {
    const { sent, dropped, refused } = state.spans?.() ?? { sent: 0, dropped: 0, refused: 0 };
    return Object.entries({ sent, dropped, refused }).map(([result, count]) => [{ result }, count]);
  });
  return registry;

  function members(): readonly HubMember[] {
    return state.measured?.members() ?? [];
  }
  function listQueues(read: (queue: QueueSnapshot) => Series): Series {
    return clusters().flatMap(({ cluster, queues }) =>
      QUEUES.flatMap((queue) => under({ cluster, queue }, read(queues[queue]))),
    );
  }
  function listSources(read: (imported: Imported) => Series): Series {
    return clusters().flatMap(({ cluster, sources }) =>
      [...sources].flatMap(([source, imported]) => under({ cluster, source }, read(imported))),
    );
  }
  function listWatches(read: (watch: InformerSnapshot) => number): Series {
    return clusters().flatMap(({ cluster, watches, hub }) => [
      ...watches.map((watch) => renderWatch({ cluster, server: "cluster" }, watch, read)),
      ...(hub?.watches ?? []).map((watch) => renderWatch({ cluster, server: "hub" }, watch, read)),
    ]);
  }
}

function under(labels: Labels, series: Series): Series {
  return series.map(([own, value]) => [{ ...labels, ...own }, value]);
}

function renderWrite(labels: Labels, { kind, verb, result, count }: WriteCount): Series[number] {
  return [{ ...labels, kind, verb, result }, count];
}

function renderWatch(
  labels: Labels,
  watch: InformerSnapshot,
  read: (watch: InformerSnapshot) => number,
): Series[number] {
  return [{ ...labels, resource: watch.resource.plural }, read(watch)];
}
