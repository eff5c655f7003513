// Import: how a source is judged and what its export asks for in, what becomes of its endpoints here out.
//
//               withdraw (default)   unready      keep
//   live        stay                 stay         stay
//   flapping    unready (*)          unready (*)  stay       (*) while others have ready endpoints
//   drained     unready (*)          unready (*)  unready (*)  asked for, and no loss
//   silent      unready              unready      stay (**)
//   lost        go                   unready      stay (**)    (**) one that is drained as well is only that, see judgeKept

import type { Endpoint, EndpointSlice } from "../api/builtin.ts";
import type { ServiceImport } from "../api/mcs.ts";
import { type ClusterId, SOURCE_CLUSTER_LABEL } from "../api/names.ts";
import type { WhenLost } from "../api/share.ts";
import type { Liveness } from "./liveness.ts";
import { isSameData } from "./write.ts";

export type Fate = "stay" | "unready" | "go";

export function decideFate(liveness: Liveness, whenLost: WhenLost = "withdraw"): Fate {
  if (liveness === "drained") return "unready";
  if (liveness === "live" || whenLost === "keep") return "stay";
  return liveness === "lost" && whenLost === "withdraw" ? "go" : "unready";
}

/**
 * Who is drained may be stopped, and must not be led to again by that: kept are the endpoints where nobody else serves.
 */
export function judgeKept(
  liveness: Liveness,
  source: { readonly whenLost: WhenLost | undefined; readonly isDrained: boolean },
): Liveness {
  return source.isDrained && source.whenLost === "keep" ? "drained" : liveness;
}

/**
 * How a source that has not been heard since we started was judged before, by what is left of it in the import: who was
 * lost then must not come back to life by our restart. Undefined: nothing shows that it was ever judged.
 */
export function recallLiveness(
  source: ClusterId,
  left: {
    readonly serviceImport: ServiceImport | undefined;
    readonly slices: readonly EndpointSlice[];
  },
): Liveness | undefined {
  const isListed = left.serviceImport?.status?.clusters?.some(({ cluster }) => cluster === source);
  if (isListed !== true) return undefined;
  const slices = left.slices.filter(
    ({ metadata }) => metadata.labels?.[SOURCE_CLUSTER_LABEL] === source,
  );
  if (slices.length === 0) return "lost";
  return slices.every((slice) => isSameData(turnUnready(slice).endpoints, slice.endpoints ?? []))
    ? "silent"
    : undefined;
}

export function turnUnready(slice: EndpointSlice): EndpointSlice {
  const turn = (endpoint: Endpoint): Endpoint => ({
    ...endpoint,
    conditions: { ...endpoint.conditions, ready: false, serving: false },
  });
  // A slice without endpoints may come with null.
  return { ...slice, endpoints: (slice.endpoints ?? []).map(turn) };
}

/** Unknown is ready, as everybody reads it. */
export function isReady(slice: EndpointSlice): boolean {
  return (slice.endpoints ?? []).some(({ conditions }) => conditions?.ready !== false);
}

/** What traffic asks for: a family and a port. Endpoints of the one do not stand in for those of another. */
export function routesOf({ addressType, ports }: EndpointSlice): readonly string[] {
  // A slice without ports may come with null, and a port without a name, too.
  const named = (ports ?? []).map(({ name }) => `${addressType} ${name ?? ""}`);
  return named.length === 0 ? [addressType] : named;
}
