// Import: all sources of a service, some of them flapping or drained, in; the slices of these out: not ready where others take
// their place, and as they are where nobody does. Unreliable is better than nothing, and so is drained.

import type { EndpointSlice } from "../api/builtin.ts";
import { type ClusterId, SOURCE_CLUSTER_LABEL } from "../api/names.ts";
import { type Fate, isReady, routesOf, turnUnready } from "./fate.ts";
import type { ImportView } from "./import.ts";
import type { Liveness } from "./liveness.ts";

export interface PlannedSource {
  readonly cluster: ClusterId;
  readonly liveness: Liveness;
  readonly fate: Fate;
  /** Ready as they are at home. */
  readonly slices: readonly EndpointSlice[];
}

export interface ReplacementInput {
  /** The importing cluster. */
  readonly cluster: ClusterId;
  readonly view: ImportView;
  readonly sources: readonly PlannedSource[];
  /** Those that we wrote. */
  readonly observed: readonly EndpointSlice[];
  readonly livenessOf: (cluster: ClusterId) => Liveness;
  readonly isAwaited: (cluster: ClusterId) => boolean;
}

export function isReplaceable(liveness: Liveness): boolean {
  return liveness === "flapping" || liveness === "drained";
}

/** Answers what becomes of the slices of such a source. */
export function createReplacement(
  input: ReplacementInput,
): (source: PlannedSource) => readonly EndpointSlice[] {
  const { sources, observed } = input;
  const relied = sources.flatMap(({ liveness, slices }) => (liveness === "live" ? slices : []));
  const staying = findStaying(input);
  const present = new Map(observed.map((slice) => [slice.metadata.name, slice]));
  const routes = servedBy([...relied, ...staying]);
  const written = servedBy([
    ...relied.flatMap(({ metadata }) => present.get(metadata.name) ?? []),
    ...staying,
  ]);
  return ({ cluster, slices }) => {
    if (cluster === input.cluster && isLocalOnly(input.view)) return slices;
    return slices.map((slice) => {
      const actual = present.get(slice.metadata.name);
      // What is in use goes when what takes its place has been written, and not in the hope that it will be.
      const isUsed = actual !== undefined && isReady(actual);
      const isServed = (route: string): boolean =>
        routes.has(route) && (!isUsed || written.has(route));
      return routesOf(slice).every(isServed) ? turnUnready(slice) : slice;
    });
  };
}

function servedBy(slices: readonly EndpointSlice[]): ReadonlySet<string> {
  return new Set(slices.filter(isReady).flatMap(routesOf));
}

/** Clients reach endpoints on their own node only: there is nobody else for them. */
function isLocalOnly({ type, internalTrafficPolicy }: ImportView): boolean {
  return type !== "Headless" && internalTrafficPolicy === "Local";
}

/** Of sources that are not heard yet: they serve as they did, so whoever was held back for them still is. */
function findStaying(input: ReplacementInput): readonly EndpointSlice[] {
  const { sources, observed, isAwaited, livenessOf } = input;
  const planned = sources.flatMap(({ slices }) => slices);
  const names = new Set(planned.map(({ metadata }) => metadata.name));
  return observed.filter(({ metadata: { name, labels } }) => {
    const source = labels?.[SOURCE_CLUSTER_LABEL] as ClusterId | undefined;
    if (source === undefined || names.has(name)) return false;
    return isAwaited(source) && livenessOf(source) === "live";
  });
}
