// Hub: whether this cluster is to be drained in, the same in the status of its ClusterMember out, for the others to read; said
// again whenever the hub has it otherwise: a cluster that had to join anew, or a word that was lost on the way.

import type { ClusterMember } from "../api/isthmus.ts";
import type { ClusterId } from "../api/names.ts";
import type { Clock, Random, Timer } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/store.ts";
import { backoffMs } from "../runtime/backoff.ts";
import { reportDrained } from "./presence.ts";

export interface DrainReportOptions {
  readonly cluster: ClusterId;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** This cluster's ClusterMember, as the informer has it. */
  readonly own: () => ClusterMember | undefined;
}

export interface DrainReport {
  note(why: string | undefined): void;
  /** Undefined before anything was noted. */
  told(): { readonly why: string | undefined } | undefined;
  /** The ClusterMember changed. */
  review(): void;
  /** The hub answers again: whatever was refused before says nothing about now. */
  retryNow(): void;
  stop(): void;
}

/** A hub of an older release refuses it until somebody upgrades it. */
const BACKOFF = { baseMs: 1_000, capMs: 60_000 };

export function createDrainReport(options: DrainReportOptions): DrainReport {
  const { cluster, store, clock, random, log, signal } = options;
  let told: { readonly why: string | undefined } | undefined;
  let failures = 0;
  let isWriting = false;
  /** What was written last, and to which state of the ClusterMember: whether it took is known when that has changed. */
  let written: { readonly why: string | undefined; readonly member: ClusterMember } | undefined;
  let timer: Timer | undefined;

  function review(): void {
    if (isWriting || timer !== undefined || signal.aborted || !isDue()) return;
    if (failures === 0 && !isUnseen()) {
      void write();
      return;
    }
    timer = clock.schedule(backoffMs(BACKOFF, Math.max(failures, 1), random), () => {
      timer = undefined;
      if (isDue()) void write();
    });
  }

  /**
   * The hub answered that it has it, and shows a later state without. Mostly one that is late; but a hub that is just being
   * upgraded leaves the new field out of what it tells its watchers, who would never hear of it.
   */
  function isUnseen(): boolean {
    return written !== undefined && written.why === told?.why;
  }

  function isDue(): boolean {
    const member = options.own();
    if (member === undefined || told === undefined) return false;
    if (written?.member === member && written.why === told.why) return false;
    return member.status?.drained !== told.why;
  }

  async function write(): Promise<void> {
    const member = options.own();
    if (member === undefined || told === undefined) return;
    const { why } = told;
    const context = { store, clock, cluster, signal };
    isWriting = true;
    try {
      // Said the same way again it would be no change, and nobody would be told.
      if (isUnseen()) await reportDrained(context, member, undefined);
      await reportDrained(context, member, why);
      failures = 0;
      written = { why, member };
      log.info("hub was told whether the cluster is drained", { drained: why ?? false });
    } catch (error) {
      failures += 1;
      // Once: the rest is the same again.
      if (!signal.aborted) {
        log[failures === 1 ? "warn" : "debug"](
          "hub was not told whether the cluster is drained; it does not answer, or may be of an older release",
          { drained: why ?? false, error: String(error) },
        );
      }
    } finally {
      isWriting = false;
    }
    // What was refused, has changed meanwhile or has come back otherwise is not done yet.
    review();
  }

  return {
    note(why) {
      told = { why };
      review();
    },
    told: () => told,
    review,
    retryNow() {
      timer?.cancel();
      timer = undefined;
      failures = 0;
      review();
    },
    stop: () => timer?.cancel(),
  };
}
