// The work queue of a control loop: keys go in, one handler call per key comes out. It knows nothing of what a key means
// and never looks at events; time and chance are passed in.
//
//           add                     a worker is free
//   idle ───────────▶ waiting ───────────────────────▶ running ─── done ───▶ idle
//                        ▲                                │
//                        │ due, or add                    │ after this long · error · added meanwhile
//                     delayed ◀───────────────────────────┘
//
// The contract:
// 1. A key that waits is there once, however often it is added. Waiting keys are served first come, first served.
// 2. One key is worked on by one worker at a time; up to `workers` keys are worked on in parallel.
// 3. A key added while it is worked on runs once more afterwards: that run sees whatever the adding was about. Unless the handler
//    says that it looks only now (`looks`), or once more: then it sees all that was added for.
// 4. `add` cuts a delay short, a back-off too, because what happened may be what the key was failing for.
// 5. A handler ends in one of three ways: "done", `{ afterMs }` (fine, look again then), or a throw. After a throw the key
//    comes back with exponential back-off and jitter from base to cap; the first run that does not throw resets it.
// 6. When a thrown StoreError says how long to stay away, the key stays away that long, even if it is added meanwhile.
// 7. At most `maxKeys` distinct keys are held, whether waiting, delayed or running. Past that, new keys are refused, loudly
//    (`onOverflow`), and the queue owes a pass over `keys()`: as places become free it pulls all of them in, one by
//    one. A pass starts after the refusal, so every refused key that still matters is in it: nothing is lost.
// 8. Handlers that wait for nothing leave timers and sockets a turn now and then: a sweep over thousands of keys must not keep
//    a Lease from being renewed.
// 9. `stop` starts nothing more, aborts the signal of the running handlers and waits for them, within a bound.

import { setMaxListeners } from "node:events";
import type { Clock, Random, Timer } from "../ports/clock.ts";
import { type BackoffPolicy, backoffMs, retryAfterMs } from "./backoff.ts";
import { createTokenBucket, type RateLimit } from "./bucket.ts";
import { createFifo } from "./fifo.ts";

export type Outcome = "done" | { readonly afterMs: number };

export interface Failure {
  readonly key: string;
  readonly error: unknown;
  /** In a row, this one included. */
  readonly failures: number;
  readonly retryInMs: number;
}

export interface QueueOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly handler: (key: string, signal: AbortSignal) => Promise<Outcome>;
  /** Every key that may need work, deleted objects with something left to clean up included; asked only after an overflow. */
  readonly keys: () => Iterable<string>;
  /** The handler threw: the place to log it. */
  readonly onFailure: (failure: Failure) => void;
  /** No room: called for the first key refused of each pass that this leads to. */
  readonly onOverflow: (overflow: { readonly key: string; readonly maxKeys: number }) => void;
  readonly workers?: number;
  readonly maxKeys?: number;
  readonly backoff?: BackoffPolicy;
  /** Over all keys; absent: unlimited. */
  readonly rateLimit?: RateLimit;
  readonly drainMs?: number;
}

export interface QueueSnapshot {
  readonly waiting: number;
  readonly delayed: number;
  readonly running: number;
  /** How long the key has waited that is next. */
  readonly oldestMs: number;
  /** Of the handlers that run: grows when one hangs. */
  readonly longestRunningMs: number;
  /** Keys wait, and no handler began or ended for so long; 0 before the start. */
  readonly stillMs: number;
  /** Runs by how they ended, since the queue was made. */
  readonly outcomes: { readonly done: number; readonly again: number; readonly error: number };
  /** Keys refused for lack of room, since the queue was made. */
  readonly overflows: number;
}

export interface WorkQueue {
  /** Before this, keys are kept but not worked on. */
  start(): void;
  add(key: string): void;
  /** The same, but other work of this turn goes first, and what it sends is on its way before the handler starts. */
  addLater(key: string): void;
  /** By the key's own handler: right after this it reads all that its key depends on, before it waits for anything. */
  looks(key: string): void;
  snapshot(): QueueSnapshot;
  /** Resolves to the keys whose handlers had not ended within the bound; none is the normal answer. */
  stop(): Promise<readonly string[]>;
}

interface Entry {
  readonly key: string;
  /** When it became ready, or when its handler started. */
  sinceMs: number;
  failures: number;
  /** The server said: not before this time. */
  notBeforeMs: number;
  state:
    | { readonly is: "waiting" }
    | { readonly is: "delayed"; readonly dueAtMs: number; readonly timer: Timer }
    | { readonly is: "running" };
  /** While running: it was added since its handler last looked. */
  isAddedMeanwhile: boolean;
}

