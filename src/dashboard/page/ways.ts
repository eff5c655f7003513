// Page: the services in, who exports to whom out: for each pair of clusters, how many services lead from one to the other.

import type { ServiceState } from "../state.ts";
import type { Model } from "./model.ts";

export interface Way {
  readonly source: string;
  readonly importer: string;
  readonly services: number;
  /** Of those, the ones without a single ready endpoint. */
  readonly idle: number;
}

interface Step {
  readonly source: string;
  readonly importer: string;
  readonly isIdle: boolean;
}

/** A service is an object of its own whenever it changed, so what was made of it is kept with it. */
const stepsOf = new WeakMap<ServiceState, readonly Step[]>();

/** Those with most services first. */
export function listWays(services: Model["services"]): readonly Way[] {
  const ways = new Map<
    string,
    { source: string; importer: string; services: number; idle: number }
  >();
  for (const { value } of services.values()) {
    for (const { source, importer, isIdle } of findSteps(value)) {
      const name = `${source} ${importer}`;
      const way = ways.get(name) ?? { source, importer, services: 0, idle: 0 };
      way.services += 1;
      if (isIdle) way.idle += 1;
      ways.set(name, way);
    }
  }
  return [...ways.values()].toSorted(
    (a, b) =>
      b.services - a.services ||
      a.source.localeCompare(b.source) ||
      a.importer.localeCompare(b.importer),
  );
}

function findSteps(service: ServiceState): readonly Step[] {
  const known = stepsOf.get(service);
  if (known !== undefined) return known;
  const steps = service.parts.flatMap(({ cluster, sources }) =>
    sources.flatMap(({ cluster: source, ready, total }) =>
      source === cluster || total === 0 ? [] : [{ source, importer: cluster, isIdle: ready === 0 }],
    ),
  );
  stepsOf.set(service, steps);
  return steps;
}
