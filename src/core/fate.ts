// Import: how a source is judged and what its export asks for in, what becomes of its endpoints here out.
//
//               withdraw (default)   unready      keep
//   live        stay                 stay         stay
//   flapping    unready (*)          unready (*)  stay       (*) while others have ready endpoints
//   silent      unready              unready      stay
//   lost        go                   unready      stay

import type { Endpoint, EndpointSlice } from "../api/builtin.ts";
import type { WhenLost } from "../api/share.ts";
import type { Liveness } from "./liveness.ts";

export type Fate = "stay" | "unready" | "go";

export function decideFate(liveness: Liveness, whenLost: WhenLost = "withdraw"): Fate {
  if (liveness === "live" || whenLost === "keep") return "stay";
  return liveness === "lost" && whenLost === "withdraw" ? "go" : "unready";
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
  return slice.endpoints.some(({ conditions }) => conditions?.ready !== false);
}

/** What traffic asks for: a family and a port. Endpoints of the one do not stand in for those of another. */
export function routesOf({ addressType, ports = [] }: EndpointSlice): readonly string[] {
  if (ports.length === 0) return [addressType];
  return ports.map(({ name = "" }) => `${addressType} ${name}`);
}
