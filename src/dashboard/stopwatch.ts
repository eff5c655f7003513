// Dashboard: changes of endpoints as the watches tell them in, samples of how long they took to arrive out, the last ones kept.
// Read at once when a watch tells, because a row is made up to a quarter of a second later.

import type { ServiceKey } from "../api/names.ts";
import { type EndpointFact, sumEndpoints } from "../core/dashboard/facts.ts";
import { createLatencyTracker } from "../core/dashboard/latency.ts";
import { type Clock, formatTime } from "../ports/clock.ts";
import type { ClusterFeed } from "./clusterFeed.ts";
import type { Gathering } from "./gathering.ts";
import type { LatencySample } from "./state.ts";

export interface Stopwatch {
  /** `from` is the source of what it imports; undefined: its own endpoints. */
  noteCluster(feed: ClusterFeed, service: ServiceKey, from: string | undefined): void;
  noteHub(service: ServiceKey, cluster: string): void;
  /** Those since the last time. */
  take(): readonly LatencySample[];
  kept(): readonly LatencySample[];
}

const SAMPLES_KEPT = 300;

export function createStopwatch(options: {
  readonly clock: Clock;
  readonly gathering: Gathering;
}): Stopwatch {
  const { clock, gathering } = options;
  const tracker = createLatencyTracker();
  let kept: readonly LatencySample[] = [];
  let fresh: LatencySample[] = [];

  function changed(service: ServiceKey, source: string, facts: readonly EndpointFact[]): void {
    const importers = new Map(
      gathering.listed().flatMap(({ id, feed, isDouble }) => {
        if (isDouble || feed?.importOf(service) === undefined) return [];
        return [[id, setOf(importedFrom(feed, service, source))] as const];
      }),
    );
    tracker.changed({ service, source, set: setOf(facts), nowMs: clock.monotonic() }, importers);
  }

  return {
    noteCluster(feed, service, from) {
      if (from === undefined) {
        if (feed.exportOf(service) === undefined) return;
        const own = feed.slicesOf(service).filter(({ source }) => source === undefined);
        changed(service, feed.id(), own);
        return;
      }
      const set = setOf(importedFrom(feed, service, from));
      const sight = { service, source: from, set, nowMs: clock.monotonic() };
      const arrival = tracker.imported(sight, feed.id());
      if (arrival === undefined) return;
      const at = formatTime(clock.now());
      const { source, importer, ms } = arrival;
      fresh.push({ at, service, source, importer, ms: Math.round(ms) });
    },
    noteHub(service, cluster) {
      const isSeen = gathering
        .listed()
        .some(({ id, feed }) => id === cluster && feed !== undefined);
      // What a cluster itself shows comes first, and is what its owner changes.
      if (isSeen) return;
      const shared = gathering.hub()?.endpointsOf(service) ?? [];
      changed(
        service,
        cluster,
        shared.filter(({ source }) => source === cluster),
      );
    },
    take() {
      const taken = fresh;
      fresh = [];
      if (taken.length > 0) kept = [...kept, ...taken].slice(-SAMPLES_KEPT);
      return taken.slice(-SAMPLES_KEPT);
    },
    kept: () => kept,
  };
}

function importedFrom(
  feed: ClusterFeed,
  service: ServiceKey,
  from: string,
): readonly EndpointFact[] {
  return feed.slicesOf(service).filter(({ source }) => source === from);
}

function setOf(facts: readonly EndpointFact[]): string {
  const { ready, sum } = sumEndpoints(facts);
  return `${ready}/${sum}`;
}
