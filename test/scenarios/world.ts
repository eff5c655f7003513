// Scenario suite: a world of one scenario: some clusters, a namespace of its own in each, and what keeps them in step,
// central or agents, which can be started, stopped and restarted. Nothing of it is left behind.

import { NAMESPACE } from "../../src/api/builtin.ts";
import { createPolicy, type NamespacePolicy } from "../../src/core/policy.ts";
import type { KubeObject, Resource } from "../../src/api/object.ts";
import { systemClock, systemRandom } from "../../src/kube/clock.ts";
import { type Clock, sleep } from "../../src/ports/clock.ts";
import type { Log, LogFields } from "../../src/ports/log.ts";
import type { Store, WatchEvent } from "../../src/ports/store.ts";
import { unique } from "../contract/objects.ts";
import { createAgentFleet } from "./agents.ts";
import { type Engine, startCentralEngine } from "./engine.ts";
import type { FleetCluster } from "./fleet.ts";
import { createLine, type Line } from "./line.ts";
import { eventually } from "./poll.ts";
import { Site } from "./site.ts";

export interface StartOptions {
  readonly namespaces?: NamespacePolicy;
  readonly denied?: readonly string[];
  /** How much faster time goes by for it: bounds of half a minute need not take half a minute. */
  readonly pace?: number;
  /** Id by site; without an entry the cluster has to say itself who it is. By default: what the site is called. */
  readonly ids?: Readonly<Record<string, string>>;
  /** The first only, to see what one more does. By default: all. */
  readonly sites?: readonly Site[];
}

export interface LogLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  readonly fields: LogFields;
}

/** What a watcher of one object saw. */
export interface Recording {
  readonly events: readonly WatchEvent<KubeObject>[];
  stop(): Promise<void>;
}

export interface World {
  readonly mode: "central" | "agents";
  /** There from the beginning, in every cluster. */
  readonly namespace: string;
  readonly sites: readonly [Site, Site, ...Site[]];
  readonly log: readonly LogLine[];
  start(options?: StartOptions): void;
  stop(): Promise<void>;
  restart(options?: StartOptions): Promise<void>;
  /** From now on its time goes by so many times as fast. */
  hasten(pace: number): void;
  /** So much of its own time goes by. */
  outlast(seconds: number): Promise<void>;
  /** All members are joined and in step, and nothing is left to do. */
  settle(): Promise<void>;
  /** A name that no namespace has yet; whoever makes it, it is gone afterwards. */
  reserveNamespace(): string;
  /** Between the site's agent and the hub; central has no such lines. */
  hubLine(site: Site): Line;
  /** Namespaces of the cluster itself are hidden unless shown. */
  show(namespace: string): void;
  writes(): readonly string[];
  forgetWrites(): void;
  record(site: Site, resource: Resource, name: string): Promise<Recording>;
  /** The same for all sites, at the same time. */
  everywhere<T>(sentence: string, assertion: (site: Site) => Promise<T>): Promise<T[]>;
  /** The failure with what was logged and written. */
  explain(error: unknown): unknown;
  close(): Promise<void>;
}

