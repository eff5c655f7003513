// Observe: the hub in, which sources have not told everything yet out. Of those nothing may be taken away.

import type { ClusterId } from "../api/names.ts";
import type { Hub } from "../ports/hub.ts";

export interface Awaited {
  isAwaited(source: ClusterId): boolean;
  /** No source at all is awaited. */
  readonly isComplete: boolean;
}

export function observeAwaited(hub: Hub): Awaited {
  const members = new Map(hub.members().map((member) => [member.cluster, member]));
  const hasStrangers = hub.hasStrangers();
  return {
    // A source that is no member may still be one whose id we have not learned.
    isAwaited: (source) => {
      const member = members.get(source);
      return member === undefined ? hasStrangers : !member.isComplete;
    },
    isComplete: !hasStrangers && [...members.values()].every((member) => member.isComplete),
  };
}
