// Dashboard: changes of endpoints as the watches tell them in, samples of how long they took to arrive out, the last ones kept.
// Read at once when a watch tells, because a row is made up to a quarter of a second later.

import type { ServiceKey } from "../api/names.ts";
import { describeSets, type EndpointFact, type EndpointShift } from "../core/dashboard/facts.ts";
import { createLatencyTracker } from "../core/dashboard/latency.ts";
import { type Clock, formatMilliTime } from "../ports/clock.ts";
import type { ClusterFeed } from "./clusterFeed.ts";
import type { Gathering } from "./gathering.ts";
import type { LatencySample } from "./state.ts";

export interface Stopwatch {
  noteCluster(feed: ClusterFeed, shift: EndpointShift): void;
  noteHub(shift: EndpointShift): void;
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

  function changed(source: string, facts: readonly EndpointFact[], shift: EndpointShift): void {
    const { service } = shift;
    const importers = new Map(
      gathering.listed().flatMap(({ id, feed, isDouble }) => {
        if (isDouble || feed?.importOf(service) === undefined) return [];
        return [[id, setOf(importedFrom(feed, service, source))] as const];
      }),
    );
    const sets = describeSets(facts, shift);
    tracker.changed({ service, source, ...sets, nowMs: clock.monotonic() }, importers);
  }

  return {
    noteCluster(feed, shift) {
      const { service, source: from } = shift;
      if (from === undefined) {
        if (feed.exportOf(service) === undefined) return;
        const own = feed.slicesOf(service).filter(({ source }) => source === undefined);
        changed(feed.id(), own, shift);
        return;
      }
      const set = setOf(importedFrom(feed, service, from));
      const sight = { service, source: from, set, nowMs: clock.monotonic() };
      const arrival = tracker.imported(sight, feed.id());
      if (arrival === undefined) return;
      const at = formatMilliTime(clock.now());
      const { source, importer, ms } = arrival;
      fresh.push({ at, service, source, importer, ms: Math.round(ms) });
    },
    noteHub(shift) {
      const { service, source: cluster = "" } = shift;
      const isSeen = gathering
        .listed()
        .some(({ id, feed }) => id === cluster && feed !== undefined);
      // What a cluster itself shows comes first, and is what its owner changes.
      if (isSeen) return;
      const shared = gathering.hub()?.endpointsOf(service) ?? [];
      changed(
        cluster,
        shared.filter(({ source }) => source === cluster),
        shift,
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
  return describeSets(facts, { was: undefined, now: undefined }).set;
}
