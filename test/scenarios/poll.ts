// Scenario suite: waits for what a control plane does by itself, as long as it takes and no longer than the bound.

import { setTimeout as pause } from "node:timers/promises";

/** Ends a hang and says nothing of speed: a machine may have no time for seconds on end. */
const BOUND_MS = 60_000;
const POLL_MS = 25;

/** `sentence` says what is expected, in words; it heads the failure. Answers what the assertion answers. */
export async function eventually<T>(
  sentence: string,
  assertion: () => Promise<T> | T,
  boundMs = BOUND_MS,
): Promise<T> {
  const giveUpAt = performance.now() + boundMs;
  for (;;) {
    try {
      return await assertion();
    } catch (error) {
      if (performance.now() > giveUpAt) {
        const last = error instanceof Error ? error.message : String(error);
        throw new Error(`not within ${boundMs / 1000} s: ${sentence}\n${last}`, { cause: error });
      }
    }
    await pause(POLL_MS);
  }
}
