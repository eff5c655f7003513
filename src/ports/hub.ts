// Port: where the shares of all clusters meet. Adapters: in memory (central mode), a Kubernetes API (agents).
// test/contract/hub.ts runs one suite against both.

import type { ClusterId, ServiceKey } from "../api/names.ts";
import type { Contribution } from "../api/share.ts";
import type { Rejection } from "../core/admission.ts";
import type { Span } from "./trace.ts";

/** Stands for every member whose id is not known. */
export const STRANGER = "" as ClusterId;

export interface HubMember {
  readonly cluster: ClusterId;
  /** Everything that it exports has been published since the hub knows it. */
  readonly isComplete: boolean;
  /**
   * Heard lately, and not in the middle of publishing what changed while nobody spoke for it. A service that nobody shares
   * is gone for good only when all are: its new home may be about to share it, and its virtual IP should not change.
   */
  readonly isCurrent: boolean;
  /** Since this process listens. Else it may have been gone for long before: to be known is not to be there. */
  readonly isHeard: boolean;
  /** Since it was last heard, on this process's own monotonic clock. Clocks of clusters are never compared. */
  readonly silentMs: number;
  /** By its last word it asks the others to lead their traffic elsewhere. */
  readonly isDrained: boolean;
}

export interface HubListener {
  /** This cluster's part of the service changed, or is taken in now, or no more: `contributions` may be others. */
  onService(service: ServiceKey, source: ClusterId): void;
  /** What the hub has of this process's own part may not be what was published: it has to be published again. */
  onDoubt(service: ServiceKey): void;
  /** A member came, went or became complete: every import may be affected. */
  onMembers(): void;
}

export interface Hub {
  /** Resolves once what the hub holds is known; rejects when the hub is closed before. */
  whenSynced(): Promise<void>;
  /**
   * The same contribution twice tells nobody and writes nothing. From the call on `contributions` has it, reachable hub
   * or not: a cluster always knows its own endpoints. Rejects when the others could not be told. Writes are noted at the span.
   */
  publish(contribution: Contribution, span?: Span): Promise<void>;
  withdraw(cluster: ClusterId, service: ServiceKey, span?: Span): Promise<void>;
  /** What the cluster shares, as the hub has it: where others find it. */
  published(cluster: ClusterId): ReadonlySet<ServiceKey>;
  /** The same of one service, for this process's own cluster: asked for every export. */
  isPublished(cluster: ClusterId, service: ServiceKey): boolean;
  /** The cluster has published all that it has: what it does not share now, it does not export. */
  completeSync(cluster: ClusterId): Promise<void>;
  /** Rejects when the hub could not be told, or does not know the cluster. */
  heartbeat(cluster: ClusterId, signal?: AbortSignal): Promise<void>;
  /**
   * Whether the cluster asks the others to go elsewhere, and why: undefined when it does not. From the call on `isDrained`
   * has it, reachable hub or not, and the others are told as soon as they can be. The same twice writes nothing.
   */
  noteDrain(cluster: ClusterId, why: string | undefined): void;
  /** The same as `members` has it. */
  isDrained(cluster: ClusterId): boolean;
  /** Only what may be used here: see `rejections` for the rest. */
  contributions(service: ServiceKey): readonly Contribution[];
  /** What sources shared of the service and this cluster does not take in. */
  rejections(service: ServiceKey): readonly Rejection[];
  services(): Iterable<ServiceKey>;
  members(): readonly HubMember[];
  /** One of them. */
  member(cluster: ClusterId): HubMember | undefined;
  /** True while a member is expected whose id is not known yet: then no source counts as gone. */
  hasStrangers(): boolean;
  /** Returns how to stop listening. */
  subscribe(listener: HubListener): () => void;
}
