// Liveness: how long each member has been silent in, whether its endpoints may be used out (R65, R66).
//
//   live ──silent for unreadyAfterMs──▶ silent (endpoints not ready) ──withdrawAfterMs──▶ lost (endpoints gone)
//     ▲                                        │                                            │
//     └────────────────────── heard again ─────┴────────────────────────────────────────────┘
//     ▼ too often
//   flapping (endpoints not ready while others have some) ──quiet for a while──▶ live
//
//   drained: live or flapping, and it asks the others to go elsewhere, which they do as they leave who flaps. Not a fault:
//   who is drained may be stopped and started as often as it takes, and is no less trusted afterwards.
//
// Nobody is judged worse while it may be we who are cut off:
// - One member of a fleet (`self`) knows by its own heartbeat. When that does not come back to it from the hub, or the hub
//   does not know it, then it cannot hear the others either.
// - Most members silent at once, ourselves counted as heard where we are one: far more likely something between them and us
//   failed, and their pods are well. With two members the other is never "most": our own heartbeat came back, so it is a
//   loss. Of three, two at once are most; of four, two are not, because half is what one region of two is; of five, three
//   are. That a hub takes our heartbeat and nobody else's looks the same as their death, and is as rare: the guard holds
//   for that too, from three members on. If most are really gone, evict them.

import type { ClusterId } from "../api/names.ts";
import { addOutage, isFlapping, isForgotten, type Outages } from "./damping.ts";

export type Liveness = "live" | "flapping" | "drained" | "silent" | "lost";

export interface LivenessPolicy {
  readonly unreadyAfterMs: number;
  readonly withdrawAfterMs: number;
}

export const DEFAULT_LIVENESS: LivenessPolicy = { unreadyAfterMs: 20_000, withdrawAfterMs: 30_000 };
/** Who was heard within it is there: a few heartbeats long. */
export const LATELY_MS = DEFAULT_LIVENESS.unreadyAfterMs / 2;

/** `silentMs` is measured on the judge's own monotonic clock; clocks of clusters are never compared. */
export interface MemberContact {
  readonly cluster: ClusterId;
  readonly silentMs: number;
  /** By its own last word. */
  readonly isDrained?: boolean;
}

export interface LivenessInput {
  readonly contacts: readonly MemberContact[];
  /** The member that judges, if it is one. It never loses itself: not to hear itself is to be cut off. */
  readonly self?: ClusterId;
  readonly policy: LivenessPolicy;
  /** Monotonic. */
  readonly nowMs: number;
}

/** The verdict, and what has to be remembered until the next. */
export interface Judged {
  readonly liveness: ReadonlyMap<ClusterId, Liveness>;
  /** Of those that had some lately. */
  readonly outages: ReadonlyMap<ClusterId, Outages>;
  /** When we were last cut off: silence before that says nothing about anybody. */
  readonly cutOffAtMs: number;
}

export const NOTHING_JUDGED: Judged = {
  liveness: new Map(),
  outages: new Map(),
  cutOffAtMs: -Infinity,
};

const WORSE_AND_WORSE: readonly Liveness[] = ["live", "flapping", "drained", "silent", "lost"];

/** While we are cut off, everything stays as it was judged before, but for those who are heard. */
export function judgeLiveness(input: LivenessInput, before: Judged): Judged {
  const { contacts, nowMs } = input;
  const cutOffAtMs = isCutOff(input, before.liveness) ? nowMs : before.cutOffAtMs;
  const outages = new Map([...before.outages].filter(([, known]) => !isForgotten(known, nowMs)));
  const liveness = new Map<ClusterId, Liveness>();
  for (const contact of contacts) {
    const { cluster, isDrained = false } = contact;
    const known = recall(before, cluster);
    const judged = judgeContact(contact, input.policy, { known, hearingMs: nowMs - cutOffAtMs });
    if (isOutage(known, judged) && !isDrained)
      outages.set(cluster, addOutage(before.outages.get(cluster), nowMs));
    const isDamped = judged === "live" && isFlapping(outages.get(cluster), nowMs);
    liveness.set(cluster, overlayDrain(isDamped ? "flapping" : judged, isDrained));
  }
  return { liveness, outages, cutOffAtMs };
}

/** Worse than to be drained is only not to be there. */
export function overlayDrain(liveness: Liveness, isDrained: boolean): Liveness {
  return isDrained && !isOut(liveness) ? "drained" : liveness;
}

/** Whether somebody is drained is what it says now, and nothing to remember. */
function recall({ liveness }: Judged, cluster: ClusterId): Liveness {
  const known = liveness.get(cluster) ?? "live";
  return known === "drained" ? "live" : known;
}

/**
 * Half the time counts already, because members are heard in turn: the first would be judged before the others are
 * noticed. Who was lost before says nothing: else one cluster that is gone for good would hide the loss of the next.
 */
export function isCutOff(
  { contacts, self, policy }: LivenessInput,
  before: ReadonlyMap<ClusterId, Liveness>,
): boolean {
  const isHeard = ({ silentMs }: MemberContact): boolean => silentMs * 2 < policy.unreadyAfterMs;
  if (self !== undefined && !contacts.some((one) => one.cluster === self && isHeard(one))) {
    return true;
  }
  const asked = contacts.filter((one) => before.get(one.cluster) !== "lost" || isHeard(one));
  const quiet = asked.filter((one) => !isHeard(one)).length;
  return quiet * 2 > asked.length;
}

function judgeContact(
  { silentMs }: MemberContact,
  policy: LivenessPolicy,
  facts: { readonly known: Liveness; readonly hearingMs: number },
): Liveness {
  if (judgeSilence(silentMs, policy) === "live") return "live";
  return worse(judgeSilence(Math.min(silentMs, facts.hearingMs), policy), facts.known);
}

/** Only being heard makes it better. */
function worse(a: Liveness, b: Liveness): Liveness {
  return WORSE_AND_WORSE.indexOf(a) > WORSE_AND_WORSE.indexOf(b) ? a : b;
}

function judgeSilence(silentMs: number, policy: LivenessPolicy): Liveness {
  if (silentMs >= policy.withdrawAfterMs) return "lost";
  return silentMs >= policy.unreadyAfterMs ? "silent" : "live";
}

/** From the moment that its endpoints are not ready: who is back just before it is lost flaps no less. */
function isOutage(before: Liveness, now: Liveness): boolean {
  return isOut(now) && !isOut(before);
}

function isOut(liveness: Liveness): boolean {
  return liveness === "silent" || liveness === "lost";
}
