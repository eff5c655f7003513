// Dashboard: API servers in, the state of the clusterset and its changes out, as the page is told them. Watches tell which services
// changed; these rows are made anew, a few times a second at most, and compared with what was told before.
//
//   watches ─▶ keys of services ─▶ rows (core) ─▶ what is different ─▶ change, events
//   heartbeats, Leases ──────────▶ clusters (core) ──────┘

import type { ServiceKey } from "../api/names.ts";
import { VERSION } from "../api/version.ts";
import { makeRow, renderRow, type Row } from "../core/dashboard/row.ts";
import { findHappenings, type Happening } from "../core/dashboard/timeline.ts";
import { DEFAULT_LIVENESS, type LivenessPolicy } from "../core/liveness.ts";
import { compareText } from "../core/order.ts";
import { isSameData } from "../core/write.ts";
import { formatMilliTime, formatTime, type Timer } from "../ports/clock.ts";
import { type Sources, startGathering } from "./gathering.ts";
import { createRoll, type Listed } from "./roll.ts";
import type { Feed } from "./server.ts";
import type {
  ClusterState,
  DashboardChange,
  DashboardState,
  ServiceState,
  TimelineEvent,
} from "./state.ts";
import { createStopwatch } from "./stopwatch.ts";
import { createWitness } from "./witness.ts";

export interface FeedOptions extends Sources {
  /** What runs it, in a word or two. */
  readonly mode: string;
  readonly policy?: LivenessPolicy;
  readonly heartbeatMs?: number;
  /** What cannot be shown though it should: a defect of ours. The rest is. */
  readonly onDefect: (error: unknown) => void;
}

export interface RunningFeed extends Feed {
  /** All clusters have been read: what happens from now on is news. */
  isRead(): boolean;
  stop(): Promise<void>;
}

const TELL_EVERY_MS = 250;
/** What one write brings about comes together. */
const GATHER_MS = 20;
const LOOK_EVERY_MS = 1_000;
const HEARTBEAT_MS = 5_000;
const EVENTS_KEPT = 500;

interface Reviewed {
  readonly was: ReadonlyMap<ServiceKey, ServiceState | undefined>;
  readonly now: ReadonlyMap<ServiceKey, ServiceState | undefined>;
}
const NOTHING: Reviewed = { was: new Map(), now: new Map() };

