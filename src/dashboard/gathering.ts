// Dashboard: API servers in, everybody who takes part and what each has of a service out: clusters that are asked themselves, and
// those that only the hub knows. Opens the hub as soon as a cluster says how.

import type { ServiceKey } from "../api/names.ts";
import type { ServiceExplanation } from "../core/clusterset/explain.ts";
import type { EndpointShift } from "../core/dashboard/facts.ts";
import type { Presence } from "../core/dashboard/row.ts";
import { compareText } from "../core/order.ts";
import type { HubCredential } from "../hub/credential.ts";
import type { Clock, Random } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { type ClusterFeed, type FeedSource, startClusterFeed } from "./clusterFeed.ts";
import { type HubFeed, startHubFeed } from "./hubFeed.ts";
import { createHubTokens, type HubTokens, isSameHub } from "./hubTokens.ts";
import { inquire } from "./inquiry.ts";
import type { Listed } from "./roll.ts";
import type { ClusterState } from "./state.ts";

/** How to speak to a hub: with a token that is asked for whenever it is needed. */
export interface HubAccess {
  readonly credential: HubCredential;
  readonly tokens: HubTokens;
}

export interface OpenedHub {
  readonly store: Store;
  readonly describe: (error: unknown) => string;
  /** Nobody asks it any more. */
  readonly close?: () => Promise<void>;
}

export interface Sources {
  readonly sources: readonly FeedSource[];
  /** Absent: hubs are not asked. Called again when the clusters have joined another. */
  readonly openHub?: (access: HubAccess) => OpenedHub;
  readonly clock: Clock;
  readonly random: Random;
}

export interface GatheringOptions extends Sources {
  readonly heartbeatMs: number;
  readonly onService: (service: ServiceKey) => void;
  readonly onChange: () => void;
  readonly onEndpoints: (feed: ClusterFeed, shift: EndpointShift) => void;
  readonly onShared: (shift: EndpointShift) => void;
  /** There is another hub than before, or none any more. */
  readonly onHub: () => void;
}

export interface Gathering {
  listed(): readonly Listed[];
  hub(): HubFeed | undefined;
  /** Everybody has been asked, whether or not all have answered. */
  isAsked(): boolean;
  services(): Iterable<ServiceKey>;
  look(
    service: ServiceKey,
    listed: readonly Listed[],
    clusters: ReadonlyMap<string, ClusterState>,
  ): readonly Presence[];
  explain(service: ServiceKey, signal: AbortSignal): Promise<ServiceExplanation | undefined>;
  stop(): Promise<void>;
}

export function startGathering(options: GatheringOptions): Gathering {
  const { clock, random, openHub, onService, onChange } = options;
  const closing = new Set<Promise<void>>();
  let hub: HubFeed | undefined;
  let opened: OpenedHub | undefined;
  let describeHub: (error: unknown) => string = String;
  let isStopped = false;

  const feeds: readonly ClusterFeed[] = options.sources.map((source) => {
    const feed: ClusterFeed = startClusterFeed({
      ...source,
      heartbeatMs: options.heartbeatMs,
      asksHub: openHub !== undefined,
      clock,
      random,
      onService,
      onEndpoints: (shift) => options.onEndpoints(feed, shift),
      onCluster() {
        reviewHub();
        onChange();
      },
    });
    return feed;
  });

  /** The first cluster that has a credential speaks for all: any member may read everything. */
  function reviewHub(): void {
    const credential = credentials().find(({ token }) => token !== undefined);
    if (isStopped || openHub === undefined) return;
    if (credential === undefined ? hub === undefined : isOpen(credential)) return;
    const closed = closeHub().finally(() => closing.delete(closed));
    closing.add(closed);
    if (credential !== undefined) startHub(openHub, credential);
    options.onHub();
  }

  function isOpen(credential: HubCredential): boolean {
    return hub !== undefined && isSameHub(hub.credential, credential);
  }

  async function closeHub(): Promise<void> {
    const last = { hub, opened };
    hub = undefined;
    opened = undefined;
    await last.hub?.stop();
    await last.opened?.close?.();
  }

  function startHub(open: NonNullable<typeof openHub>, credential: HubCredential): void {
    const review = async (): Promise<void> => {
      await Promise.all(feeds.map((feed) => feed.reviewCredential()));
    };
    const tokens = createHubTokens({ hub: credential, credentials, review });
    opened = open({ credential, tokens });
    const { store, describe } = opened;
    describeHub = describe;
    hub = startHubFeed({
      store,
      describe,
      credential,
      clock,
      random,
      onService,
      onEndpoints: options.onShared,
      onMembers: onChange,
    });
  }

  function credentials(): readonly HubCredential[] {
    return feeds.flatMap((feed) => feed.credential() ?? []);
  }

  return {
    listed() {
      const members = new Map((hub?.members() ?? []).map((member) => [member.id, member]));
      const seen = new Map<string, Listed>();
      const doubles: ClusterFeed[] = [];
      for (const feed of feeds) {
        const id = feed.id();
        if (seen.has(id)) doubles.push(feed);
        else seen.set(id, { id, feed, member: members.get(id), isDouble: false });
      }
      for (const [id, member] of members) {
        if (!seen.has(id)) seen.set(id, { id, feed: undefined, member, isDouble: false });
      }
      // Last, so that none of them takes the place of a cluster that goes by its id rightly.
      for (const feed of doubles) {
        const { name } = feed.source;
        let id = name;
        for (let count = 2; seen.has(id); count += 1) id = `${name} (${count})`;
        seen.set(id, { id, feed, member: undefined, isDouble: true });
      }
      return [...seen.values()].toSorted((a, b) => compareText(a.id, b.id));
    },
    hub: () => hub,
    isAsked: () => feeds.every((feed) => feed.isAsked()) && (hub?.isAsked() ?? true),
    *services() {
      for (const feed of feeds) yield* feed.services();
      if (hub !== undefined) yield* hub.services();
    },
    look(service, listed, clusters) {
      const shared = hub?.endpointsOf(service) ?? [];
      return listed.flatMap(({ id, feed, isDouble }): Presence[] => {
        if (isDouble) return [];
        const slices = feed?.slicesOf(service) ?? [];
        const serviceExport = feed?.exportOf(service);
        // What a cluster itself shows comes first, also while it does not answer: the hub has no more of it then.
        const share = feed?.isRead() === true ? undefined : hub?.shareOf(id, service);
        const areSlicesRead = feed?.hasSlices() ?? true;
        const isFromHub = share !== undefined && (serviceExport === undefined || !areSlicesRead);
        const isExported = serviceExport !== undefined || share !== undefined;
        const own = isFromHub
          ? shared.filter(({ source }) => source === id)
          : slices.filter(({ source }) => source === undefined);
        return [
          {
            cluster: id,
            liveness: clusters.get(id)?.liveness ?? "unknown",
            serviceExport,
            share,
            offered: isExported ? own : [],
            areSlicesRead,
            serviceImport: feed?.importOf(service),
            imported: slices.filter(({ source }) => source !== undefined),
            lostSliceAtMs: feed?.lostSliceAtMs(service),
          },
        ];
      });
    },
    explain: (service, signal) =>
      inquire(service, { clusters: feeds, hub, describeHub, clock, signal }),
    async stop() {
      isStopped = true;
      await Promise.all([...feeds.map((feed) => feed.stop()), closeHub(), ...closing]);
    },
  };
}
