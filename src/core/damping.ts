// Liveness: when a member went out of use in, whether it does so too often to be relied upon out. As BGP damps routes:
// each outage adds to a penalty, time halves it, and between two thresholds what was decided stands.
//
//   steady ──penalty ≥ 2000: three outages in some minutes──▶ flapping ──penalty ≤ 1000: quiet for 4 minutes at most──▶ steady

const OUTAGE_PENALTY = 1_000;
const DAMP_AT = 2_000;
const REUSE_AT = 1_000;
/** So that nobody is damped for longer than two half-lives after the last outage, however many there were. */
const CEILING = 4_000;
const HALF_LIFE_MS = 120_000;
/** What is left then would hardly change what the next outage leads to. */
const FORGET_AT = REUSE_AT / 2;

/** After the last outage nobody is flapping for longer than this. */
export const DAMPED_AT_MOST_MS = HALF_LIFE_MS * Math.log2(CEILING / REUSE_AT);
/** Nor remembered for longer than this, member or not: so the memory is bounded. */
export const REMEMBERED_AT_MOST_MS = HALF_LIFE_MS * Math.log2(CEILING / FORGET_AT);

/** Written at outages only: how often one looks in between makes no difference. */
export interface Outages {
  /** As it was right after the last outage. One more outage while flapping is above the upper threshold in any case. */
  readonly penalty: number;
  readonly lastAtMs: number;
}

export function addOutage(before: Outages | undefined, nowMs: number): Outages {
  const penalty = Math.min(CEILING, readPenalty(before, nowMs) + OUTAGE_PENALTY);
  return { penalty, lastAtMs: nowMs };
}

export function isFlapping(outages: Outages | undefined, nowMs: number): boolean {
  return (outages?.penalty ?? 0) >= DAMP_AT && readPenalty(outages, nowMs) > REUSE_AT;
}

export function isForgotten(outages: Outages, nowMs: number): boolean {
  return readPenalty(outages, nowMs) <= FORGET_AT;
}

function readPenalty(outages: Outages | undefined, nowMs: number): number {
  if (outages === undefined) return 0;
  return outages.penalty * 2 ** ((outages.lastAtMs - nowMs) / HALF_LIFE_MS);
}
