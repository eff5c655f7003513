// How long a change takes to arrive: what the source's API server and the hub told in, durations out. All on the clock of this
// process; clocks of clusters are never compared. So each process times the part of the way that it sees:
//
//   source's watch tells ─▶ share is on the hub   published         by who exports
//   hub's watch tells ─▶ import is written        imported.hub      by who imports, of other clusters' changes
//   source's watch tells ─▶ import is written     imported.cluster  where one process sees both ends: a cluster's own changes
//                                                                   at home; in central mode all
//
// A change that nothing had to be written for is none. One that could not be told or written yet goes on being timed, an
// outage of hours included; newer changes of the same service meanwhile arrive with it.

import type { ServiceKey } from "../api/names.ts";
import type { Clock } from "../ports/clock.ts";
import type { Attributes, Span, SpanContext } from "../ports/trace.ts";
import { createHistogram, type Histogram } from "../runtime/histogram.ts";

/** Of one process; shared by all members of central mode. */
export interface Latencies {
  readonly published: Histogram;
  readonly imported: Readonly<Record<Origin, Histogram>>;
  /** What is being published in this very moment: what a hub tells meanwhile it tells because of that. */
  underWay: SourceChange | undefined;
}

export type Origin = "cluster" | "hub";

interface SourceChange {
  readonly sinceMs: number;
  /** The hub told of it: others see something else than before. */
  isNews: boolean;
  /** Of the run that tells the hub. */
  told?: SpanContext | undefined;
}

interface ImportChange {
  readonly sinceMs: number;
  readonly from: Origin;
  /** Of the run that told the hub, where it was in this process. */
  readonly told?: SpanContext | undefined;
  writtenMs?: number;
}

export interface Propagation {
  /** The cluster's API server told of something that the export depends on. */
  noteSource(service: ServiceKey): void;
  publish(service: ServiceKey, send: () => Promise<void>, span?: Span): Promise<void>;
  /** The hub told of the service. */
  noteShare(service: ServiceKey): void;
  /** `apply` calls back whenever it has written. */
  import<T>(
    service: ServiceKey,
    apply: (onWritten: () => void) => Promise<T>,
    span?: Span,
  ): Promise<T>;
}

export function createLatencies(): Latencies {
  return {
    published: createHistogram(),
    imported: { cluster: createHistogram(), hub: createHistogram() },
    underWay: undefined,
  };
}

export function createPropagation(options: {
  readonly clock: Clock;
  readonly latencies: Latencies;
  /** False until all that was there at the start is known: what first lists tell is not new. */
  readonly isTimed: () => boolean;
}): Propagation {
  const { clock, latencies, isTimed } = options;
  /** Both hold what is queued, at most, and what the hub could not be told. */
  const sources = new Map<ServiceKey, SourceChange>();
  const imports = new Map<ServiceKey, ImportChange>();

  return {
    noteSource(service) {
      if (!isTimed() || sources.has(service)) return;
      sources.set(service, { sinceMs: clock.monotonic(), isNews: false });
    },
    async publish(service, send, span) {
      const change = sources.get(service);
      sources.delete(service);
      if (change !== undefined) change.told = span?.context;
      try {
        await sendAs(latencies, change, send);
      } catch (error) {
        if (change !== undefined) sources.set(service, change);
        throw error;
      }
      if (change?.isNews !== true) return;
      const tookMs = clock.monotonic() - change.sinceMs;
      latencies.published.note(tookMs);
      span?.note(describeChange("cluster", tookMs));
    },
    noteShare(service) {
      const source = latencies.underWay;
      if (source !== undefined) source.isNews = true;
      if (!isTimed() || imports.has(service)) return;
      const sinceMs = source?.sinceMs ?? clock.monotonic();
      const from = source === undefined ? "hub" : "cluster";
      imports.set(service, { sinceMs, from, told: source?.told });
    },
    async import(service, apply, span) {
      const change = imports.get(service);
      imports.delete(service);
      try {
        const applied = await apply(() => {
          if (change !== undefined) change.writtenMs = clock.monotonic();
        });
        if (change?.writtenMs !== undefined) {
          const { from, sinceMs, writtenMs, told } = change;
          latencies.imported[from].note(writtenMs - sinceMs);
          span?.note(describeChange(from, writtenMs - sinceMs));
          if (told !== undefined) span?.link(told);
        }
        return applied;
      } catch (error) {
        if (change !== undefined) imports.set(service, change);
        throw error;
      }
    },
  };
}

/** Since whose watch told of it, and for how long. */
function describeChange(from: Origin, tookMs: number): Attributes {
  return { "isthmus.change_from": from, "isthmus.change_ms": tookMs };
}

/** A hub tells within the call, before anything is waited for. */
function sendAs(
  latencies: Latencies,
  change: SourceChange | undefined,
  send: () => Promise<void>,
): Promise<void> {
  latencies.underWay = change;
  try {
    return send();
  } finally {
    latencies.underWay = undefined;
  }
}
