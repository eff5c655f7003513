// Liveness: how long each member has been silent in, whether its endpoints may be used out (R65, R66).
//
//   live ──silent for unreadyAfterMs──▶ silent (endpoints not ready) ──withdrawAfterMs──▶ lost (endpoints gone)
//     ▲                                        │                                            │
//     └────────────────────── heard again ─────┴────────────────────────────────────────────┘

import type { ClusterId } from "../api/names.ts";

export type Liveness = "live" | "silent" | "lost";

export interface LivenessPolicy {
  readonly unreadyAfterMs: number;
  readonly withdrawAfterMs: number;
}

export const DEFAULT_LIVENESS: LivenessPolicy = { unreadyAfterMs: 20_000, withdrawAfterMs: 30_000 };

/** `silentMs` is measured on the judge's own monotonic clock; clocks of clusters are never compared. */
export interface MemberContact {
  readonly cluster: ClusterId;
  readonly silentMs: number;
}

/** Most members silent at once: far more likely it is we who are cut off. Then everything stays as it was judged before. */
export function judgeLiveness(
  members: readonly MemberContact[],
  policy: LivenessPolicy,
  before: ReadonlyMap<ClusterId, Liveness>,
): ReadonlyMap<ClusterId, Liveness> {
  const judged = members.map(
    ({ cluster, silentMs }) => [cluster, judgeMember(silentMs, policy)] as const,
  );
  const quiet = judged.filter(([, liveness]) => liveness !== "live").length;
  if (quiet * 2 <= members.length) return new Map(judged);
  return new Map(
    judged.map(([cluster, now]) => [
      cluster,
      now === "live" ? now : (before.get(cluster) ?? "live"),
    ]),
  );
}

function judgeMember(silentMs: number, policy: LivenessPolicy): Liveness {
  if (silentMs >= policy.withdrawAfterMs) return "lost";
  return silentMs >= policy.unreadyAfterMs ? "silent" : "live";
}
