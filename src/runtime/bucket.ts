// A token bucket: how many runs may start now, and if none, in how long. It never waits itself.

import type { Clock } from "../ports/clock.ts";

export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

export interface TokenBucket {
  /** Takes a token and answers 0, or takes none and answers after how many milliseconds to ask again. */
  take(): number;
}

export function createTokenBucket(limit: RateLimit, clock: Clock): TokenBucket {
  if (!(limit.perSecond > 0) || !(limit.burst >= 1)) {
    throw new RangeError("a rate limit needs a rate above 0 and a burst of at least 1");
  }
  let tokens = limit.burst;
  let filledAtMs = clock.monotonic();
  return {
    take() {
      const now = clock.monotonic();
      tokens = Math.min(limit.burst, tokens + ((now - filledAtMs) * limit.perSecond) / 1_000);
      filledAtMs = now;
      if (tokens >= 1) {
        tokens -= 1;
        return 0;
      }
      // Whole milliseconds: a sliver of one can be too small to move a clock that has run for months.
      return Math.ceil(((1 - tokens) * 1_000) / limit.perSecond);
    },
  };
}
