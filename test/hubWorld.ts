// Test double: a hub on an embedded API server and the agents' view of it, all on one virtual clock. Each agent has a line
// of its own, which counts what it writes and can be cut.

import { CUSTOM_RESOURCE_DEFINITION, type CustomResourceDefinition } from "../src/api/builtin.ts";
import { HUB_CRDS } from "../src/api/crds.ts";
import {
  ENDPOINT_SHARE,
  type EndpointShareObject,
  SERVICE_SHARE,
  type ServiceShareObject,
} from "../src/api/hubshare.ts";
import type { ClusterMember } from "../src/api/isthmus.ts";
import { memberNamespace } from "../src/api/names.ts";
import { apiVersionOf, type KubeObject, type Resource } from "../src/api/object.ts";
import { installCrds } from "../src/controllers/crd.ts";
import { EmbeddedCluster } from "../src/embedded/cluster.ts";
import {
  createKubernetesHub,
  type KubernetesHub,
  type KubernetesHubOptions,
} from "../src/hub/kubernetes.ts";
import type { Log, LogFields } from "../src/ports/log.ts";
import type { Store } from "../src/ports/store.ts";
import { VirtualClock } from "./clock.ts";
import { seededRandom } from "./embedded.ts";
import { evictMember, registerMember } from "./hubMember.ts";
import { createLine, type Line } from "./scenarios/line.ts";
import { id } from "./shares.ts";

export interface HubAgent {
  readonly hub: KubernetesHub;
  readonly line: Line;
  /** Service keys, and "members", in the order in which they were told. */
  readonly heard: string[];
  /** Without heartbeats. */
  writes(): readonly string[];
}

/** Addresses of the builders in shares.ts are in it. */
export const POD_RANGES: ClusterMember["spec"] = { podCIDRs: ["10.0.0.0/16", "fd00::/16"] };

export class HubWorld {
  readonly clock = new VirtualClock();
  readonly cluster: EmbeddedCluster;
  /** As its administrator sees it. */
  readonly admin: Store;
  readonly said: { readonly message: string; readonly fields: LogFields }[] = [];
  readonly #agents = new Set<HubAgent>();

  private constructor() {
    const options = { name: "hub", clock: this.clock, random: seededRandom(1) };
    this.cluster = new EmbeddedCluster(options);
    this.admin = this.cluster.store({ userAgent: "administrator" });
  }

  static async open(...members: readonly string[]): Promise<HubWorld> {
    const world = new HubWorld();
    const { admin, clock } = world;
    await world.during(installCrds({ store: admin, crds: HUB_CRDS, clock }));
    for (const name of members) await world.register(name);
    return world;
  }

  async register(name: string, spec: ClusterMember["spec"] = POD_RANGES): Promise<void> {
    await registerMember(this.admin, id(name), spec);
  }

  async evict(name: string): Promise<void> {
    await evictMember(this.admin, id(name));
  }

  /** Reads what is there before it comes back, unless its line is cut or a fault keeps it from it. */
  async start(name: string, options: Partial<KubernetesHubOptions> = {}): Promise<HubAgent> {
    const line = createLine(this.cluster.store({ userAgent: name }), () => true);
    const agent = this.connect(name, line, options);
    await this.pass(1);
    agent.heard.length = 0;
    return agent;
  }

  connect(name: string, line: Line, options: Partial<KubernetesHubOptions> = {}): HubAgent {
    const { clock } = this;
    const hub = createKubernetesHub({
      cluster: id(name),
      store: line.store,
      clock,
      random: seededRandom(name.length),
      log: this.#log(),
      ...options,
    });
    const heard: string[] = [];
    hub.subscribe({
      onService: (service) => heard.push(service),
      onDoubt: (service) => heard.push(`doubt ${service}`),
      onMembers: () => heard.push("members"),
    });
    const writes = () => line.writes().filter((text) => !text.includes(" leases "));
    const agent = { hub, line, heard, writes };
    this.#agents.add(agent);
    return agent;
  }

  /** Somebody writes a ServiceShare by hand, whatever it holds. */
  async putService(name: string, share: string, spec: unknown): Promise<void> {
    await this.#put(SERVICE_SHARE, name, share, spec);
  }

  async putEndpoints(name: string, share: string, spec: unknown): Promise<void> {
    await this.#put(ENDPOINT_SHARE, name, share, spec);
  }

  async #put<T extends KubeObject>(
    resource: Resource<T>,
    name: string,
    share: string,
    spec: unknown,
  ): Promise<void> {
    const metadata = { namespace: memberNamespace(id(name)), name: share };
    const object = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata, spec };
    await this.admin.apply(resource, object as unknown as T, { fieldManager: "hand", force: true });
  }

  /** As a hub of another release would have it: `alter` gets the schema of the kind's spec. */
  async alterSchema(
    crd: CustomResourceDefinition,
    alter: (spec: Record<string, unknown>) => void,
  ): Promise<void> {
    const { name = "" } = crd.metadata;
    const found = await this.admin.get(CUSTOM_RESOURCE_DEFINITION, { name });
    const other = structuredClone(found!);
    const { openAPIV3Schema } = other.spec.versions[0]!.schema as {
      openAPIV3Schema: { properties: { spec: Record<string, unknown> } };
    };
    alter(openAPIV3Schema.properties.spec);
    await this.admin.replace(CUSTOM_RESOURCE_DEFINITION, other);
    await this.pass(10);
  }

  async serviceShares(): Promise<readonly ServiceShareObject[]> {
    return (await this.admin.list(SERVICE_SHARE)).items;
  }

  async endpointShares(): Promise<readonly EndpointShareObject[]> {
    return (await this.admin.list(ENDPOINT_SHARE)).items;
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
    watched.catch(() => undefined);
    for (let round = 0; !state.ended && round < 1_000; round += 1) await this.clock.advance(20);
    return watched;
  }

  /** Fails when an agent leaves anything running. */
  async stop(): Promise<void> {
    await Promise.all([...this.#agents].map(({ hub }) => hub.stop()));
    this.cluster.stop();
    const { pendingTimers } = this.clock;
    if (pendingTimers > 0) throw new Error(`${pendingTimers} timers still wait`);
  }

  #log(): Log {
    const ignore = (): void => undefined;
    const note = (message: string, fields: LogFields = {}): void => {
      this.said.push({ message, fields });
    };
    const log: Log = { debug: ignore, info: note, warn: note, error: note, with: () => log };
    return log;
  }
}