/** With agents when there is a hub for them, else with central. */
export async function openWorld(
  clusters: readonly FleetCluster[],
  hub?: { readonly store: Store; close(): Promise<void> },
): Promise<World> {
  const namespace = unique("scene-");
  const shown = new Set([namespace]);
  const reserved = new Set([namespace]);
  const recordings: Recording[] = [];
  const log: LogLine[] = [];
  const agents = hub === undefined ? undefined : createAgentFleet(hub.store);
  let engine: Engine | undefined;
  let members: readonly Site[] = [];
  let clock = createPacedClock(systemClock, 1);

  const sites = clusters.map(
    (cluster) =>
      new Site(
        cluster,
        createLine(cluster.agentStore ?? cluster.store, (name) => shown.has(name)),
        namespace,
      ),
  );
  await Promise.all(sites.map((site) => createNamespace(site, namespace)));

  function start(options: StartOptions = {}): void {
    const { pace = 1, ids = Object.fromEntries(sites.map(({ id }) => [id, id])) } = options;
    members = options.sites ?? sites;
    clock = createPacedClock(systemClock, pace);
    engine = (agents?.start ?? startCentralEngine)({
      members,
      ids,
      policy: createPolicy(options),
      clock,
      random: systemRandom,
      log: createLog(log),
    });
  }

  async function stop(): Promise<void> {
    await engine?.stop();
    engine = undefined;
  }

  async function settle(): Promise<void> {
    const servers = [...sites.map(({ store }) => store), ...(hub === undefined ? [] : [hub.store])];
    let idleInARow = 0;
    await eventually("all members are in step", async () => {
      // A server that is slow to answer is slow to tell its watchers, too.
      await Promise.all(servers.map((store) => store.get(NAMESPACE, { name: namespace })));
      const joined = engine?.joined() ?? 0;
      const isIdle = joined === members.length && isSynced(log, joined) && engine?.isIdle();
      idleInARow = isIdle === true ? idleInARow + 1 : 0;
      // Work that comes back through a watch is not queued yet when the work before it is done.
      if (idleInARow < 5) throw new Error(`${joined} of ${members.length} joined, idle: ${isIdle}`);
    });
  }

  const world: World = {
    mode: agents === undefined ? "central" : "agents",
    namespace,
    sites: sites as [Site, Site, ...Site[]],
    log,
    start,
    stop,
    async restart(options) {
      await stop();
      log.length = 0;
      start(options);
    },
    hasten: (pace) => clock.hasten(pace),
    outlast: (seconds) => sleep(clock, seconds * 1_000),
    settle,
    reserveNamespace() {
      const name = unique("scene-");
      shown.add(name);
      reserved.add(name);
      return name;
    },
    show: (name) => shown.add(name),
    hubLine(site) {
      if (agents === undefined) throw new Error("central has no hub to be cut off from");
      return agents.line(site);
    },
    writes: () => [
      ...sites.flatMap(({ id, line }) => line.writes().map((text) => `${id}: ${text}`)),
      ...(agents?.writes() ?? []),
    ],
    forgetWrites: () => {
      agents?.forgetWrites();
      for (const { line } of sites) line.forgetWrites();
    },
    async record(site, resource, name) {
      const recording = await recordObject(site, resource, { namespace, name });
      recordings.push(recording);
      return recording;
    },
    everywhere: (sentence, assertion) =>
      Promise.all(
        sites.map((site) => eventually(`in ${site.id}: ${sentence}`, () => assertion(site))),
      ),
    explain(error) {
      if (error instanceof Error) {
        error.message += `\n${renderLog(log)}\n${world.writes().slice(-LINES_SHOWN).join("\n")}`;
      }
      return error;
    },
    async close() {
      await stop();
      await Promise.all(recordings.map((recording) => recording.stop()));
      await hub?.close();
      for (const name of reserved) {
        await Promise.all(sites.map(({ store }) => store.delete(NAMESPACE, { name })));
      }
    },
  };
  return world;
}

export async function createNamespace(site: Site, name: string): Promise<void> {
  await site.store.create(NAMESPACE, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
}

async function recordObject(
  site: Site,
  resource: Resource,
  ref: { readonly namespace: string; readonly name: string },
): Promise<Recording> {
  const { namespace, name } = ref;
  const events: WatchEvent<KubeObject>[] = [];
  const stopping = new AbortController();
  const { resourceVersion } = await site.store.list(resource, { namespace });
  const ended = site.store.watch(
    resource,
    { namespace, resourceVersion, signal: stopping.signal },
    (event) => {
      if (event.type !== "BOOKMARK" && event.object.metadata.name === name) events.push(event);
    },
  );
  return {
    events,
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}

interface PacedClock extends Clock {
  /** What is scheduled already comes as it was going to. */
  hasten(pace: number): void;
}

function createPacedClock(clock: Clock, firstPace: number): PacedClock {
  let pace = firstPace;
  let turnedAt = { real: clock.monotonic(), paced: clock.monotonic() };
  const monotonic = (): number => turnedAt.paced + (clock.monotonic() - turnedAt.real) * pace;
  return {
    now: () => clock.now(),
    monotonic,
    schedule: (delayMs, callback) => clock.schedule(delayMs / pace, callback),
    hasten(next) {
      turnedAt = { real: clock.monotonic(), paced: monotonic() };
      pace = next;
    },
  };
}

function isSynced(log: readonly LogLine[], members: number): boolean {
  return log.filter(({ message }) => message === "cluster is synced").length >= members;
}

function createLog(lines: LogLine[], context: LogFields = {}): Log {
  const write =
    (level: LogLine["level"]) =>
    (message: string, fields: LogFields = {}): void => {
      lines.push({ level, message, fields: { ...context, ...fields } });
    };
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    with: (fields) => createLog(lines, { ...context, ...fields }),
  };
}

const LINES_SHOWN = 40;

function renderLog(log: readonly LogLine[]): string {
  return log
    .slice(-LINES_SHOWN)
    .map(({ level, message, fields }) => `  ${level} ${message} ${JSON.stringify(fields)}`)
    .join("\n");
}