const DEFAULT_BACKOFF: BackoffPolicy = { baseMs: 5, capMs: 1_000_000 };
/** So much work between two turns. */
const TURN_AFTER_MS = 20;

export function createQueue(options: QueueOptions): WorkQueue {
  const { clock, random, handler } = options;
  const workers = options.workers ?? 4;
  const maxKeys = options.maxKeys ?? 100_000;
  const backoff = options.backoff ?? DEFAULT_BACKOFF;
  const bucket = options.rateLimit && createTokenBucket(options.rateLimit, clock);
  const entries = new Map<string, Entry>();
  const waiting = createFifo<Entry>();
  const running = new Set<Entry>();
  const abort = new AbortController();
  // Each worker's request listens to it: many are no leak, and Node need not warn of one.
  setMaxListeners(0, abort.signal);
  let started = false;
  let dispatchIsDue = false;
  /** Nothing is started until then. */
  let pauseTimer: Timer | undefined;
  /** Spent in handlers before they first awaited anything, since the last turn: there they look and plan. */
  let busyMs = 0;
  const outcomes = { done: 0, again: 0, error: 0 };
  let overflows = 0;
  /** When a handler last began or ended. */
  let movedAtMs = clock.monotonic();
  /** Something was refused since the last pass began. */
  let owesPass = false;
  let pass: Iterator<string> | undefined;
  let stopping = false;
  let stopped: Promise<readonly string[]> | undefined;
  let onDrained: (() => void) | undefined;

  function add(key: string): void {
    if (stopping) return;
    const now = clock.monotonic();
    let entry = entries.get(key);
    if (entry === undefined) {
      if (entries.size >= maxKeys) {
        refuse(key);
        return;
      }
      entry = {
        key,
        sinceMs: now,
        failures: 0,
        notBeforeMs: now,
        state: { is: "waiting" },
        isAddedMeanwhile: false,
      };
      entries.set(key, entry);
      makeReady(entry);
      return;
    }
    switch (entry.state.is) {
      case "waiting":
        return;
      case "running":
        entry.isAddedMeanwhile = true;
        return;
      case "delayed":
        if (entry.notBeforeMs >= entry.state.dueAtMs) return;
        entry.state.timer.cancel();
        place(entry, now);
    }
  }

  /** Makes the entry wait now or be delayed until then. */
  function place(entry: Entry, wantedMs: number): void {
    const now = clock.monotonic();
    const dueAtMs = Math.max(wantedMs, entry.notBeforeMs);
    if (dueAtMs > now) {
      const timer = clock.schedule(dueAtMs - now, () => makeReady(entry));
      entry.state = { is: "delayed", dueAtMs, timer };
    } else {
      makeReady(entry);
    }
  }

  function makeReady(entry: Entry): void {
    entry.state = { is: "waiting" };
    entry.sinceMs = clock.monotonic();
    waiting.push(entry);
    dispatchSoon();
  }

  /** Never on the caller's stack: whoever adds keys is inside an event handler. */
  function dispatchSoon(): void {
    if (!started || dispatchIsDue) return;
    dispatchIsDue = true;
    queueMicrotask(() => {
      dispatchIsDue = false;
      dispatch();
    });
  }

  /** Asked before every start: a handler runs up to its first await right away, and may stop the queue. */
  function mayStart(): boolean {
    return (
      started &&
      !stopping &&
      pauseTimer === undefined &&
      running.size < workers &&
      waiting.size() > 0
    );
  }

  function dispatch(): void {
    while (mayStart()) {
      if (busyMs >= TURN_AFTER_MS) {
        busyMs = 0;
        pause(0);
        return;
      }
      const tokenInMs = bucket?.take() ?? 0;
      if (tokenInMs > 0) {
        pause(tokenInMs);
        return;
      }
      const entry = waiting.shift();
      if (entry !== undefined) void work(entry);
    }
  }

  function pause(ms: number): void {
    pauseTimer = clock.schedule(ms, () => {
      pauseTimer = undefined;
      dispatch();
    });
  }

  async function work(entry: Entry): Promise<void> {
    entry.state = { is: "running" };
    movedAtMs = entry.sinceMs = clock.monotonic();
    running.add(entry);
    const ended = await runHandler(entry.key);
    running.delete(entry);
    movedAtMs = clock.monotonic();
    if (stopping) {
      entries.delete(entry.key);
      if (running.size === 0) onDrained?.();
      return;
    }
    if ("error" in ended) fail(entry, ended.error);
    else succeed(entry, ended.outcome);
    dispatch();
  }

  async function runHandler(key: string): Promise<{ outcome: Outcome } | { error: unknown }> {
    try {
      const startedMs = clock.monotonic();
      const ending = handler(key, abort.signal);
      busyMs += clock.monotonic() - startedMs;
      const outcome = await ending;
      if (outcome !== "done" && !(outcome.afterMs >= 0 && outcome.afterMs < Infinity)) {
        throw new RangeError(`a handler asked to be called again after ${outcome.afterMs} ms`);
      }
      return { outcome };
    } catch (error) {
      return { error };
    }
  }

  function succeed(entry: Entry, outcome: Outcome): void {
    const now = clock.monotonic();
    outcomes[outcome === "done" ? "done" : "again"]++;
    // At least a millisecond: a handler that asks for 0 again and again must not keep timers and sockets from their turn.
    const laterMs = outcome === "done" ? Infinity : now + Math.max(1, outcome.afterMs);
    const nextMs = entry.isAddedMeanwhile ? now : laterMs;
    entry.failures = 0;
    entry.isAddedMeanwhile = false;
    if (nextMs < Infinity) {
      place(entry, nextMs);
      return;
    }
    entries.delete(entry.key);
    pullPass();
  }

  function fail(entry: Entry, error: unknown): void {
    const now = clock.monotonic();
    entry.failures++;
    outcomes.error++;
    const stayAwayMs = retryAfterMs(error, random);
    const backOffMs = backoffMs(backoff, entry.failures, random);
    const wantedMs = entry.isAddedMeanwhile ? now : now + backOffMs;
    entry.notBeforeMs = now + stayAwayMs;
    entry.isAddedMeanwhile = false;
    place(entry, wantedMs);
    const retryInMs = Math.max(0, Math.max(wantedMs, entry.notBeforeMs) - now);
    options.onFailure({ key: entry.key, error, failures: entry.failures, retryInMs });
  }

  function refuse(key: string): void {
    overflows++;
    if (owesPass) return;
    owesPass = true;
    options.onOverflow({ key, maxKeys });
  }

  /** Fills free places from the pass that is under way, or from a new one when one is owed. */
  function pullPass(): void {
    while (entries.size < maxKeys && (pass !== undefined || owesPass)) {
      if (pass === undefined) {
        owesPass = false;
        pass = options.keys()[Symbol.iterator]();
      }
      const next = pass.next();
      if (next.done === true) pass = undefined;
      else add(next.value);
    }
  }

  async function drain(): Promise<readonly string[]> {
    stopping = true;
    pauseTimer?.cancel();
    for (const { key, state } of entries.values()) {
      if (state.is === "delayed") state.timer.cancel();
      if (state.is !== "running") entries.delete(key);
    }
    waiting.clear();
    abort.abort(new Error("the work queue was stopped"));
    if (running.size > 0) {
      await new Promise<void>((resolve) => {
        const timer = clock.schedule(options.drainMs ?? 10_000, resolve);
        onDrained = () => {
          timer.cancel();
          resolve();
        };
      });
    }
    return [...running].map((entry) => entry.key);
  }

  return {
    start() {
      started = true;
      movedAtMs = clock.monotonic();
      dispatchSoon();
    },
    add,
    addLater(key) {
      if (!stopping && pauseTimer === undefined) pause(0);
      add(key);
    },
    looks(key) {
      const entry = entries.get(key);
      if (entry !== undefined) entry.isAddedMeanwhile = false;
    },
    snapshot() {
      const now = clock.monotonic();
      const ages = [...running].map((entry) => now - entry.sinceMs);
      const oldestMs = now - (waiting.peek()?.sinceMs ?? now);
      return {
        waiting: waiting.size(),
        delayed: entries.size - waiting.size() - running.size,
        running: running.size,
        oldestMs,
        longestRunningMs: Math.max(0, ...ages),
        stillMs: started ? Math.min(oldestMs, now - movedAtMs) : 0,
        outcomes: { ...outcomes },
        overflows,
      };
    },
    stop() {
      stopped ??= drain();
      return stopped;
    },
  };
}
