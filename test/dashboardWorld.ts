// Test double: a dashboard's feed over a world on a virtual clock, and a page that knows nothing but what it was told.

import { onTestFinished } from "vitest";
import { NAMESPACE, SECRET } from "../src/api/builtin.ts";
import { SYSTEM_NAMESPACE } from "../src/api/names.ts";
import type { Resource } from "../src/api/object.ts";
import { type RunningFeed, startFeed } from "../src/dashboard/feed.ts";
import type {
  ClusterState,
  DashboardChange,
  DashboardState,
  ServicePart,
  ServiceState,
} from "../src/dashboard/state.ts";
import { renderCredential } from "../src/hub/credential.ts";
import { type Store, StoreError, type StoreErrorCode } from "../src/ports/store.ts";
import type { AgentWorld } from "./agentWorld.ts";
import type { CentralWorld } from "./centralWorld.ts";
import type { VirtualClock } from "./clock.ts";
import { seededRandom } from "./embedded.ts";
import { createLine, type Line } from "./scenarios/line.ts";

export interface Watched {
  readonly feed: RunningFeed;
  /** What the page shows: the first state, and every change since. */
  readonly page: () => DashboardState;
  readonly changes: readonly DashboardChange[];
  /** Between the dashboard and each cluster. */
  readonly lines: ReadonlyMap<string, Line>;
  readonly cluster: (id: string) => ClusterState;
  readonly service: (key: string) => ServiceState;
  readonly part: (key: string, cluster: string) => ServicePart;
  /** "kind sentence" */
  readonly events: () => readonly string[];
}

interface Site {
  readonly id: string;
  readonly store: Store;
}

interface Oddities {
  /** What whoever asks names them, instead of by their ids. */
  readonly named?: Readonly<Record<string, string>>;
  /** They do not answer from the beginning. */
  readonly away?: readonly string[];
  /** Who they are is for them to say. */
  readonly nameless?: readonly string[];
  /** By which id somebody names them, instead of their own. */
  readonly called?: Readonly<Record<string, string>>;
  /** What stands between the dashboard and a cluster. */
  readonly through?: (id: string, store: Store) => Store;
}

/** Names all clusters of the world. */
export function watchCentral(world: CentralWorld, options: Oddities = {}): Promise<Watched> {
  const sites = world.sites.map(({ site }) => ({ id: site.id, store: site.store }));
  return watch(world.clock, sites, options);
}

/** With a credential for the hub in each cluster, as `isthmus join` leaves it. */
export async function watchAgents(
  world: AgentWorld,
  ...only: readonly string[]
): Promise<Watched & { readonly hubLine: Line }> {
  return watchAgentsThrough(
    createLine(world.hubStore, () => true),
    world,
    ...only,
  );
}

/** The line to the hub may be cut from the beginning. */
export async function watchAgentsThrough(
  hubLine: Line,
  world: AgentWorld,
  ...only: readonly string[]
): Promise<Watched & { readonly hubLine: Line }> {
  const sites = world.sites.filter(({ id }) => only.includes(id));
  for (const { id, site } of sites) {
    const metadata = { name: SYSTEM_NAMESPACE };
    await site.store.create(NAMESPACE, { apiVersion: "v1", kind: "Namespace", metadata });
    const server = "https://hub.example.org";
    const credential = { cluster: id, server, claim: "", token: "token" };
    await site.store.create(SECRET, renderCredential(credential));
  }
  const seen = sites.map(({ id, site }) => ({ id, store: site.store }));
  return { ...(await watch(world.clock, seen, { hub: hubLine.store })), hubLine };
}

async function watch(
  clock: VirtualClock,
  sites: readonly Site[],
  { hub, away = [], named, nameless = [], called, through }: Oddities & { readonly hub?: Store },
): Promise<Watched> {
  const lines = new Map(
    sites.map(({ id, store }) => [id, createLine(through?.(id, store) ?? store, () => true)]),
  );
  for (const id of away) lines.get(id)!.cut();
  const feed = startFeed({
    sources: sites.map(({ id }) => ({
      name: named?.[id] ?? id,
      givenId: nameless.includes(id) ? undefined : (called?.[id] ?? id),
      store: lines.get(id)!.store,
      describe: (error) => `It is away: ${String(error)}.`,
    })),
    ...(hub === undefined
      ? {}
      : { openHub: () => ({ store: hub, describe: (error: unknown) => String(error) }) }),
    mode: "test",
    onDefect: (defect) => {
      throw defect;
    },
    clock,
    random: seededRandom(5),
  });
  onTestFinished(async () => {
    const stopped = feed.stop();
    await clock.advance(1_000);
    await stopped;
  });
  await clock.advance(3_000);
  let shown = feed.state();
  const changes: DashboardChange[] = [];
  feed.subscribe((change) => {
    changes.push(change);
    shown = merge(shown, change);
  });
  const find = <T>(what: string, found: T | undefined): T => {
    if (found === undefined) throw new Error(`the page does not show ${what}`);
    return found;
  };
  const service = (key: string) =>
    find(
      key,
      shown.services.find((one) => one.key === key),
    );
  return {
    feed,
    page: () => shown,
    changes,
    lines,
    service,
    cluster: (id) =>
      find(
        id,
        shown.clusters.find((one) => one.id === id),
      ),
    part: (key, cluster) =>
      find(
        `${key} in ${cluster}`,
        service(key).parts.find((one) => one.cluster === cluster),
      ),
    events: () => shown.events.map(({ kind, sentence }) => `${kind} ${sentence}`),
  };
}

/** The store, but for one kind another one. */
export function divert(store: Store, plural: string, other: Store): Store {
  const of = (resource: Resource): Store => (resource.plural === plural ? other : store);
  return {
    ...store,
    list: (resource, listing) => of(resource).list(resource, listing),
    watch: (resource, watching, onEvent) => of(resource).watch(resource, watching, onEvent),
    get: (resource, ref, getting) => of(resource).get(resource, ref, getting),
  };
}

/** The store, with one kind that is always answered so. */
export function refuse(store: Store, plural: string, code: StoreErrorCode): Store {
  const fail = (): Promise<never> => Promise.reject(new StoreError(code, `answered ${code}`));
  return divert(store, plural, { ...store, list: fail, watch: fail, get: fail });
}

/** As state.ts promises that it can be done. */
export function merge(state: DashboardState, change: DashboardChange): DashboardState {
  if (change.version !== state.version + 1) throw new Error("a change was missed");
  const clusters = new Map(state.clusters.map((one) => [one.id, one]));
  for (const one of change.clusters) clusters.set(one.id, one);
  for (const id of change.goneClusters) clusters.delete(id);
  const services = new Map(state.services.map((one) => [one.key, one]));
  for (const one of change.services) services.set(one.key, one);
  for (const key of change.goneServices) services.delete(key);
  return {
    version: change.version,
    server: state.server,
    ...(change.hub === undefined ? {} : { hub: change.hub }),
    synced: change.synced,
    clusters: [...clusters.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    services: [...services.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1)),
    events: [...state.events, ...change.events],
    latency: [...state.latency, ...change.latency],
  };
}

/** Ages are of the moment that they were told. */
export function ageless(state: DashboardState): unknown {
  return JSON.parse(
    JSON.stringify(state, (key, value: unknown) =>
      key === "syncAgeSeconds" || key === "leaseAgeSeconds" ? undefined : value,
    ),
  );
}
