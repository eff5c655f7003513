// World: a setting in; clusters, a hub and their agents on one simulated time out. The agents are the real ones.

import { setMaxListeners } from "node:events";
import { CLUSTER_PROPERTY } from "../src/api/about.ts";
import { CUSTOM_RESOURCE_DEFINITION, NAMESPACE } from "../src/api/builtin.ts";
import { HUB_CRDS, MEMBER_CRDS } from "../src/api/crds.ts";
import {
  CLUSTER_ID_PROPERTY,
  type ClusterId,
  MANAGED_LABEL,
  memberNamespace,
} from "../src/api/names.ts";
import { apiVersionOf, type KubeObject } from "../src/api/object.ts";
import { type Agent, startAgent } from "../src/controllers/agent.ts";
import { installCrds } from "../src/controllers/crd.ts";
import { carryOutDeparture } from "../src/controllers/departure.ts";
import { carryOutLocalDeparture, planLocalDeparture } from "../src/controllers/leave.ts";
import { createPolicy } from "../src/core/policy.ts";
import { EmbeddedCluster } from "../src/embedded/cluster.ts";
import { createKubernetesHub } from "../src/hub/kubernetes.ts";
import type { Log, LogFields } from "../src/ports/log.ts";
import type { Store } from "../src/ports/store.ts";
import { createContact } from "../src/runtime/contact.ts";
import { registerMember } from "../test/hubMember.ts";
import { createStream } from "./chance.ts";
import { Line } from "./line.ts";
import { createNetwork } from "./network.ts";
import type { Observer } from "./observe.ts";
import { Process } from "./process.ts";
import type { Setting } from "./schedule.ts";
import { createClock, SimTime, type Skew } from "./time.ts";

const IDS = ["east", "west", "north", "south", "mid", "far", "near", "edge"];
const AGAIN_MS = 1_000;
/** Services have 10.96.0.0/16. */
const PREFIXES = 90;

export interface Site {
  readonly index: number;
  readonly cluster: EmbeddedCluster;
  /** As its users see it: without faults. */
  readonly store: Store;
  readonly skew: Skew;
  readonly lines: { readonly own: Line; readonly hub: Line };
  /** Undefined while it is no member. */
  id: ClusterId | undefined;
  running: { readonly process: Process; readonly agent: Agent } | undefined;
  /** How many lives its agent had. */
  lives: number;
  /** How many ids it had. */
  ids: number;
  /** How often it left: what was sent before that is not taken any more. */
  departures: number;
}

export interface WorldOptions {
  readonly seed: number;
  readonly setting: Setting;
  readonly observer: Observer;
  readonly definitions: Definitions;
}

export class World {
  readonly time: SimTime;
  readonly sites: readonly Site[];
  readonly hub: EmbeddedCluster;
  /** As its administrator sees it. */
  readonly hubStore: Store;
  readonly hubSkew: Skew;
  readonly #options: WorldOptions;

  constructor(time: SimTime, options: WorldOptions) {
    const { seed, setting, observer, definitions } = options;
    const { skewsMs, clusters, latency } = setting;
    this.#options = options;
    this.time = time;
    this.hubSkew = { ms: skewsMs[clusters] ?? 0 };
    this.hub = new EmbeddedCluster({
      name: "hub",
      clock: createClock(time, this.hubSkew),
      random: createStream(seed, "hub server"),
      definitions: definitions.hub,
      onWrite: (change, userAgent) => observer.onHubWrite(change, userAgent),
    });
    this.hubStore = this.hub.store({ userAgent: "administrator" });
    this.sites = Array.from({ length: clusters }, (_, index) => {
      const skew = { ms: skewsMs[index] ?? 0 };
      const name = `cluster ${index}`;
      const cluster = new EmbeddedCluster({
        name,
        clock: createClock(time, skew),
        random: createStream(seed, `${name} server`),
        definitions: definitions.member,
        onWrite: (change, userAgent) => observer.onWrite(index, change, userAgent),
      });
      const line = (to: string): Line =>
        new Line({ time, latency, random: createStream(seed, `${name} line to ${to}`) });
      return {
        index,
        cluster,
        store: cluster.store({ userAgent: "user" }),
        skew,
        lines: { own: line("own"), hub: line("hub") },
        id: undefined,
        running: undefined,
        lives: 0,
        ids: 0,
        departures: 0,
      };
    });
  }

  site(index: number): Site {
    const site = this.sites[index];
    if (site === undefined) throw new RangeError(`there is no cluster ${index}`);
    return site;
  }

  /** Under a new id when it was renamed. */
  async join(site: Site, isRenamed = false): Promise<void> {
    if (site.id !== undefined) return;
    if (isRenamed || site.ids === 0) site.ids += 1;
    const name = IDS[site.index] ?? `c${site.index}`;
    const id = (site.ids === 1 ? name : `${name}-${site.ids}`) as ClusterId;
    site.id = id;
    await this.#register(site, id);
  }

