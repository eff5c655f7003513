// Page: the state and the changes that the server tells in, what the page knows out, each thing with the moment it was told, so
// that ages count on.

import type {
  ClusterState,
  DashboardChange,
  DashboardState,
  LatencySample,
  ServiceState,
  TimelineEvent,
} from "../state.ts";

/** The server keeps as many. */
const EVENTS = 500;
const SAMPLES = 300;

export interface Told<T> {
  readonly value: T;
  /** Monotonic, of this browser. */
  readonly toldAtMs: number;
}

export interface Model {
  readonly version: number;
  readonly server: DashboardState["server"];
  readonly hub?: DashboardState["hub"];
  readonly synced: boolean;
  readonly clusters: ReadonlyMap<string, Told<ClusterState>>;
  readonly services: ReadonlyMap<string, Told<ServiceState>>;
  /** Oldest first. */
  readonly events: readonly TimelineEvent[];
  readonly latency: readonly LatencySample[];
}

export function createModel(state: DashboardState, toldAtMs: number): Model {
  const { version, server, hub, synced, clusters, services, events, latency } = state;
  return {
    version,
    server,
    ...(hub === undefined ? {} : { hub }),
    synced,
    clusters: new Map(clusters.map((value) => [value.id, { value, toldAtMs }])),
    services: new Map(services.map((value) => [value.key, { value, toldAtMs }])),
    events: events.slice(-EVENTS),
    latency: latency.slice(-SAMPLES),
  };
}

/** What is older than what is known changes nothing. */
export function applyChange(model: Model, change: DashboardChange, toldAtMs: number): Model {
  if (change.version <= model.version) return model;
  const { version, synced, hub } = change;
  const lastEvent = model.events.at(-1)?.id ?? -1;
  const fresh = change.events.filter(({ id }) => id > lastEvent);
  return {
    version,
    server: model.server,
    ...(hub === undefined ? {} : { hub }),
    synced,
    clusters: merge(model.clusters, change.goneClusters, {
      told: change.clusters.map((value) => [value.id, { value, toldAtMs }]),
    }),
    services: merge(model.services, change.goneServices, {
      told: change.services.map((value) => [value.key, { value, toldAtMs }]),
    }),
    events: fresh.length === 0 ? model.events : [...model.events, ...fresh].slice(-EVENTS),
    latency:
      change.latency.length === 0
        ? model.latency
        : [...model.latency, ...change.latency].slice(-SAMPLES),
  };
}

/** The same map where nothing changed, so that what was drawn of it can stay. */
function merge<T>(
  known: ReadonlyMap<string, Told<T>>,
  gone: readonly string[],
  { told }: { readonly told: readonly (readonly [string, Told<T>])[] },
): ReadonlyMap<string, Told<T>> {
  if (told.length === 0 && gone.length === 0) return known;
  const merged = new Map(known);
  for (const id of gone) merged.delete(id);
  for (const [id, value] of told) merged.set(id, value);
  return merged;
}
