// Observe: the hub in, which sources have not told everything yet out. Of those nothing may be taken away.

import type { ClusterId } from "../api/names.ts";
import { LATELY_MS, type Liveness } from "../core/liveness.ts";
import { type Hub, type HubMember, STRANGER } from "../ports/hub.ts";

export interface Awaited {
  isAwaited(source: ClusterId): boolean;
  /** Nobody is awaited any more: all have told everything, or have been silent for too long. */
  readonly isComplete: boolean;
}

export function observeAwaited(hub: Hub, livenessOf: (cluster: ClusterId) => Liveness): Awaited {
  const members = new Map(hub.members().map((member) => [member.cluster, member]));
  const hasStrangers = hub.hasStrangers();
  return {
    // A source that is no member may still be one whose id we have not learned.
    isAwaited: (source) => {
      const member = members.get(source);
      return member === undefined ? hasStrangers : !member.isComplete;
    },
    isComplete:
      (!hasStrangers || livenessOf(STRANGER) === "lost") &&
      [...members.values()].every(
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