export function startFeed(options: FeedOptions): RunningFeed {
  const { clock, policy = DEFAULT_LIVENESS } = options;
  const roll = createRoll({ clock, policy });
  const witnessLook = createWitness(roll);
  const startedAt = formatTime(clock.now());
  const dirty = new Set<ServiceKey>();
  const rows = new Map<ServiceKey, Row>();
  const listeners = new Set<(change: DashboardChange) => void>();
  let clusters: ReadonlyMap<string, ClusterState> = new Map();
  let heardAt: ReadonlyMap<string, number | undefined> = new Map();
  let judged = "";
  let events: readonly TimelineEvent[] = [];
  let hubTold: DashboardState["hub"];
  let version = 0;
  let isSynced = false;
  let isWhole = false;
  let nextEvent = 1;
  let toldAtMs = -Infinity;
  let timer: Timer | undefined;
  let isStopped = false;
  let whole: { readonly state: DashboardState; readonly atMs: number } | undefined;

  const gathering = startGathering({
    ...options,
    heartbeatMs: options.heartbeatMs ?? HEARTBEAT_MS,
    onService: note,
    onChange: tellSoon,
    onEndpoints(feed, shift) {
      if (isSynced) stopwatch.noteCluster(feed, shift);
    },
    onShared(shift) {
      if (isSynced) stopwatch.noteHub(shift);
    },
    onHub() {
      for (const service of rows.keys()) dirty.add(service);
    },
  });
  const stopwatch = createStopwatch({ clock, gathering });

  function note(service: ServiceKey): void {
    dirty.add(service);
    tellSoon();
  }

  function tellSoon(): void {
    if (isStopped) return;
    const sinceMs = clock.monotonic() - toldAtMs;
    timer ??= clock.schedule(Math.max(GATHER_MS, TELL_EVERY_MS - sinceMs), () => {
      timer = undefined;
      toldAtMs = clock.monotonic();
      try {
        update();
      } catch (error) {
        options.onDefect(error);
      }
    });
  }

  /** Looks at what changed, and tells it. */
  function update(): void {
    const listed = gathering.listed();
    const hub = gathering.hub();
    const isFirst = !isSynced;
    if (isFirst) {
      isSynced = gathering.isAsked();
      if (isSynced) for (const key of gathering.services()) dirty.add(key);
    }
    roll.look(listed, hub);
    const witness = witnessLook(listed, hub);
    const before = clusters;
    clusters = new Map(listed.map((one) => [one.id, roll.show(one, hub)]));
    const heardBefore = heardAt;
    heardAt = new Map(listed.map(({ id }) => [id, hub?.leaseOf(id)?.sinceMs]));
    const isOld = (one: ClusterState): boolean =>
      heardBefore.get(one.id) === heardAt.get(one.id) && isSameCluster(before.get(one.id), one);
    const judgedBefore = judged;
    judged = listed
      .map(({ id, feed }) => [id, clusters.get(id)?.liveness, feed?.isRead(), feed?.hasSlices()])
      .join();
    // How a row reads depends on how its clusters are judged, and on what is known of them.
    if (judged !== judgedBefore && !isFirst) for (const key of rows.keys()) dirty.add(key);
    isWhole = listed.every(({ feed }) => feed?.isRead() === true);
    const changed = isSynced ? review(listed) : NOTHING;
    const happened = isFirst
      ? []
      : findHappenings(
          { clusters: before, services: changed.was },
          { clusters, services: changed.now },
          witness,
        );
    tell({
      clusters: [...clusters.values()].filter((one) => !isOld(one)),
      goneClusters: [...before.keys()].filter((id) => !clusters.has(id)),
      services: [...changed.now.keys()],
      happened,
      wasSynced: !isFirst,
    });
  }

  /** Rows that differ from what was told, before and after. */
  function review(listed: readonly Listed[]): Reviewed {
    const was = new Map<ServiceKey, ServiceState | undefined>();
    const now = new Map<ServiceKey, ServiceState | undefined>();
    for (const key of dirty) {
      const before = rows.get(key);
      const after = makeRow(key, gathering.look(key, listed, clusters), isWhole);
      if (isSameRow(before, after)) continue;
      was.set(key, before?.state);
      now.set(key, after?.state);
      if (after === undefined) rows.delete(key);
      else rows.set(key, after);
    }
    dirty.clear();
    return { was, now };
  }

  function tell(news: {
    readonly clusters: readonly ClusterState[];
    readonly goneClusters: readonly string[];
    readonly services: readonly ServiceKey[];
    readonly happened: readonly Happening[];
    readonly wasSynced: boolean;
  }): void {
    const nowMs = clock.now();
    const at = formatMilliTime(nowMs);
    const fresh = news.happened.map((one) => ({ id: nextEvent++, at, ...one }));
    const hubNow = showHub();
    const change: DashboardChange = {
      version: version + 1,
      synced: isSynced,
      ...(hubNow === undefined ? {} : { hub: hubNow }),
      clusters: news.clusters,
      goneClusters: news.goneClusters,
      services: news.services.flatMap((key) => {
        const row = rows.get(key);
        return row === undefined ? [] : renderRow(row, nowMs);
      }),
      goneServices: news.services.filter((key) => !rows.has(key)),
      events: fresh,
      latency: stopwatch.take(),
    };
    const isNothing =
      news.wasSynced === isSynced &&
      isSameData(hubTold, hubNow) &&
      [news.clusters, news.goneClusters, news.services, fresh, change.latency].every(
        (some) => some.length === 0,
      );
    if (isNothing) return;
    version += 1;
    whole = undefined;
    hubTold = hubNow;
    events = [...events, ...fresh].slice(-EVENTS_KEPT);
    for (const listener of listeners) listener(change);
  }

  function showHub(): DashboardState["hub"] {
    const hub = gathering.hub();
    if (hub === undefined) return undefined;
    const problem = hub.problem();
    const { server } = hub.credential;
    return problem === undefined ? { server } : { server, problem };
  }

  function lookLater(): Timer {
    return clock.schedule(LOOK_EVERY_MS, () => {
      tellSoon();
      if (!isStopped) next = lookLater();
    });
  }
  let next = lookLater();

  return {
    state() {
      const atMs = clock.monotonic();
      if (whole !== undefined && atMs - whole.atMs < LOOK_EVERY_MS) return whole.state;
      const nowMs = clock.now();
      const hubNow = showHub();
      const state: DashboardState = {
        version,
        server: { version: VERSION, startedAt, mode: options.mode },
        ...(hubNow === undefined ? {} : { hub: hubNow }),
        synced: isSynced,
        clusters: [...clusters.values()],
        services: [...rows.values()]
          .map((row) => renderRow(row, nowMs))
          .toSorted((a, b) => compareText(a.key, b.key)),
        events,
        latency: stopwatch.kept(),
      };
      whole = { state, atMs };
      return state;
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    explain: (service, signal) => gathering.explain(service, signal),
    isRead: () => isSynced && isWhole,
    async stop() {
      isStopped = true;
      next.cancel();
      timer?.cancel();
      listeners.clear();
      await gathering.stop();
    },
  };
}

function isSameRow(a: Row | undefined, b: Row | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return (
    a.syncedAtMs.size === b.syncedAtMs.size &&
    [...a.syncedAtMs].every(([cluster, atMs]) => b.syncedAtMs.get(cluster) === atMs) &&
    isSameData(a.state, b.state)
  );
}

/** Ages grow by themselves. */
function isSameCluster(a: ClusterState | undefined, b: ClusterState): boolean {
  if (a === undefined) return false;
  const { leaseAgeSeconds: _, ...before } = a;
  const { leaseAgeSeconds: __, ...after } = b;
  return isSameData(before, after);
}
