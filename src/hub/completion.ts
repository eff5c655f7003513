// Hub: "everything has been published" in, the Synced condition of this cluster's ClusterMember out, said again whenever
// the hub does not have it: a cluster that had to join anew, or whose word was lost on the way.

import { CLUSTER_MEMBER, type ClusterMember } from "../api/isthmus.ts";
import type { ClusterId } from "../api/names.ts";
import type { Clock, Timer } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/store.ts";
import { createFreshness } from "../runtime/freshness.ts";
import { reportSynced } from "./presence.ts";
import { hasSynced, slimMember } from "./registry.ts";

export interface CompletionOptions {
  readonly cluster: ClusterId;
  readonly store: Store;
  readonly clock: Clock;
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

const AGAIN_MS = 1_000;

export function createCompletion(options: CompletionOptions): Completion {
  const { cluster, store, clock, log, signal } = options;
  const freshness = createFreshness(clock);
  let isAsked = false;
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
    timer = clock.schedule(AGAIN_MS, () => {
      timer = undefined;
      if (!options.isPublished()) {
        review();
        return;
      }
      complete().catch((error: unknown) => {
        log.warn("hub was not told that everything is published", { error: String(error) });
      });
    });
  }

  return { complete, review, stop: () => timer?.cancel() };
}
