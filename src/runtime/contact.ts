// Contact with a server that may be away for hours: its store in, the same store out, with every write bounded in time and
// rate, and turned away at once while nothing answers. Reads and the renewal of a Lease always go through: they are
// how the return is noticed. Retries nothing.
//
//           a Lease cannot be renewed, or many requests in a row get no answer
//   there ───────────────────────────────────────────────────────────────────▶ away
//     ▲                                                                          │
//     └──────────────────────── any answer, a refusal too ───────────────────────┘

import { LEASE } from "../api/builtin.ts";
import type { Resource } from "../api/object.ts";
import { type Clock, sleep } from "../ports/clock.ts";
import { isStoreError, type Store, StoreError } from "../ports/store.ts";
import { runBounded } from "./bounded.ts";
import type { RateLimit } from "./bucket.ts";

export interface Contact {
  readonly store: Store;
  isAway(): boolean;
  /** Since the last answer, or since the start when there was none. */
  silentMs(): number;
  /** Calls back whenever it answers after it was away. Returns how to stop listening. */
  onReturn(listener: () => void): () => void;
}

/** One that fails says little about the next: a webhook or one broken connection can be behind it. */
const FAILURES_IN_A_ROW = 10;
const RENEWAL_BOUND_MS = 4_000;
const WRITE_BOUND_MS = 15_000;
/** What one client may write: a fleet that comes back together must not be what keeps its server down. */
const WRITES: RateLimit = { perSecond: 100, burst: 200 };
const NO_ANSWER = ["Unreachable", "Timeout", "Unavailable", "Internal"] as const;

export function createContact(options: { readonly store: Store; readonly clock: Clock }): Contact {
  const { store: server, clock } = options;
  const listeners = new Set<() => void>();
  let answeredAtMs = clock.monotonic();
  let failuresInARow = 0;
  let isAway = false;
  let lastTurnMs = -Infinity;
  const underWay = new Set<AbortController>();

  function heard(): void {
    answeredAtMs = clock.monotonic();
    failuresInARow = 0;
    if (!isAway) return;
    isAway = false;
    for (const listener of listeners) listener();
  }

  function failed(error: unknown, isRenewal: boolean): void {
    if (!isStoreError(error)) return;
    if (!isStoreError(error, ...NO_ANSWER)) {
      heard();
      return;
    }
    failuresInARow += 1;
    if (isAway || (!isRenewal && failuresInARow < FAILURES_IN_A_ROW)) return;
    isAway = true;
    // There is little hope for them, and local work waits for their end.
    for (const attempt of underWay) attempt.abort(away());
  }

  async function note<T>(attempt: Promise<T>, isRenewal = false): Promise<T> {
    try {
      const answer = await attempt;
      heard();
      return answer;
    } catch (error) {
      failed(error, isRenewal);
      throw error;
    }
  }

  async function write<T>(
    resource: Resource,
    signal: AbortSignal | undefined,
    send: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const stop = signal ?? new AbortController().signal;
    if (resource === LEASE) {
      return note(runBounded({ clock, boundMs: RENEWAL_BOUND_MS, stop }, send), true);
    }
    const attempt = new AbortController();
    const onStop = (): void => attempt.abort(stop.reason);
    underWay.add(attempt);
    stop.addEventListener("abort", onStop, { once: true });
    try {
      stop.throwIfAborted();
      await takeTurn(attempt.signal);
      return await note(runBounded({ clock, boundMs: WRITE_BOUND_MS, stop: attempt.signal }, send));
    } finally {
      underWay.delete(attempt);
      stop.removeEventListener("abort", onStop);
    }
  }

  /** First come, first served. A turn that somebody left is not given again: fewer writes harm nobody. */
  async function takeTurn(signal: AbortSignal): Promise<void> {
    if (isAway) throw away();
    const nowMs = clock.monotonic();
    const stepMs = 1_000 / WRITES.perSecond;
    lastTurnMs = Math.max(lastTurnMs + stepMs, nowMs - (WRITES.burst - 1) * stepMs);
    if (lastTurnMs > nowMs) await sleep(clock, Math.ceil(lastTurnMs - nowMs), signal);
  }

  return {
    store: {
      get: (resource, ref, getting) => note(server.get(resource, ref, getting)),
      list: (resource, listing) => note(server.list(resource, listing)),
      watch: (resource, watching, onEvent) => {
        const onOpen = (): void => {
          heard();
          watching.onOpen?.();
        };
        // Its end says nothing: also a stream that we leave ends.
        return server.watch(resource, { ...watching, onOpen }, onEvent).catch((error: unknown) => {
          failed(error, false);
          throw error;
        });
      },
      create: (resource, object, writing) =>
        write(resource, writing?.signal, (signal) =>
          server.create(resource, object, { ...writing, signal }),
        ),
      replace: (resource, object, writing) =>
        write(resource, writing?.signal, (signal) =>
          server.replace(resource, object, { ...writing, signal }),
        ),
      apply: (resource, object, applying) =>
        write(resource, applying.signal, (signal) =>
          server.apply(resource, object, { ...applying, signal }),
        ),
      delete: (resource, ref, deleting) =>
        write(resource, deleting?.signal, (signal) =>
          server.delete(resource, ref, { ...deleting, signal }),
        ),
    },
    isAway: () => isAway,
    silentMs: () => clock.monotonic() - answeredAtMs,
    onReturn(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function away(): StoreError {
  return new StoreError("Unavailable", "the hub does not answer: this is made up for when it does");
}
