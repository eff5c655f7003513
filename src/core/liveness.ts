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
  /** Since we were last cut off ourselves; absent: never. Silence before that says nothing about the member. */
  readonly hearingMs?: number;
}

const WORSE_AND_WORSE: readonly Liveness[] = ["live", "silent", "lost"];

/**
 * Most members silent at once: far more likely it is we who are cut off. Half the time counts already, because
 * members are heard in turn: the first would be judged before the others are noticed. Who was lost before says nothing:
 * else one cluster that is gone for good would hide the loss of the next.
 */
export function isCutOff(
  members: readonly MemberContact[],
  policy: LivenessPolicy,
  before: ReadonlyMap<ClusterId, Liveness>,
): boolean {
  const asked = members.filter(
    ({ cluster, silentMs }) => before.get(cluster) !== "lost" || isHeard(silentMs, policy),
  );
  const quiet = asked.filter(({ silentMs }) => !isHeard(silentMs, policy)).length;
  return quiet * 2 > asked.length;
}

function isHeard(silentMs: number, policy: LivenessPolicy): boolean {
  return silentMs * 2 < policy.unreadyAfterMs;
}

/** While we are cut off, everything stays as it was judged before. */
export function judgeLiveness(
  members: readonly MemberContact[],
  policy: LivenessPolicy,
  before: ReadonlyMap<ClusterId, Liveness>,
): ReadonlyMap<ClusterId, Liveness> {
  const cutOff = isCutOff(members, policy, before);
  return new Map(
    members.map((member) => {
      const { cluster, silentMs, hearingMs = silentMs } = member;
      if (judgeSilence(silentMs, policy) === "live") return [cluster, "live"];
      const judged = cutOff ? "live" : judgeSilence(Math.min(silentMs, hearingMs), policy);
      return [cluster, worse(judged, before.get(cluster) ?? "live")];
    }),
  );
}

/** Only being heard makes it better. */
function worse(a: Liveness, b: Liveness): Liveness {
  return WORSE_AND_WORSE.indexOf(a) > WORSE_AND_WORSE.indexOf(b) ? a : b;
}

function judgeSilence(silentMs: number, policy: LivenessPolicy): Liveness {
  if (silentMs >= policy.withdrawAfterMs) return "lost";
  return silentMs >= policy.unreadyAfterMs ? "silent" : "live";
}
