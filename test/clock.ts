// Test double: a clock that stands still until a test moves it. Timers fire in order of their due time, and between two
// of them every promise that can settle does; nothing depends on real time.

import type { Clock, Timer } from "../src/ports/clock.ts";

interface PendingTimer {
  readonly dueAt: number;
  readonly order: number;
  readonly callback: () => void;
}

/** More timers than this at one instant is a loop that would never end. */
const MOST_TIMERS_AT_ONE_INSTANT = 100_000;

export class VirtualClock implements Clock {
  #monotonicMs = 1_000;
  /** Not the monotonic start, so that code which mixes the two goes wrong visibly. */
  #wallMs: number;
  #order = 0;
  #timers: PendingTimer[] = [];

  constructor(wallStart = "2026-01-01T00:00:00Z") {
    this.#wallMs = Date.parse(wallStart);
  }

  now(): number {
    return this.#wallMs;
  }

  monotonic(): number {
    return this.#monotonicMs;
  }

  schedule(delayMs: number, callback: () => void): Timer {
    if (!Number.isFinite(delayMs))
      throw new RangeError(`a timer needs a finite delay, not ${delayMs}`);
    const timer = {
      dueAt: this.#monotonicMs + Math.max(0, delayMs),
      order: this.#order++,
      callback,
    };
    this.#timers.splice(this.#placeOf(timer), 0, timer);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((pending) => pending !== timer);
      },
    };
  }

  /** Timers that wait: zero after everything has been stopped. */
  get pendingTimers(): number {
    return this.#timers.length;
  }

  /** Moves the wall clock only, as an administrator or NTP would. */
  stepWall(ms: number): void {
    this.#wallMs += ms;
  }

  /** Moves both clocks on, firing what falls due on the way; resolves when nothing more can happen at that time. */
  async advance(ms: number): Promise<void> {
    const until = this.#monotonicMs + ms;
    await settle();
    let atThisInstant = 0;
    for (;;) {
      const next = this.#timers[0];
      if (next === undefined || next.dueAt > until) break;
      atThisInstant = next.dueAt > this.#monotonicMs ? 0 : atThisInstant + 1;
      if (atThisInstant > MOST_TIMERS_AT_ONE_INSTANT) throw new Error("timers loop without time");
      this.#moveTo(next.dueAt);
      this.#timers.shift();
      next.callback();
      await settle();
    }
    this.#moveTo(until);
  }

  #moveTo(monotonicMs: number): void {
    this.#wallMs += monotonicMs - this.#monotonicMs;
    this.#monotonicMs = monotonicMs;
  }

  /** Behind every timer that is due no later: first scheduled, first fired. */
  #placeOf(timer: PendingTimer): number {
    let low = 0;
    let high = this.#timers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#timers[middle]?.dueAt ?? 0) <= timer.dueAt) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Resolves when every promise job that is ready has run: Node empties them all before the next immediate. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
