// CLI: a question to a cluster's API server in, its answer out, however long the server is away. Whatever does not pass by
// itself is thrown.

import { sleep } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { isStoreError } from "../ports/store.ts";
import { backoffMs } from "../runtime/backoff.ts";
import type { CliContext } from "./context.ts";

const BACKOFF = { baseMs: 500, capMs: 15_000 };
/** What passes by itself: the API server will be there some day. */
const WORTH_WAITING = [
  "Unreachable",
  "Timeout",
  "Unavailable",
  "Internal",
  "TooManyRequests",
] as const;

export async function askUntilAnswered<X>(
  { clock, random }: Pick<CliContext, "clock" | "random">,
  { log, signal }: { readonly log: Log; readonly signal: AbortSignal },
  ask: () => Promise<X>,
): Promise<X> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await ask();
    } catch (error) {
      signal.throwIfAborted();
      if (!isStoreError(error, ...WORTH_WAITING)) throw error;
      log.warn("cluster does not answer yet", { error: error.message });
      await sleep(clock, backoffMs(BACKOFF, failures, random), signal);
    }
  }
}
