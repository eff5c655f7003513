// Adapter: real time and real chance behind the clock port. The only file that may read the machine's clock, set timers
// or draw random numbers; it never decides anything.

import type { Clock, Random, Timer } from "../ports/clock.ts";

/** Node fires timers beyond this at once instead of late. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule: scheduleTimer,
};

// oxlint-disable-next-line no-restricted-properties -- the adapter is where chance comes in
export const systemRandom: Random = () => Math.random();

function scheduleTimer(delayMs: number, callback: () => void): Timer {
  if (!Number.isFinite(delayMs))
    throw new RangeError(`a timer needs a finite delay, not ${delayMs}`);
  // A timer would take a millisecond: this comes as soon as sockets had their turn.
  if (delayMs <= 0) {
    const immediate = setImmediate(callback);
    return { cancel: () => clearImmediate(immediate) };
  }
  const dueAt = performance.now() + delayMs;
  let timeout: NodeJS.Timeout;
  const arm = (): void => {
    const leftMs = Math.max(0, Math.ceil(dueAt - performance.now()));
    timeout = setTimeout(fire, Math.min(leftMs, LONGEST_TIMER_MS));
  };
  // Node rounds timers down and may fire up to a millisecond early; the port promises "at least that long".
  const fire = (): void => {
    if (performance.now() < dueAt) arm();
    else callback();
  };
  arm();
  return { cancel: () => clearTimeout(timeout) };
}
