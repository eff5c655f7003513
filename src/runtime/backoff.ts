// How long to wait after a failure: from a policy, a count of failures and a drawn number to milliseconds.
// Never waits itself.

import type { Random } from "../ports/clock.ts";
import { isStoreError } from "../ports/store.ts";

export interface BackoffPolicy {
  readonly baseMs: number;
  readonly capMs: number;
}

/** A server that asks for more than this is wrong, or not one to obey. */
export const LONGEST_RETRY_AFTER_MS = 10 * 60_000;

/** Doubles per failure from base to cap, the upper half of it drawn by chance so that many clients spread out. */
export function backoffMs(policy: BackoffPolicy, failures: number, random: Random): number {
  // The exponent is bounded: 2 ** 1024 is Infinity, and Infinity times zero is not a delay.
  const full = Math.min(policy.capMs, policy.baseMs * 2 ** Math.min(Math.max(0, failures - 1), 60));
  return full / 2 + (full / 2) * random();
}

/** What the server asked for, plus up to a tenth so that those it turned away do not come back together; else 0. */
export function retryAfterMs(error: unknown, random: Random): number {
  const seconds = isStoreError(error) ? error.retryAfterSeconds : undefined;
  if (seconds === undefined || !(seconds > 0)) return 0;
  return Math.min(seconds * 1_000, LONGEST_RETRY_AFTER_MS) * (1 + 0.1 * random());
}
