// Runs one attempt that may never end: within a bound, and until told to stop. The attempt's signal is aborted in any
// case when this returns, so what the attempt does later can be recognised and ignored.

import type { Clock } from "../ports/clock.ts";
import { StoreError } from "../ports/store.ts";

export interface Bound {
  readonly clock: Clock;
  readonly boundMs: number;
  readonly stop: AbortSignal;
}

/** One for all: who aborts without a reason has an exception made, for every request. */
const OVER = new Error("the attempt is over");

/** Rejects with a StoreError "Timeout" past the bound, and with the stop signal's reason once that aborts. */
export async function runBounded<X>(
  { clock, boundMs, stop }: Bound,
  attempt: (signal: AbortSignal) => Promise<X>,
): Promise<X> {
  stop.throwIfAborted();
  const abort = new AbortController();
  const leave: (() => void)[] = [];
  const cut = new Promise<never>((_, reject) => {
    const onStop = (): void => reject(stop.reason);
    stop.addEventListener("abort", onStop, { once: true });
    const timer = clock.schedule(boundMs, () => {
      reject(new StoreError("Timeout", `no end after ${Math.round(boundMs / 1_000)} s`));
    });
    leave.push(
      () => stop.removeEventListener("abort", onStop),
      () => timer.cancel(),
    );
  });
  try {
    return await Promise.race([attempt(abort.signal), cut]);
  } finally {
    for (const each of leave) each();
    abort.abort(OVER);
  }
}