  /** Once the namespace of a former life is gone. */
  async #register(site: Site, id: ClusterId): Promise<void> {
    const old = await this.hubStore.get(NAMESPACE, { name: memberNamespace(id) });
    if (old !== undefined) {
      this.time.schedule(AGAIN_MS, () => {
        if (site.id === id && site.running === undefined) void this.#register(site, id);
      });
      return;
    }
    await this.enroll(site, id);
    this.start(site);
  }

  /** A member from here on, whose agent is yet to be started. */
  async enroll(site: Site, id: ClusterId): Promise<void> {
    site.id = id;
    await registerMember(this.hubStore, id, {
      podCIDRs: [`${podPrefix(site.index)}.0.0/16`],
      serviceCIDRs: ["10.96.0.0/16"],
    });
    await this.#nameCluster(site, id);
    this.#options.observer.onJoin(site.index, id);
  }

  /** As `isthmus join` does it; leaving takes it away again. */
  async #nameCluster(site: Site, id: ClusterId): Promise<void> {
    await site.store.create(CLUSTER_PROPERTY, {
      apiVersion: apiVersionOf(CLUSTER_PROPERTY),
      kind: CLUSTER_PROPERTY.kind,
      metadata: { name: CLUSTER_ID_PROPERTY, labels: { [MANAGED_LABEL]: "true" } },
      spec: { value: id },
    });
  }

  /** As `isthmus leave` does it, with the agent stopped. */
  async leave(site: Site): Promise<void> {
    const { id } = site;
    if (id === undefined) return;
    const { signal } = new AbortController();
    // As many deletions at a time as it likes.
    setMaxListeners(0, signal);
    this.kill(site);
    site.departures += 1;
    site.id = undefined;
    await carryOutDeparture({ store: this.hubStore, isAdmin: true }, id, signal);
    const store = site.cluster.store({ userAgent: "leave" });
    const clock = createClock(this.time, site.skew);
    await carryOutLocalDeparture({ store, clock, signal }, await planLocalDeparture(store, signal));
  }

  kill(site: Site): void {
    site.running?.process.die();
    site.running = undefined;
  }

  start(site: Site): void {
    const { id } = site;
    if (id === undefined || site.running !== undefined) return;
    const { time } = this;
    const { seed, observer } = this.#options;
    site.lives += 1;
    const name = `${id} life ${site.lives}`;
    const process = new Process(name);
    const clock = createClock(time, site.skew, process);
    const random = createStream(seed, `cluster ${site.index} agent life ${site.lives}`);
    const log = createLog((message, fields) => observer.onLog(name, message, fields));
    const { departures } = site;
    const connect = (to: "own" | "hub", server: Store): Store =>
      createNetwork({
        name: to,
        isRefused: () => site.departures !== departures,
        server,
        line: site.lines[to],
        process,
        time,
        onCall: (call, about, outcome) => observer.onCall(name, to, call, about, outcome),
      });
    const own = connect("own", site.cluster.store({ userAgent: `agent ${id}` }));
    const far = connect("hub", this.hub.store({ userAgent: `agent ${id}` }));
    const seen = observer.watchSight(site, id, { own, hub: far });
    const contact = createContact({ store: seen.hub, clock });
    const hub = createKubernetesHub({ cluster: id, store: contact.store, clock, random, log });
    const policy = createPolicy({ namespaces: "wait" });
    const agent = startAgent({
      cluster: id,
      store: seen.own,
      hub,
      contact,
      policy,
      clock,
      random,
      log,
    });
    site.running = { process, agent };
  }

  /** Leaves nothing running. */
  end(): void {
    for (const site of this.sites) {
      this.kill(site);
      site.cluster.stop();
    }
    this.hub.stop();
  }
}

/** The first half of every address of its pods. No two clusters have the same, and no Service has an address in it. */
export function podPrefix(index: number): string {
  return `${10 + Math.floor(index / PREFIXES)}.${(index % PREFIXES) + 1}`;
}

function createLog(note: (message: string, fields: LogFields) => void): Log {
  const ignore = (): void => undefined;
  const say = (message: string, fields: LogFields = {}): void => note(message, fields);
  const log: Log = { debug: ignore, info: say, warn: say, error: say, with: () => log };
  return log;
}

/** CustomResourceDefinitions as API servers have them once they are installed. */
export interface Definitions {
  readonly hub: readonly KubeObject[];
  readonly member: readonly KubeObject[];
}

/** Installed once, taken over by every world: it is most of what a start costs. */
export async function prepareDefinitions(): Promise<Definitions> {
  return { hub: await establish(HUB_CRDS), member: await establish(MEMBER_CRDS) };
}

async function establish(crds: typeof HUB_CRDS): Promise<readonly KubeObject[]> {
  const time = new SimTime();
  const clock = createClock(time, { ms: 0 });
  const cluster = new EmbeddedCluster({ name: "template", clock, random: createStream(0, "crds") });
  const store = cluster.store();
  const state = { isDone: false };
  const installing = installCrds({ store, crds, clock }).finally(() => {
    state.isDone = true;
  });
  while (!state.isDone) await time.advanceTo(time.nowMs + 20);
  await installing;
  const { items } = await store.list(CUSTOM_RESOURCE_DEFINITION);
  cluster.stop();
  return items;
}
