// Hub: when a member was in order and when not in, whether the others still wait for it out. What they waited is counted
// together over all its disorders: a member that goes in and out of order must not hold up the others for ever.
//
//   in order ─────────────▶ awaited ────── all patience spent ──────▶ not awaited
//      ▲   ◀── in order ──────┘                                           │
//      └────────────── in order; after an hour of it all is forgiven ─────┘

export interface Conduct {
  readonly isInOrder: boolean;
  readonly sinceMs: number;
  /** Of the patience with it, by disorders that are over. */
  readonly spentMs: number;
}

const PATIENCE_MS = 10 * 60_000;
/** The least that a disorder costs: each makes the others look at everything. */
const DISORDER_MS = 10_000;
/** Much longer than the patience, so that two things out of order by turns cannot be forgiven by turns. */
const FORGIVEN_AFTER_MS = 60 * 60_000;

/** `before` is undefined for a member that is new. */
export function noteConduct(
  before: Conduct | undefined,
  isInOrder: boolean,
  nowMs: number,
): Conduct {
  if (before === undefined) return { isInOrder, sinceMs: nowMs, spentMs: 0 };
  if (before.isInOrder === isInOrder) return before;
  const lastedMs = nowMs - before.sinceMs;
  if (isInOrder) {
    const spentMs = before.spentMs + Math.max(lastedMs, DISORDER_MS);
    return { isInOrder, sinceMs: nowMs, spentMs };
  }
  return { isInOrder, sinceMs: nowMs, spentMs: lastedMs < FORGIVEN_AFTER_MS ? before.spentMs : 0 };
}

/** How much longer it is waited for: 0 when it is not. */
export function awaitedForMs({ isInOrder, sinceMs, spentMs }: Conduct, nowMs: number): number {
  return isInOrder ? 0 : Math.max(0, PATIENCE_MS - spentMs - (nowMs - sinceMs));
}
