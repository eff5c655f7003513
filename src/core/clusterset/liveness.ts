// Clusterset: one cluster and how others treat its endpoints in, whether it is alive as far as that can be told out, and by
// what. Clocks of clusters are never compared: the age of a Lease is told as what it is, and judged only by its changing.

import type { ClusterId } from "../../api/names.ts";
import { DEFAULT_LIVENESS, type Liveness } from "../liveness.ts";
import { type ClusterRecord, type Clusterset, drainOf, hasAnswered, isJoined } from "./record.ts";
import { formatAge, parseTimeMs } from "./time.ts";

export interface LeaseView {
  readonly renewedAt: string;
  /** From the member's clock to that of the machine that looked: wrong by as much as these differ. */
  readonly ageSeconds: number;
}

export interface LivenessView {
  readonly liveness: Liveness | "unknown";
  /** A sentence: by what it is told. */
  readonly why: string;
  readonly next?: string;
}

/** Renewed every five seconds or so: who does not within this is not at work. */
const WATCHED_ENOUGH_MS = 12_000;

export function readLease(set: Clusterset, record: ClusterRecord): LeaseView | undefined {
  const renewedAt = record.lease?.spec?.renewTime;
  const atMs = parseTimeMs(renewedAt);
  if (renewedAt === undefined || atMs === undefined) return undefined;
  return { renewedAt, ageSeconds: Math.round((set.observation.nowMs - atMs) / 1_000) };
}

/** The cluster is there, as far as anything but the endpoints of others shows it. */
export function isHeard(set: Clusterset, record: ClusterRecord): boolean {
  const heard = set.observation.hub === undefined ? undefined : judgeLease(set, record);
  return heard !== undefined && isJoined(record) ? heard.liveness === "live" : hasAnswered(record);
}

/** `standings` are those of as many services as were looked at. */
export function judgeCluster(
  set: Clusterset,
  record: ClusterRecord,
  standings: readonly Opinion[],
): LivenessView {
  const judged = judgeHeard(set, record, standings);
  const why = drainOf(record);
  if (why === undefined || (judged.liveness !== "live" && judged.liveness !== "flapping")) {
    return judged;
  }
  return {
    liveness: "drained",
    why: `It is drained (${why}): traffic goes elsewhere, but for what only ${record.id} serves.`,
    next: `When it is to be used again: isthmus undrain ${record.id}`,
  };
}

function judgeHeard(
  set: Clusterset,
  record: ClusterRecord,
  standings: readonly Opinion[],
): LivenessView {
  const { hub } = set.observation;
  const heard = hub === undefined ? undefined : judgeLease(set, record);
  const doubters = findDoubters(record.id, standings);
  const [doubter] = doubters;
  if (doubter !== undefined) return judgeDoubted(record, doubter);
  if (heard !== undefined && isJoined(record)) return heard;
  if (hasAnswered(record)) return { liveness: "live", why: "Its API server answers." };
  if (record.sighting === undefined) {
    return { liveness: "unknown", why: "Only the hub was asked about it." };
  }
  return {
    liveness: "unknown",
    why: record.sighting.problems[0] ?? "It did not answer.",
    next: `If ${record.id} itself is well, check the kubeconfig and the network from here; traffic does not pass this machine.`,
  };
}

/** As much of a Standing as it takes. */
interface Opinion {
  readonly importer: ClusterRecord;
  readonly judged: ReadonlyMap<ClusterId, Liveness>;
}

interface Doubter {
  readonly cluster: ClusterId;
  readonly liveness: "flapping" | "silent" | "lost";
}

/** Others that keep its endpoints not ready, or took them away. The worst first. */
function findDoubters(source: ClusterId, standings: readonly Opinion[]): readonly Doubter[] {
  return standings
    .flatMap(({ importer, judged }): Doubter[] => {
      const liveness = judged.get(source);
      if (liveness === undefined || liveness === "live" || liveness === "drained") return [];
      return [{ cluster: importer.id, liveness }];
    })
    .toSorted((a, b) => Number(b.liveness === "lost") - Number(a.liveness === "lost"));
}

function judgeDoubted(record: ClusterRecord, doubter: Doubter): LivenessView {
  const { cluster, liveness } = doubter;
  if (liveness === "flapping") {
    return {
      liveness,
      why: `${record.id} is heard, but ${cluster} keeps its endpoints not ready.`,
      next: `Who comes back is used again within seconds, and who came and went three times in two minutes after up to four quiet ones. If it lasts longer, look at the agent of ${cluster}.`,
    };
  }
  const who = isJoined(record) ? `its agent` : `its API server`;
  const treats =
    liveness === "lost" ? "has none of its endpoints any more" : "keeps its endpoints not ready";
  const unanswered = hasAnswered(record) ? "" : (record.sighting?.problems[0] ?? "");
  return {
    liveness,
    why: `${cluster} ${treats}: ${who} was not heard for ${limitSeconds(liveness)} s. ${unanswered}`.trim(),
    next: isJoined(record)
      ? `Start the agent of ${record.id}, or look in its log for "agent is in trouble": it has to reach its own API server and the hub.`
      : `Bring ${record.id} back, or the way from isthmus central to its API server: its endpoints return within seconds.`,
  };
}

function limitSeconds(liveness: "silent" | "lost"): number {
  const { unreadyAfterMs, withdrawAfterMs } = DEFAULT_LIVENESS;
  return (liveness === "lost" ? withdrawAfterMs : unreadyAfterMs) / 1_000;
}

/** Undefined when it has no Lease. */
function judgeLease(set: Clusterset, record: ClusterRecord): LivenessView | undefined {
  const { hub } = set.observation;
  if (record.member === undefined || record.lease === undefined || hub === undefined) {
    return undefined;
  }
  const lease = readLease(set, record);
  const next = `Start the agent of ${record.id}, or look in its log for "agent is in trouble".`;
  if (lease === undefined) {
    const why = "It has joined, but its agent has never renewed its lease.";
    return { liveness: "unknown", why, next };
  }
  const before = hub.before?.leases.find(({ metadata }) => metadata.name === record.id);
  if (before !== undefined && before.spec?.renewTime !== lease.renewedAt) {
    return { liveness: "live", why: "Its lease was renewed while this command watched." };
  }
  const watchedMs = hub.before?.elapsedMs ?? 0;
  if (before !== undefined && watchedMs >= WATCHED_ENOUGH_MS) {
    const why = `Its lease was not renewed in the ${Math.round(watchedMs / 1_000)} s that this command watched: its agent does not run, or does not reach the hub.`;
    return { liveness: "silent", why, next };
  }
  const age = formatAge(lease.ageSeconds * 1_000);
  if (Math.abs(lease.ageSeconds) * 1_000 < DEFAULT_LIVENESS.unreadyAfterMs) {
    return { liveness: "live", why: `Its lease was renewed ${age} ago by its own clock.` };
  }
  const why =
    lease.ageSeconds < 0
      ? `Its lease says that it was renewed ${formatAge(-lease.ageSeconds * 1_000)} from now: its clock and the one here differ.`
      : `Its lease was last renewed ${age} ago by its own clock: either its agent does not run, or that clock is wrong.`;
  return { liveness: "unknown", why, next };
}
