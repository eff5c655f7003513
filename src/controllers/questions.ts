// Observe: the hub and what is judged of its members in, what plans ask about members out.

import type { ClusterId } from "../api/names.ts";
import { LATELY_MS, type Liveness } from "../core/liveness.ts";
import { type Hub, type HubMember, STRANGER } from "../ports/hub.ts";

export interface Questions {
  livenessOf(cluster: ClusterId): Liveness;
  /** A member that has said nothing since we came: what is known of it is from before. */
  isUnheard(cluster: ClusterId): boolean;
  isDrained(cluster: ClusterId): boolean;
  /** It has not told everything yet: nothing of it may be taken away. */
  isAwaited(cluster: ClusterId): boolean;
  /** Of whom nothing can be known yet: then nobody counts as gone. */
  hasStrangers(): boolean;
  /** Nobody is awaited any more: all have told everything, or have been silent for too long. */
  isComplete(): boolean;
}

export function createQuestions(hub: Hub, livenessOf: (cluster: ClusterId) => Liveness): Questions {
  return {
    livenessOf,
    isUnheard: (cluster) => hub.member(cluster)?.isHeard === false,
    isDrained: (cluster) => hub.isDrained(cluster),
    // A source that is no member may still be one whose id we have not learned.
    isAwaited(cluster) {
      const member = hub.member(cluster);
      return member === undefined ? hub.hasStrangers() : !member.isComplete;
    },
    hasStrangers: () => hub.hasStrangers(),
    isComplete: () =>
      (!hub.hasStrangers() || livenessOf(STRANGER) === "lost") &&
      hub
        .members()
        .every(
          (member) => (member.isComplete && member.isCurrent) || isGivenUp(member, livenessOf),
        ),
  };
}

/** Who is heard again may be about to tell what it exports, though the last look still had it lost. */
function isGivenUp(
  { cluster, silentMs }: HubMember,
  livenessOf: (cluster: ClusterId) => Liveness,
): boolean {
  return livenessOf(cluster) === "lost" && silentMs >= LATELY_MS;
}
