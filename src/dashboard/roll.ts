// Dashboard: when each cluster was heard, by its Lease or by its answers, in; how each is shown out. The same rules as those of
// agents and central (src/core/liveness.ts), on the clock of this process.

import type { ClusterId } from "../api/names.ts";
import { type ClusterFacts, describeCluster, type Hearing } from "../core/dashboard/cluster.ts";
import {
  judgeLiveness,
  type Judged,
  type LivenessPolicy,
  type MemberContact,
  NOTHING_JUDGED,
} from "../core/liveness.ts";
import { type Clock, formatTime } from "../ports/clock.ts";
import type { ClusterFeed } from "./clusterFeed.ts";
import type { HubFeed, MemberFact } from "./hubFeed.ts";
import type { ClusterState } from "./state.ts";

/** One cluster: asked itself, known by the hub, or both. */
export interface Listed {
  readonly id: string;
  readonly feed: ClusterFeed | undefined;
  readonly member: MemberFact | undefined;
  /** Its id is taken by another: it takes part in nothing. */
  readonly isDouble: boolean;
}

export interface Roll {
  /** Judges everybody anew. */
  look(listed: readonly Listed[], hub: HubFeed | undefined): void;
  show(listed: Listed, hub: HubFeed | undefined): ClusterState;
  /** Not heard lately, whether or not it is given up. */
  isDoubtful(listed: Listed, hub: HubFeed | undefined): boolean;
}

export function createRoll(options: {
  readonly clock: Clock;
  readonly policy: LivenessPolicy;
}): Roll {
  const { clock, policy } = options;
  let byLease: Judged = NOTHING_JUDGED;
  let byAnswers: Judged = NOTHING_JUDGED;

  function hear(listed: Listed, hub: HubFeed | undefined): Heard | undefined {
    const lease = listed.member === undefined ? undefined : hub?.leaseOf(listed.id);
    const isDrained = drainOf(listed) !== undefined;
    const cluster = listed.id as ClusterId;
    if (lease !== undefined) {
      const { silentMs, isHeard, sinceMs } = lease;
      return { by: "lease", isHeard, sinceMs, contact: { cluster, silentMs, isDrained } };
    }
    if (listed.feed === undefined || listed.isDouble) return undefined;
    const { silentMs, isHeard, sinceMs } = listed.feed.contact();
    return { by: "answers", isHeard, sinceMs, contact: { cluster, silentMs, isDrained } };
  }

  function describe(heard: Heard): Hearing {
    const { by, isHeard, contact, sinceMs } = heard;
    const judged = by === "lease" ? byLease : byAnswers;
    const liveness = judged.liveness.get(contact.cluster) ?? "live";
    const isGivenUp = liveness === "silent" || liveness === "lost";
    return {
      by,
      liveness,
      isHeard,
      isDoubtful: contact.silentMs >= policy.unreadyAfterMs && !isGivenUp,
      since: formatTime(sinceMs),
    };
  }

  return {
    look(everybody, hub) {
      const heard = everybody.flatMap((listed) => hear(listed, hub) ?? []);
      const of = (by: Hearing["by"]): readonly MemberContact[] =>
        heard.flatMap((one) => (one.by === by ? one.contact : []));
      const nowMs = clock.monotonic();
      byLease = judgeLiveness({ contacts: of("lease"), policy, nowMs }, byLease);
      byAnswers = judgeLiveness({ contacts: of("answers"), policy, nowMs }, byAnswers);
    },
    show(listed, hub) {
      const { id, feed, member } = listed;
      const heard = hear(listed, hub);
      const lease = member === undefined ? undefined : hub?.leaseOf(id);
      const problems = [...(feed?.problems() ?? []), ...(listed.isDouble ? [double(listed)] : [])];
      const counts = feed?.counts();
      const facts: ClusterFacts = {
        id,
        // Whoever has never answered is not taken for alive.
        hearing:
          heard === undefined || (heard.by === "answers" && !heard.isHeard && !isGone(heard))
            ? undefined
            : describe(heard),
        problem: explainSilence(listed, problems),
        lease,
        drained: drainOf(listed),
        leaseAgeSeconds: lease?.isHeard === true ? Math.round(lease.silentMs / 1_000) : undefined,
        version: member?.version,
        region: member?.region,
        zones: member?.zones ?? [],
        exports: counts?.exports ?? (member === undefined ? undefined : hub?.exportsOf(id)),
        imports: counts?.imports,
        problems,
      };
      return describeCluster(facts);
    },
    isDoubtful(listed, hub) {
      const heard = hear(listed, hub);
      if (heard === undefined) return false;
      const isFailing = heard.by === "answers" && listed.feed?.failure() !== undefined;
      return isFailing || heard.contact.silentMs * 2 >= policy.unreadyAfterMs;
    },
  };

  function isGone({ contact }: Heard): boolean {
    return contact.silentMs >= policy.unreadyAfterMs;
  }
}

interface Heard {
  readonly by: Hearing["by"];
  readonly isHeard: boolean;
  /** Wall clock. */
  readonly sinceMs: number;
  readonly contact: MemberContact;
}

/** Why it is not heard just now; undefined while it is, or when nobody has been asked. */
function explainSilence(
  { feed, member, isDouble }: Listed,
  problems: readonly string[],
): string | undefined {
  if (isDouble || feed?.failure() !== undefined) return problems.at(isDouble ? -1 : 0);
  return member === undefined || feed !== undefined ? undefined : "It has no lease on the hub.";
}

/** By its own word, else by what its agent told the hub. */
function drainOf({ feed, member }: Listed): string | undefined {
  return feed === undefined || feed.failure() !== undefined ? member?.drained : feed.drained();
}

function double({ id, feed }: Listed): string {
  return `${id} goes by the id "${feed?.id() ?? ""}", which another cluster named before has, too. Name each cluster once, and give each an id of its own.`;
}
