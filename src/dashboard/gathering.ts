// Dashboard: API servers in, everybody who takes part and what each has of a service out: clusters that are asked themselves, and
// those that only the hub knows. Opens the hub as soon as a cluster says how.

import type { ServiceKey } from "../api/names.ts";
import type { ServiceExplanation } from "../core/clusterset/explain.ts";
import type { Presence } from "../core/dashboard/row.ts";
import { compareText } from "../core/order.ts";
import type { HubCredential } from "../hub/credential.ts";
import type { Clock, Random } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { type ClusterFeed, type FeedSource, startClusterFeed } from "./clusterFeed.ts";
import { type HubFeed, startHubFeed } from "./hubFeed.ts";
import { inquire } from "./inquiry.ts";
import type { Listed } from "./roll.ts";
import type { ClusterState } from "./state.ts";

/** How to speak to a hub: with a token that is asked for whenever it is needed. */
export interface HubAccess {
  readonly credential: HubCredential;
  readonly tokens: { current(): string; refresh(refused: string): Promise<boolean> };
}

export interface Sources {
  readonly sources: readonly FeedSource[];
  /** Absent: hubs are not asked. Called again when the clusters have joined another. */
  readonly openHub?: (access: HubAccess) => {
    readonly store: Store;
    readonly describe: (error: unknown) => string;
  };
  readonly clock: Clock;
  readonly random: Random;
}

export interface GatheringOptions extends Sources {
  readonly heartbeatMs: number;
  readonly onService: (service: ServiceKey) => void;
  readonly onChange: () => void;
  readonly onEndpoints: (feed: ClusterFeed, service: ServiceKey, from: string | undefined) => void;
  readonly onShared: (service: ServiceKey, cluster: string) => void;
  /** There is another hub than before. */
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
  const closing: Promise<void>[] = [];
  let hub: HubFeed | undefined;
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
      onEndpoints: (service, from) => options.onEndpoints(feed, service, from),
      onCluster() {
        reviewHub();
        onChange();
      },
    });
    return feed;
  });

  /** The first cluster that has a credential speaks for all: any member may read everything. */
  function reviewHub(): void {
    const credential = findCredential();
    if (isStopped || openHub === undefined || credential === undefined) return;
    if (credential.server === hub?.credential.server) return;
    if (hub !== undefined) closing.push(hub.stop());
    const tokens = {
      current: () => findCredential()?.token ?? "",
      async refresh(refused: string) {
        await Promise.all(feeds.map((feed) => feed.reviewCredential()));
        return tokens.current() !== refused;
      },
    };
    const opened = openHub({ credential, tokens });
    describeHub = opened.describe;
    hub = startHubFeed({
      ...opened,
      credential,
      clock,
      random,
      onService,
      onEndpoints: options.onShared,
      onMembers: onChange,
    });
    options.onHub();
  }

  function findCredential(): HubCredential | undefined {
    const credentials = feeds.flatMap((feed) => feed.credential() ?? []);
    return credentials.find(({ token }) => token !== undefined);
  }

  return {
    listed() {
      const members = new Map((hub?.members() ?? []).map((member) => [member.id, member]));
      const seen = new Map<string, Listed>();
      for (const feed of feeds) {
        const id = feed.id();
        const { name } = feed.source;
        if (seen.has(id)) seen.set(name, { id: name, feed, member: undefined, isDouble: true });
        else seen.set(id, { id, feed, member: members.get(id), isDouble: false });
      }
      for (const [id, member] of members) {
        if (!seen.has(id)) seen.set(id, { id, feed: undefined, member, isDouble: false });
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
        const isFromHub = serviceExport === undefined && share !== undefined;
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
      await Promise.all([...feeds.map((feed) => feed.stop()), hub?.stop(), ...closing]);
    },
  };
}
