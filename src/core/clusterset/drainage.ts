// Clusterset: an observation and a cluster that is drained in, where its endpoints are in use although others serve out; of
// one that is not drained any more, where they are not in use again. And for what it is, or would be, used all the same.

import type { EndpointSlice } from "../../api/builtin.ts";
import type { ClusterId, ServiceKey } from "../../api/names.ts";
import { isReady, routesOf } from "../fate.ts";
import { type Clusterset, hasRead, indexClusterset } from "./record.ts";
import type { Observation } from "./sighting.ts";
import { findSources, slicesFrom, type Standing } from "./standing.ts";
import { findStandings, isEndpointReady, viewSource } from "./view.ts";

export interface Laggard {
  readonly service: ServiceKey;
  /** Whose clients are led there, or not. */
  readonly cluster: string;
}

/** That it is used because nobody else serves is as it should be. */
export function findStillUsed(observation: Observation, drained: ClusterId): readonly Laggard[] {
  return findLaggards(
    indexClusterset(observation),
    (standing) =>
      standing.judged.get(drained) !== "drained" && viewSource(standing, drained).ready > 0,
  );
}

/** Services that lead there although all have done what a drain asks for. */
export function findLeftover(observation: Observation, drained: ClusterId): readonly ServiceKey[] {
  const found = findLaggards(
    indexClusterset(observation),
    (standing) =>
      standing.judged.get(drained) === "drained" && viewSource(standing, drained).ready > 0,
  );
  return [...new Set(found.map(({ service }) => service))];
}

/** Services that would go on leading there: to take its place, one has to serve the same and not be drained itself. */
export function foreseeLeftover(observation: Observation, drained: ClusterId): ReadonlySet<string> {
  const found = findLaggards(indexClusterset(observation), (standing) => {
    const { importer, service, judged } = standing;
    const others = findSources(standing).filter(
      (source) => source !== drained && judged.get(source) !== "drained",
    );
    const kept = servedBy(others.flatMap((source) => slicesFrom(importer, service, source)));
    return [...servedBy(slicesFrom(importer, service, drained))].some((route) => !kept.has(route));
  });
  return new Set(found.map(({ service }) => service));
}

function servedBy(slices: readonly EndpointSlice[]): ReadonlySet<string> {
  return new Set(slices.filter(isReady).flatMap(routesOf));
}

export function findStillLeft(observation: Observation, returned: ClusterId): readonly Laggard[] {
  return findLaggards(indexClusterset(observation), ({ received, judged }) => {
    const shares = received.get(returned)?.contribution.endpoints ?? [];
    const isWanted = shares.some(({ endpoints }) => endpoints.some(isEndpointReady));
    return isWanted && judged.get(returned) !== "live";
  });
}

function findLaggards(
  set: Clusterset,
  isLate: (standing: Standing) => boolean,
): readonly Laggard[] {
  return set.services.flatMap((service) =>
    findStandings(set, service)
      .filter(({ importer }) => importer.imports.has(service) && hasRead(importer, "slices"))
      .filter(isLate)
      .map(({ importer }) => ({ service, cluster: importer.id })),
  );
}
