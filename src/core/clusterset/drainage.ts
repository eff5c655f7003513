// Clusterset: an observation and a cluster that is drained in, where its endpoints are in use although others serve out; of
// one that is not drained any more, where they are not in use again.

import type { ClusterId, ServiceKey } from "../../api/names.ts";
import { type Clusterset, hasRead, indexClusterset } from "./record.ts";
import type { Observation } from "./sighting.ts";
import type { Standing } from "./standing.ts";
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
