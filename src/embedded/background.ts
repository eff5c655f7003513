// Embedded server, background work: keys in, one reconcile per key later on the injected clock. Never runs inside a request.

import type { Clock, Timer } from "../ports/clock.ts";

/** Long enough that a caller sees its own answer first; virtual time moves on even if two loops fight. */
const TICK_MS = 1;

export class Background {
  readonly #clock: Clock;
  readonly #afterBatch: () => void;
  /** Insertion order is run order: deterministic, each key once. */
  #queue = new Map<string, () => void>();
  readonly #delayed = new Set<Timer>();
  #timer: Timer | undefined;
  #stopped = false;

  constructor(clock: Clock, afterBatch: () => void) {
    this.#clock = clock;
    this.#afterBatch = afterBatch;
  }

  get isIdle(): boolean {
    return this.#queue.size === 0;
  }

  /** Two requests with one id before it runs are one. */
  add(id: string, work: () => void): void {
    if (this.#stopped || this.#queue.has(id)) return;
    this.#queue.set(id, work);
    this.#timer ??= this.#clock.schedule(TICK_MS, () => this.#run());
  }

  /** Not counted as pending until its time has come. */
  later(delayMs: number, id: string, work: () => void): void {
    if (this.#stopped) return;
    const timer = this.#clock.schedule(delayMs, () => {
      this.#delayed.delete(timer);
      this.add(id, work);
    });
    this.#delayed.add(timer);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    for (const timer of this.#delayed) timer.cancel();
    this.#delayed.clear();
    this.#timer = undefined;
    this.#queue.clear();
  }

  #run(): void {
    this.#timer = undefined;
    const batch = this.#queue;
    this.#queue = new Map();
    const failures: unknown[] = [];
    for (const work of batch.values()) {
      if (this.#stopped) return;
      try {
        work();
      } catch (error) {
        failures.push(error);
      }
    }
    this.#afterBatch();
    // A controller that throws is a defect of this server: loud, but only after the others had their turn.
    if (failures.length > 0) throw new AggregateError(failures, "a built-in controller failed");
  }
}
