// Port: where the shares of all clusters meet. Adapters: in memory (central mode), later a Kubernetes API (agents).

import type { ClusterId, ServiceKey } from "../api/names.ts";
import type { Contribution } from "../api/share.ts";

/** Stands for every member whose id is not known. */
export const STRANGER = "" as ClusterId;

export interface HubMember {
  readonly cluster: ClusterId;
  /** Everything that it exports has been published since the hub knows it. */
  readonly isComplete: boolean;
  /** Since it was last heard, on the hub's own monotonic clock. */
  readonly silentMs: number;
}

export interface HubListener {
  /** Some cluster's part of the service changed. */
  onService(service: ServiceKey): void;
  /** A member came, went, or became complete: every import may be affected. */
  onMembers(): void;
}

export interface Hub {
  /** The same contribution twice tells nobody. */
  publish(contribution: Contribution): Promise<void>;
  withdraw(cluster: ClusterId, service: ServiceKey): Promise<void>;
  /** The cluster has published all that it has: what it does not share now, it does not export. */
  completeSync(cluster: ClusterId): Promise<void>;
  heartbeat(cluster: ClusterId): Promise<void>;
  contributions(service: ServiceKey): readonly Contribution[];
  services(): Iterable<ServiceKey>;
  members(): readonly HubMember[];
  /** True while a member is expected whose id is not known yet: then no source counts as gone. */
  hasStrangers(): boolean;
  /** Returns how to stop listening. */
  subscribe(listener: HubListener): () => void;
}
