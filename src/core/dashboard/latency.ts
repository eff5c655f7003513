// Dashboard: sets of ready endpoints as they are seen, at home and in importing clusters, in; how long each change took to
// arrive out. One clock, that of whoever looks. Bounded: what does not arrive is forgotten.

import type { ServiceKey } from "../../api/names.ts";

/** Something about the endpoints of one source, told apart by `set`. */
export interface Sight {
  readonly service: ServiceKey;
  readonly source: string;
  /** By which equal sets of ready endpoints are known. */
  readonly set: string;
  /** Monotonic. */
  readonly nowMs: number;
}

export interface Arrival {
  readonly service: ServiceKey;
  readonly source: string;
  readonly importer: string;
  readonly ms: number;
}

export interface LatencyTracker {
  /**
   * The source's endpoints at home are these, and were those of `wasSet`. `importers` are those that have it, and what they
   * have of the source.
   */
  changed(sight: Sight & { readonly wasSet: string }, importers: ReadonlyMap<string, string>): void;
  /** An importing cluster has these. Undefined when nothing has arrived by it. */
  imported(sight: Sight, importer: string): Arrival | undefined;
  size(): number;
}

interface Pending {
  readonly set: string;
  readonly sinceMs: number;
  readonly importers: Set<string>;
}

/** Longer is no latency, but a failure, which is told elsewhere. */
const PATIENCE_MS = 60_000;
const PENDING_MOST = 2_000;

export function createLatencyTracker(): LatencyTracker {
  /** By service and source; the oldest first. */
  const pending = new Map<string, Pending>();

  function forgetOld(nowMs: number): void {
    for (const [key, { sinceMs }] of pending) {
      if (nowMs - sinceMs < PATIENCE_MS && pending.size <= PENDING_MOST) return;
      pending.delete(key);
    }
  }

  return {
    changed({ service, source, set, wasSet, nowMs }, importers) {
      if (set === wasSet) return;
      const key = `${source} ${service}`;
      const late = pending.get(key)?.importers;
      // A newer change stands for the older one: what arrives is the newest.
      pending.delete(key);
      // Who has it already was told before we were: how long that took cannot be told from here. Who was not in step before,
      // because the source is drained or gone, will not be for the sake of this change.
      const waiting = [...importers].flatMap(([importer, has]) => {
        const isWaiting = has === wasSet || late?.has(importer) === true;
        return isWaiting && has !== set && importer !== source ? importer : [];
      });
      if (waiting.length > 0) {
        pending.set(key, { set, sinceMs: nowMs, importers: new Set(waiting) });
      }
      forgetOld(nowMs);
    },
    imported({ service, source, set, nowMs }, importer) {
      forgetOld(nowMs);
      const key = `${source} ${service}`;
      const found = pending.get(key);
      if (found?.set !== set || !found.importers.delete(importer)) return undefined;
      if (found.importers.size === 0) pending.delete(key);
      return { service, source, importer, ms: nowMs - found.sinceMs };
    },
    size: () => pending.size,
  };
}
