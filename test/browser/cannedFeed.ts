// Test double: a dashboard server that tells a state made up by the test, and the changes that it asks for.

import { onTestFinished } from "vitest";
import { readAsset } from "../../src/dashboard/assets.ts";
import { type DashboardServer, type Feed, serveDashboard } from "../../src/dashboard/server.ts";
import type { DashboardChange, DashboardState } from "../../src/dashboard/state.ts";
import { systemClock } from "../../src/kube/clock.ts";

export type Explained = Awaited<ReturnType<Feed["explain"]>>;

export interface CannedFeed {
  readonly url: string;
  /** What is not said stays. */
  tell(change: Partial<Omit<DashboardChange, "version">>): void;
  explain(answer: Explained): void;
  /** The server goes away, and comes back at the same address. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export async function serveCanned(first: DashboardState): Promise<CannedFeed> {
  let state = first;
  let explained: Explained;
  const listeners = new Set<(change: DashboardChange) => void>();
  const feed: Feed = {
    state: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    explain: () => Promise.resolve(explained),
  };
  const serve = (port: number): Promise<DashboardServer> =>
    serveDashboard({ feed, assets: readAsset, host: "127.0.0.1", port, clock: systemClock });
  let server = await serve(0);
  const { url } = server;
  onTestFinished(() => server.close());
  return {
    url,
    tell(said) {
      const change: DashboardChange = {
        version: state.version + 1,
        synced: true,
        clusters: [],
        goneClusters: [],
        services: [],
        goneServices: [],
        events: [],
        latency: [],
        ...said,
      };
      state = merge(state, change);
      for (const listener of listeners) listener(change);
    },
    explain(answer) {
      explained = answer;
    },
    stop: () => server.close(),
    async start() {
      server = await serve(Number(new URL(url).port));
    },
  };
}

function merge(state: DashboardState, change: DashboardChange): DashboardState {
  const clusters = new Map(state.clusters.map((cluster) => [cluster.id, cluster]));
  for (const id of change.goneClusters) clusters.delete(id);
  for (const cluster of change.clusters) clusters.set(cluster.id, cluster);
  const services = new Map(state.services.map((service) => [service.key, service]));
  for (const key of change.goneServices) services.delete(key);
  for (const service of change.services) services.set(service.key, service);
  return {
    ...state,
    version: change.version,
    synced: change.synced,
    ...(change.hub === undefined ? {} : { hub: change.hub }),
    clusters: [...clusters.values()],
    services: [...services.values()],
    events: [...state.events, ...change.events],
    latency: [...state.latency, ...change.latency],
  };
}
