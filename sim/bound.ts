// Bound: renewals of Leases and imported slices as they are written in; endpoints of a lost cluster that are still there when
// they should be gone out (R65). Asked of importers that nothing is wrong with, while nothing changes but by faults.

import { LEASE, type EndpointSlice } from "../src/api/builtin.ts";
import { SOURCE_CLUSTER_LABEL, WHEN_LOST_ANNOTATION } from "../src/api/names.ts";
import type { Change } from "../src/embedded/storage.ts";
import type { Schedule } from "./schedule.ts";

/** Thirty seconds, what a late watch adds, and a new list after a cut. */
const BOUND_MS = 60_000;
/** Two renewals that did not come: that long nobody judges anybody. */
const GAP_MS = 10_000;

/** After the last fault: the longest pauses of informers and queues, one after the other. */
const SETTLE_MS = 240_000;
/** A hub that seems to have lost most members at once is borne for ten minutes. */
const SETTLE_AFTER_DEPARTURES_MS = 700_000;

/** How long after the last fault everything may take. One that leaves is never most. */
export function settleBoundMs({ steps }: Schedule): number {
  const departures = steps.filter(
    (step) => "member" in step && (step.member === "leave" || step.member === "rename"),
  );
  return departures.length < 2 ? SETTLE_MS : SETTLE_AFTER_DEPARTURES_MS;
}

interface Heard {
  lastMs: number;
  /** When it was last heard again after a gap. */
  backMs: number;
}

export class Bound {
  readonly #nowMs: () => number;
  readonly #report: (sentence: string) => void;
  readonly #members = new Map<string, Heard>();
  /** Of each importer: key of the slice to its source. */
  readonly #slices = new Map<number, Map<string, string>>();
  #mostSilentMs = -Infinity;

  constructor(nowMs: () => number, report: (sentence: string) => void) {
    this.#nowMs = nowMs;
    this.#report = report;
  }

  noteSlice(importer: number, { type, key, object }: Change): void {
    const { metadata, endpoints } = object as EndpointSlice;
    const source = metadata.labels?.[SOURCE_CLUSTER_LABEL];
    const slices = this.#slices.get(importer) ?? new Map<string, string>();
    this.#slices.set(importer, slices);
    // Who asked for something else when lost gets it.
    const isKept = metadata.annotations?.[WHEN_LOST_ANNOTATION] !== undefined;
    if (type === "DELETED" || source === undefined || isKept) slices.delete(key);
    else if ((endpoints ?? []).length > 0) slices.set(key, source);
  }

  /** Returns whose Lease it is. */
  noteHubWrite({ resource, type, object }: Change): string | undefined {
    if (resource !== `${LEASE.plural}.${LEASE.group}`) return undefined;
    const id = object.metadata.name ?? "";
    if (type === "DELETED") {
      this.#members.delete(id);
      return undefined;
    }
    const nowMs = this.#nowMs();
    const before = this.#members.get(id);
    const isBack = before === undefined || nowMs - before.lastMs >= GAP_MS;
    this.#members.set(id, { lastMs: nowMs, backMs: isBack ? nowMs : before.backMs });
    const silent = [...this.#members.values()].filter(({ lastMs }) => nowMs - lastMs >= GAP_MS);
    if (silent.length * 2 > this.#members.size) this.#mostSilentMs = nowMs;
    return id;
  }

  /** The importer was heard just now. */
  check(importer: number, id: string): void {
    const nowMs = this.#nowMs();
    const sinceMs = Math.max(this.#mostSilentMs, this.#members.get(id)?.backMs ?? nowMs);
    for (const [key, source] of this.#slices.get(importer) ?? []) {
      const lastMs = this.#members.get(source)?.lastMs ?? nowMs;
      const lostMs = nowMs - Math.max(lastMs, sinceMs);
      if (source === id || lostMs < BOUND_MS) continue;
      this.#report(`${id} has slice ${key} of ${source}, silent for ${lostMs} ms`);
      return;
    }
  }
}
