// Time of a simulated world: timers in, called back in the order they fall due out, with no real time in between. Between
// two of them every promise that can settle does. Clusters have wall clocks of their own on it, as wrong as wished.

import type { Clock, Timer } from "../src/ports/clock.ts";

interface Entry {
  readonly dueMs: number;
  readonly order: number;
  callback: (() => void) | undefined;
}

/** More timers than this at one instant is a loop that would never end. */
const MOST_TIMERS_AT_ONE_INSTANT = 100_000;
const WALL_START_MS = Date.parse("2026-01-01T00:00:00Z");
/** Taken before any guard is up. */
const soon = setImmediate;

export class SimTime {
  nowMs = 1_000;
  #order = 0;
  /** A binary heap. What is cancelled stays until its time has come. */
  readonly #heap: Entry[] = [];

  schedule(delayMs: number, callback: () => void): Timer {
    if (!Number.isFinite(delayMs)) {
      throw new RangeError(`a timer needs a finite delay, not ${delayMs}`);
    }
    const dueMs = this.nowMs + Math.max(0, Math.ceil(delayMs));
    const entry: Entry = { dueMs, order: this.#order++, callback };
    this.#push(entry);
    return {
      cancel: () => {
        entry.callback = undefined;
      },
    };
  }

  /** Resolves when nothing more can happen at or before that time. */
  async advanceTo(untilMs: number): Promise<void> {
    await settle();
    let atThisInstant = 0;
    for (;;) {
      const next = this.#heap[0];
      if (next === undefined || next.dueMs > untilMs) break;
      this.#pop();
      const { callback } = next;
      if (callback === undefined) continue;
      atThisInstant = next.dueMs > this.nowMs ? 0 : atThisInstant + 1;
      if (atThisInstant > MOST_TIMERS_AT_ONE_INSTANT) throw new Error("timers loop without time");
      this.nowMs = next.dueMs;
      callback();
      await settle();
    }
    this.nowMs = Math.max(this.nowMs, untilMs);
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || isSooner(parent, entry)) break;
      heap[at] = parent;
      at = above;
    }
    heap[at] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const child = heap[left];
      if (child === undefined) break;
      const right = heap[left + 1];
      const [below, next] =
        right !== undefined && isSooner(right, child) ? [left + 1, right] : [left, child];
      if (isSooner(last, next)) break;
      heap[at] = next;
      at = below;
    }
    heap[at] = last;
  }
}

/** First scheduled, first called, where both fall due at once. */
function isSooner(a: Entry, b: Entry): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}

/** How wrong one wall clock is; shared by everything on that machine, and changed while it runs. */
export interface Skew {
  ms: number;
}

/** A clock on that time. What a process scheduled before it died is never called back. */
export function createClock(
  time: SimTime,
  skew: Skew,
  process: { readonly isDead: boolean } = { isDead: false },
): Clock {
  return {
    now: () => WALL_START_MS + time.nowMs + skew.ms,
    monotonic: () => time.nowMs,
    schedule: (delayMs, callback) =>
      time.schedule(delayMs, () => {
        if (!process.isDead) callback();
      }),
  };
}

/** Resolves when every promise job that is ready has run: Node empties them all before the next immediate. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    soon(resolve);
  });
}
