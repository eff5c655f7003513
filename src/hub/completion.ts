// Hub: "everything has been published" in, the Synced condition of this cluster's ClusterMember out, said again whenever
// the hub does not have it: a cluster that had to join anew, or whose word was lost on the way.

import { CLUSTER_MEMBER, type ClusterMember } from "../api/isthmus.ts";
import type { ClusterId } from "../api/names.ts";
import type { Clock, Random, Timer } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/store.ts";
import { backoffMs } from "../runtime/backoff.ts";
import { createFreshness } from "../runtime/freshness.ts";
import { reportSynced } from "./presence.ts";
import { hasSynced, slimMember } from "./registry.ts";

export interface CompletionOptions {
  readonly cluster: ClusterId;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** This cluster's ClusterMember, as the informer has it. */
  readonly own: () => ClusterMember | undefined;
  /** The hub has been read, and has all that this cluster shares. */
  readonly isPublished: () => boolean;
  /** Takes away what this cluster no longer shares; rejects while the hub has not been read. */
  readonly sweep: () => Promise<void>;
}

export interface Completion {
  /** Rejects when it could not be said; it is tried again all the same. */
  complete(): Promise<void>;
  /** The ClusterMember changed, or the hub has been read. */
  review(before?: ClusterMember, after?: ClusterMember): void;
  stop(): void;
}

/** A hub that refuses it, or is away for hours, is neither asked nor complained of every second. */
const BACKOFF = { baseMs: 1_000, capMs: 60_000 };

export function createCompletion(options: CompletionOptions): Completion {
  const { cluster, store, clock, random, log, signal } = options;
  const freshness = createFreshness({ clock });
  let isAsked = false;
  let failures = 0;
  let isLogged = false;
  let timer: Timer | undefined;

  async function complete(): Promise<void> {
    isAsked = true;
    try {
      await options.sweep();
      const cached = options.own();
      const known = cached === undefined ? [] : [cached];
      const [now] = freshness.correct(cluster, CLUSTER_MEMBER, known);
      const written = await reportSynced({ store, clock, cluster, signal }, now);
      if (written !== undefined) freshness.wrote(cluster, CLUSTER_MEMBER, slimMember(written));
      failures = 0;
      isLogged = false;
    } catch (error) {
      failures += 1;
      throw error;
    } finally {
      review();
    }
  }

  function review(before?: ClusterMember, after?: ClusterMember): void {
    freshness.saw(cluster, CLUSTER_MEMBER, {
      ...(before === undefined ? {} : { before }),
      ...(after === undefined ? {} : { after }),
    });
    const member = options.own();
    if (!isAsked || timer !== undefined || signal.aborted) return;
    if (member === undefined || hasSynced(member)) return;
    const waitMs = failures === 0 ? BACKOFF.baseMs : backoffMs(BACKOFF, failures, random);
    timer = clock.schedule(waitMs, () => {
      timer = undefined;
      if (!options.isPublished()) {
        review();
        return;
      }
      complete().catch((error: unknown) => {
        const level = isLogged ? "debug" : "warn";
        isLogged = true;
        log[level]("hub was not told that everything is published", { error: String(error) });
      });
    });
  }

  return {
    complete,
    review,
    stop() {
      timer?.cancel();
      freshness.stop();
    },
  };
}
