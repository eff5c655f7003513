// Dashboard: what is known of one cluster in, how it is shown out: whether it is alive, by what that is told, what to do. Words
// hold no ages, so that they change only when something does.

import type { ClusterState } from "../../dashboard/state.ts";
import type { Liveness } from "../liveness.ts";

/** How a cluster is heard: by its Lease on the hub, or by its API server's answers. */
export interface Hearing {
  readonly by: "lease" | "answers";
  /** As it is judged by whoever is silent for how long. */
  readonly liveness: Liveness;
  /** Heard since we look: before that its liveness is a guess. */
  readonly isHeard: boolean;
  /** It is not heard lately, and neither are most others: then nobody is judged. */
  readonly isDoubtful: boolean;
  /** When it was last heard, or when we began to listen: a wall clock, as people read it. */
  readonly since: string;
}

export interface ClusterFacts {
  readonly id: string;
  /** Undefined: nobody can tell, and `problem` says why. */
  readonly hearing: Hearing | undefined;
  /** Why it does not answer now, or cannot be heard. */
  readonly problem: string | undefined;
  /** Its Lease on the hub; undefined when it has none. */
  readonly lease: { readonly isNew: boolean; readonly looksRecent: boolean } | undefined;
  /** Why it is drained. */
  readonly drained: string | undefined;
  readonly leaseAgeSeconds: number | undefined;
  readonly version: string | undefined;
  readonly region: string | undefined;
  readonly zones: readonly string[];
  readonly exports: number | undefined;
  readonly imports: number | undefined;
  readonly problems: readonly string[];
}

export function describeCluster(facts: ClusterFacts): ClusterState {
  const { id, leaseAgeSeconds, version, region, zones, exports, imports, problems } = facts;
  return {
    id,
    ...judge(facts),
    ...(leaseAgeSeconds === undefined ? {} : { leaseAgeSeconds }),
    ...(version === undefined ? {} : { version }),
    ...(region === undefined ? {} : { region }),
    zones,
    ...(exports === undefined ? {} : { exports }),
    ...(imports === undefined ? {} : { imports }),
    problems,
  };
}

type Judgement = Pick<ClusterState, "liveness" | "why" | "next">;

function judge(facts: ClusterFacts): Judgement {
  const { hearing } = facts;
  if (hearing === undefined) {
    return { liveness: "unknown", why: facts.problem ?? "It has not been asked yet." };
  }
  const { liveness, by, isDoubtful } = hearing;
  if (liveness === "silent" || liveness === "lost") return judgeSilent(facts, hearing);
  if (isDoubtful) return judgeDoubtful(hearing);
  if (liveness === "drained") {
    return {
      liveness,
      why: `It asks the others to go elsewhere: ${facts.drained ?? "no reason given"}.`,
      next: `"isthmus undrain ${facts.id}" ends it.`,
    };
  }
  if (liveness === "flapping") {
    return {
      liveness,
      why: "It is heard, but came and went too often of late: its endpoints are used only where nobody else has any.",
      next: "It is used again after up to four quiet minutes.",
    };
  }
  if (by === "lease") return judgeLease(facts);
  const why =
    facts.problem === undefined
      ? "Its API server answers."
      : `Its API server has not answered since ${hearing.since}. ${facts.problem}`;
  return { liveness, why };
}

function judgeDoubtful({ by, since }: Hearing): Judgement {
  return {
    liveness: "unknown",
    why: `It has not been heard since ${since}, nor have most others: it may as well be this dashboard that is cut off. Nobody is given up for that.`,
    next:
      by === "lease"
        ? "Look at the hub: do the agents reach it?"
        : "Look at the network between here and the clusters; traffic does not pass here.",
  };
}

/** Whether it is renewed shows only in its changing. */
function judgeLease({ id, hearing, lease }: ClusterFacts): Judgement {
  if (hearing?.isHeard === true) return { liveness: "live", why: "Its agent renews its lease." };
  const next = `Start the agent of ${id}, or look in its log for "agent is in trouble".`;
  if (lease?.isNew === true) {
    const why = "It has joined, but its agent has never renewed its lease.";
    return { liveness: "unknown", why, next };
  }
  return lease?.looksRecent === true
    ? { liveness: "live", why: "Its lease was renewed lately, by its own clock." }
    : {
        liveness: "unknown",
        why: "Its lease is old by its own clock. Whether that clock is wrong or its agent does not run shows within seconds.",
      };
}

function judgeSilent({ id, problem }: ClusterFacts, { by, liveness, since }: Hearing): Judgement {
  const treated =
    liveness === "lost"
      ? "Others have none of its endpoints"
      : "Others keep its endpoints not ready";
  if (by === "lease") {
    return {
      liveness,
      why: `Its lease has not been renewed since ${since}, as seen from here. ${treated}.`,
      next: `Start the agent of ${id}, or look in its log for "agent is in trouble": it has to reach its own API server and the hub.`,
    };
  }
  return {
    liveness,
    why: `Its API server has not answered since ${since}, as seen from here.${problem === undefined ? "" : ` ${problem}`}`,
    next: `Bring ${id} back, or the way from here to its API server: its endpoints are used again within seconds.`,
  };
}
