// Test double: agents over embedded clusters and an embedded hub, all on one virtual clock, so that outages of hours take
// no time and every run tells the same story. Each agent has a line to its own API server and one to the hub.

import { NAMESPACE } from "../src/api/builtin.ts";
import { HUB_CRDS, MEMBER_CRDS } from "../src/api/crds.ts";
import type { ClusterMember } from "../src/api/isthmus.ts";
import type { ClusterId } from "../src/api/names.ts";
import type { Resource } from "../src/api/object.ts";
import { type Agent, startAgent } from "../src/controllers/agent.ts";
import { installCrds } from "../src/controllers/crd.ts";
import { createPolicy } from "../src/core/policy.ts";
import { EmbeddedCluster } from "../src/embedded/cluster.ts";
import { createKubernetesHub, type KubernetesHub } from "../src/hub/kubernetes.ts";
import type { Log, LogFields } from "../src/ports/log.ts";
import type { Store } from "../src/ports/store.ts";
import { createContact } from "../src/runtime/contact.ts";
import { VirtualClock } from "./clock.ts";
import { seededRandom } from "./embedded.ts";
import { evictMember, registerMember } from "./hubMember.ts";
import { createLine, type Line } from "./scenarios/line.ts";
import { Site } from "./scenarios/site.ts";

export const SHOP = "shop";

interface LogLine {
  readonly message: string;
  readonly fields: LogFields;
}

export class AgentSite {
  readonly id: ClusterId;
  readonly cluster: EmbeddedCluster;
  /** As its users see it: without faults. */
  readonly site: Site;
  /** As its agent sees it. */
  readonly line: Line;
  /** As its agent sees the hub. */
  readonly hubLine: Line;
  /** When its agent asked something of the hub, answered or not; renewals of its Lease aside. */
  readonly asked: { readonly atMs: number; readonly what: string }[] = [];
  readonly log: LogLine[] = [];
  readonly #world: AgentWorld;
  #running: { readonly agent: Agent; readonly hub: KubernetesHub } | undefined;
  #starts = 0;

  constructor(world: AgentWorld, id: ClusterId, index: number) {
    const { clock } = world;
    this.#world = world;
    this.id = id;
    this.cluster = new EmbeddedCluster({ name: id, clock, random: seededRandom(index + 1) });
    this.line = createLine(this.cluster.store({ userAgent: "isthmus-agent" }), () => true);
    this.hubLine = createLine(world.hub.store({ userAgent: id }), () => true);
    const store = this.cluster.store({ userAgent: "user" });
    this.site = new Site({ id, store, serviceCidrs: ["10.96.0.0/16"] }, this.line, SHOP);
  }

