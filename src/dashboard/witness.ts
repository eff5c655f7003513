// Dashboard: who is listed and read at each look in, what of the next look is news out: what is seen for the first time because
// somebody answers at last was there before.

import type { Witness } from "../core/dashboard/timeline.ts";
import type { ClusterFeed } from "./clusterFeed.ts";
import type { HubFeed } from "./hubFeed.ts";
import type { Listed, Roll } from "./roll.ts";

/** What was known at one look. */
interface Knowledge {
  readonly listed: ReadonlyMap<string, Listed>;
  /** Ids. */
  readonly read: ReadonlySet<string>;
  readonly feeds: ReadonlySet<ClusterFeed>;
  /** The hub that has been read. */
  readonly hub: HubFeed | undefined;
}

/** Called at each look; what it answers compares it with the look before. */
export function createWitness(
  roll: Roll,
): (listed: readonly Listed[], hub: HubFeed | undefined) => Witness {
  let known: Knowledge = {
    listed: new Map(),
    read: new Set(),
    feeds: new Set(),
    hub: undefined,
  };
  return (listed, hub) => {
    const before = known;
    const byId = new Map(listed.map((one) => [one.id, one]));
    const isRead = ({ feed }: Listed): boolean =>
      (feed === undefined ? hub?.isRead() : feed.isRead()) === true;
    known = {
      listed: byId,
      read: new Set(listed.filter(isRead).map(({ id }) => id)),
      feeds: new Set(listed.flatMap(({ feed }) => (feed?.isRead() === true ? feed : []))),
      hub: hub?.isRead() === true || hub === before.hub ? hub : undefined,
    };
    const isSameHub = before.hub !== undefined && before.hub === hub;
    return {
      hasBeenRead: (id) => before.read.has(id),
      canBeRead: (id) => isSameHub || byId.get(id)?.feed?.isRead() === true,
      isMembershipKnown(id) {
        const { feed } = byId.get(id) ?? before.listed.get(id) ?? {};
        if (feed !== undefined) return before.feeds.has(feed);
        return isSameHub;
      },
      isDoubtful(id) {
        const found = byId.get(id);
        return found !== undefined && roll.isDoubtful(found, hub);
      },
    };
  };
}
