// Time of a simulated world: timers in, called back in the order they fall due out, with no real time in between. Between
// two of them every promise that can settle does. Clusters have wall clocks of their own on it, as wrong as wished.

import type { Clock, Timer } from "../src/ports/clock.ts";

/** Of a process: what one scheduled before it died is never called back. */
interface Life {
  readonly isDead: boolean;
}

class Entry implements Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly #life: Life | undefined;
  #callback: (() => void) | undefined;

  constructor(
    due: { readonly ms: number; readonly order: number },
    callback: () => void,
    life: Life | undefined,
  ) {
    this.dueMs = due.ms;
    this.order = due.order;
    this.#callback = callback;
    this.#life = life;
  }

  /** Undefined when nobody waits for it any more. */
  get callback(): (() => void) | undefined {
    return this.#life?.isDead === true ? undefined : this.#callback;
  }

  cancel(): void {
    this.#callback = undefined;
  }
}

/** More timers than this at one instant is a loop that would never end. */
const MOST_TIMERS_AT_ONE_INSTANT = 100_000;
const WALL_START_MS = Date.parse("2026-01-01T00:00:00Z");
/** How many turns are asked for at once, at first and at most: too many are taken for nothing when time has come. */
const FEWEST_TURNS = 4;
const MOST_TURNS = 128;
/** Taken before any guard is up. */
const soon = setImmediate;

export class SimTime {
  nowMs = 1_000;
  #order = 0;
  #atThisInstant = 0;
  /** A binary heap. What is cancelled stays until its time has come. */
  readonly #heap: Entry[] = [];

  schedule(delayMs: number, callback: () => void, life?: Life): Timer {
    if (!Number.isFinite(delayMs)) {
      throw new RangeError(`a timer needs a finite delay, not ${delayMs}`);
    }
    const ms = this.nowMs + Math.max(0, Math.ceil(delayMs));
    const entry = new Entry({ ms, order: this.#order++ }, callback, life);
    this.#push(entry);
    return entry;
  }

  /**
   * Resolves when nothing more can happen at or before that time. One timer is called back in each turn: Node empties all
   * promise jobs between two immediates, and takes those that were asked for together without a look at the operating
   * system in between, which costs more than most timers do.
   */
  advanceTo(untilMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      let turns = FEWEST_TURNS;
      let left = 0;
      let isOver = false;
      const turn = (): void => {
        left -= 1;
        if (isOver) return;
        try {
          isOver = !this.#callNext(untilMs);
          if (isOver) resolve();
          else if (left === 0) askForTurns();
        } catch (error) {
          isOver = true;
          reject(error);
        }
      };
      const askForTurns = (): void => {
        left = turns;
        for (let each = 0; each < left; each += 1) soon(turn);
        turns = Math.min(turns * 2, MOST_TURNS);
      };
      askForTurns();
    });
  }

  /** Lets go of what nobody waits for any more: until its time came it would hold whatever it was to call. */
  forgetDead(): void {
    const living = this.#heap.filter(({ callback }) => callback !== undefined);
    this.#heap.length = 0;
    for (const entry of living) this.#push(entry);
  }

  /** False when there is none left until then; then it is that time. */
  #callNext(untilMs: number): boolean {
    for (;;) {
      const next = this.#heap[0];
      if (next === undefined || next.dueMs > untilMs) break;
      this.#pop();
      const { callback } = next;
      if (callback === undefined) continue;
      this.#atThisInstant = next.dueMs > this.nowMs ? 0 : this.#atThisInstant + 1;
      if (this.#atThisInstant > MOST_TIMERS_AT_ONE_INSTANT) {
        throw new Error("timers loop without time");
      }
      this.nowMs = next.dueMs;
      callback();
      return true;
    }
    this.nowMs = Math.max(this.nowMs, untilMs);
    return false;
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
export function createClock(time: SimTime, skew: Skew, process?: Life): Clock {
  return {
    now: () => WALL_START_MS + time.nowMs + skew.ms,
    monotonic: () => time.nowMs,
    schedule: (delayMs, callback) => time.schedule(delayMs, callback, process),
  };
}
