// The hub of central mode: shares in, the same shares out to every importer. Nothing is stored: all of it can be rebuilt
// from the clusters themselves, so a crash loses nothing.

import type { ClusterId, ServiceKey } from "../api/names.ts";
import type { Contribution } from "../api/share.ts";
import { isSameData } from "../core/write.ts";
import type { Clock } from "../ports/clock.ts";
import type { Hub, HubMember } from "../ports/hub.ts";
import { createListeners } from "./listeners.ts";

interface MemberRecord {
  isComplete: boolean;
  heardAtMs: number;
  isDrained: boolean;
}

export interface MemoryHub extends Hub {
  /** False when the id is taken. */
  admit(cluster: ClusterId): boolean;
  /** It left: what it shared goes with it. */
  dismiss(cluster: ClusterId): void;
  /** Whether members remain whose id is not known yet has changed. */
  reviewMembers(): void;
}

export function createMemoryHub(clock: Clock, hasStrangers: () => boolean): MemoryHub {
  const shares = new Map<ServiceKey, Map<ClusterId, Contribution>>();
  const members = new Map<ClusterId, MemberRecord>();
  const listeners = createListeners();
  function requireMember(cluster: ClusterId): MemberRecord {
    const member = members.get(cluster);
    if (member === undefined) throw new Error(`cluster "${cluster}" was never admitted to the hub`);
    return member;
  }

  function describe(cluster: ClusterId, record: MemberRecord): HubMember {
    const { isComplete, heardAtMs, isDrained } = record;
    const silentMs = clock.monotonic() - heardAtMs;
    return { cluster, isComplete, isCurrent: true, isHeard: true, silentMs, isDrained };
  }

  return {
    whenSynced: async () => undefined,
    rejections: () => [],
    admit(cluster) {
      if (members.has(cluster)) return false;
      members.set(cluster, {
        isComplete: false,
        heardAtMs: clock.monotonic(),
        isDrained: false,
      });
      listeners.tellMembers();
      return true;
    },
    dismiss(cluster) {
      members.delete(cluster);
      for (const [service, ofService] of shares) {
        if (!ofService.delete(cluster)) continue;
        if (ofService.size === 0) shares.delete(service);
        listeners.tellService(service, cluster);
      }
      listeners.tellMembers();
    },
    async publish(contribution) {
      const { cluster, service } = contribution.share;
      requireMember(cluster);
      const ofService = shares.get(service) ?? new Map<ClusterId, Contribution>();
      if (isSameData(ofService.get(cluster), contribution)) return;
      ofService.set(cluster, contribution);
      shares.set(service, ofService);
      listeners.tellService(service, cluster);
    },
    async withdraw(cluster, service) {
      requireMember(cluster);
      const ofService = shares.get(service);
      if (ofService?.delete(cluster) !== true) return;
      if (ofService.size === 0) shares.delete(service);
      listeners.tellService(service, cluster);
    },
    published: (cluster) =>
      new Set([...shares].flatMap(([service, of]) => (of.has(cluster) ? service : []))),
    isPublished: (cluster, service) => shares.get(service)?.has(cluster) === true,
    async completeSync(cluster) {
      const member = requireMember(cluster);
      if (member.isComplete) return;
      member.isComplete = true;
      listeners.tellMembers();
    },
    async heartbeat(cluster) {
      requireMember(cluster).heardAtMs = clock.monotonic();
    },
    noteDrain(cluster, why) {
      requireMember(cluster).isDrained = why !== undefined;
    },
    isDrained: (cluster) => members.get(cluster)?.isDrained === true,
    contributions: (service) => [...(shares.get(service)?.values() ?? [])],
    services: () => shares.keys(),
    members: () => [...members].map(([cluster, record]) => describe(cluster, record)),
    member(cluster) {
      const record = members.get(cluster);
      return record === undefined ? undefined : describe(cluster, record);
    },
    hasStrangers,
    reviewMembers: () => listeners.tellMembers(),
    subscribe: (listener) => listeners.subscribe(listener),
  };
}
