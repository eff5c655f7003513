// Client: notices that a connection has gone silent. Cheap to feed: bytes move a mark, only the mark moves the timer.

import type { Clock, Timer } from "../ports/clock.ts";

export interface Watchdog {
  readonly feed: () => void;
  readonly stop: () => void;
}

/** Calls back once, after `silenceMs` without being fed. */
export function createWatchdog(clock: Clock, silenceMs: number, onSilence: () => void): Watchdog {
  let fedAt = clock.monotonic();
  let timer: Timer = clock.schedule(silenceMs, check);

  function check(): void {
    const left = fedAt + silenceMs - clock.monotonic();
    if (left <= 0) onSilence();
    else timer = clock.schedule(left, check);
  }
  return {
    feed: () => {
      fedAt = clock.monotonic();
    },
    stop: () => timer.cancel(),
  };
}