  start(): void {
    const { clock } = this.#world;
    this.#starts += 1;
    const random = seededRandom(this.id.length * 100 + this.#starts);
    const log = this.#createLog();
    const contact = createContact({ store: this.#counted(this.hubLine.store), clock });
    const hub = createKubernetesHub({ cluster: this.id, store: contact.store, clock, random, log });
    const agent = startAgent({
      cluster: this.id,
      store: this.line.store,
      hub,
      contact,
      policy: createPolicy({ namespaces: "wait" }),
      clock,
      random,
      log,
    });
    this.#running = { agent, hub };
  }

  get agent(): Agent {
    return this.#running!.agent;
  }

  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.agent.stop();
    await running?.hub.stop();
  }

  async restart(): Promise<void> {
    await this.#world.during(this.stop());
    this.start();
  }

  said(text: string): readonly LogLine[] {
    return this.log.filter(({ fields }) => JSON.stringify(fields).includes(text));
  }

  #counted(server: Store): Store {
    const note = (what: string, { plural }: { readonly plural: string }): void => {
      this.asked.push({ atMs: this.#world.clock.monotonic(), what: `${what} ${plural}` });
    };
    const store: Store = { ...server };
    for (const verb of ["get", "list", "watch", "create", "replace", "apply", "delete"] as const) {
      const ask = server[verb] as (resource: Resource, ...rest: unknown[]) => never;
      Object.assign(store, {
        [verb]: (resource: Resource, ...rest: unknown[]) => {
          const isRenewal = resource.plural === "leases" && verb !== "list" && verb !== "watch";
          if (!isRenewal) note(verb, resource);
          return ask(resource, ...rest);
        },
      });
    }
    return store;
  }

  #createLog(): Log {
    const ignore = (): void => undefined;
    const note = (message: string, fields: LogFields = {}): void => {
      this.log.push({ message, fields });
    };
    const log: Log = { debug: ignore, info: ignore, warn: note, error: note, with: () => log };
    return log;
  }
}

export class AgentWorld {
  readonly clock = new VirtualClock();
  readonly hub: EmbeddedCluster;
  /** As its administrator sees it. */
  readonly hubStore: Store;
  readonly sites: readonly AgentSite[];

  private constructor(ids: readonly string[]) {
    this.hub = new EmbeddedCluster({ name: "hub", clock: this.clock, random: seededRandom(99) });
    this.hubStore = this.hub.store({ userAgent: "administrator" });
    this.sites = ids.map((id, index) => new AgentSite(this, id as ClusterId, index));
  }

  /** Everybody is registered, nobody is started. Pods of the n-th cluster have addresses in 10.n.0.0/16, from 1. */
  static async open(...ids: readonly string[]): Promise<AgentWorld> {
    const world = new AgentWorld(ids);
    const { clock, hubStore } = world;
    await world.during(installCrds({ store: hubStore, crds: HUB_CRDS, clock }));
    for (const { site } of world.sites) {
      await world.during(installCrds({ store: site.store, crds: MEMBER_CRDS, clock }));
      const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: SHOP } };
      await site.store.create(NAMESPACE, namespace);
    }
    for (const { id } of world.sites) await world.register(id);
    return world;
  }

  start(): void {
    for (const site of this.sites) site.start();
  }

  cutHub(): void {
    for (const { hubLine } of this.sites) hubLine.cut();
  }

  healHub(): void {
    for (const { hubLine } of this.sites) hubLine.heal();
  }

  async register(id: ClusterId): Promise<void> {
    const index = this.sites.findIndex((site) => site.id === id);
    const spec: ClusterMember["spec"] = {
      podCIDRs: [`10.${index + 1}.0.0/16`],
      serviceCIDRs: ["10.96.0.0/16"],
    };
    await registerMember(this.hubStore, id, spec);
  }

  async evict(id: ClusterId): Promise<void> {
    await evictMember(this.hubStore, id);
  }

  forgetWrites(): void {
    for (const { line, hubLine } of this.sites) {
      line.forgetWrites();
      hubLine.forgetWrites();
    }
  }

  /** Of all agents, to their clusters and to the hub, but for heartbeats. */
  writes(): readonly string[] {
    return this.sites.flatMap(({ id, line, hubLine }) => [
      ...line.writes().map((text) => `${id}: ${text}`),
      ...hubLine
        .writes()
        .filter((text) => !text.includes(" leases "))
        .map((text) => `${id} to hub: ${text}`),
    ]);
  }

  /** Lets that much time go by. */
  async pass(seconds: number): Promise<void> {
    await this.clock.advance(seconds * 1_000);
  }

  /** Lets time go by until it has happened. */
  async during<T>(happening: Promise<T>): Promise<T> {
    const state = { ended: false };
    const watched = happening.finally(() => {
      state.ended = true;
    });
    for (let round = 0; !state.ended && round < 1_000; round += 1) await this.clock.advance(20);
    return watched;
  }

  /** Virtual seconds until it holds, looked at every tenth; fails when it does not within the limit. */
  async until(sentence: string, limitSeconds: number, holds: () => Promise<boolean>) {
    const beganMs = this.clock.monotonic();
    for (;;) {
      if (await holds()) return (this.clock.monotonic() - beganMs) / 1_000;
      if (this.clock.monotonic() - beganMs > limitSeconds * 1_000) {
        throw new Error(`not within ${limitSeconds} s: ${sentence}`);
      }
      await this.clock.advance(100);
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.sites.map((site) => site.stop()));
  }
}
