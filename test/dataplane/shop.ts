// Data plane: the place of one story: a namespace of its own in every cluster, what its users do there, and what they find.

import { expect } from "vitest";
import {
  ENDPOINT_SLICE,
  type EndpointSlice,
  NAMESPACE,
  POD,
  type Pod,
  SERVICE,
  type Service,
  type ServiceSpec,
} from "../../src/api/builtin.ts";
import { derivedServiceName } from "../../src/api/digest.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT, type ServiceImport } from "../../src/api/mcs.ts";
import { SERVICE_NAME_LABEL, SOURCE_CLUSTER_LABEL, serviceKey } from "../../src/api/names.ts";
import type { Condition, KubeObject, Resource } from "../../src/api/object.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import { eventually } from "../scenarios/poll.ts";
import { type BackendOptions, renderBackends, renderStatefulBackends } from "./backends.ts";
import type { Bed, BedCluster } from "./bed.ts";
import type { Engine } from "./engines.ts";
import { MEMBERS, type MemberName } from "./plan.ts";
import { canConnect } from "./probe.ts";
import { Stream } from "./stream.ts";
import { type CallerOptions, startCaller } from "./traffic.ts";
import {
  aNamespace,
  anExport,
  aService,
  DEPLOYMENT,
  restarted,
  SERVICE_PORTS,
  STATEFUL_SET,
} from "./workload.ts";

/** Nothing is promised about how long it takes on a busy machine. */
export const LIMIT_MS = 60_000;
/** How long a backend that was asked to end goes on serving, and how long in all while it is asked: until everybody knows. */
const DRAIN = { drainMs: 12_000, drainAtMostMs: 60_000 };

export interface Offer {
  readonly replicas?: number;
  readonly staysReady?: boolean;
  readonly spec?: ServiceSpec;
}

export class Shop {
  readonly bed: Bed;
  readonly engine: Engine;
  readonly namespace: string;
  readonly #streams: Stream[] = [];
  #callers = 0;

  private constructor(bed: Bed, engine: Engine, namespace: string) {
    this.bed = bed;
    this.engine = engine;
    this.namespace = namespace;
  }

  static async open(bed: Bed, engine: Engine, namespace: string): Promise<Shop> {
    const shop = new Shop(bed, engine, namespace);
    await Promise.all(MEMBERS.map((id) => shop.store(id).create(NAMESPACE, aNamespace(namespace))));
    return shop;
  }

  /** Backends of a story that is over need not run on; nobody waits for their end, or asks whether there is power for it. */
  leave(): void {
    const ends = MEMBERS.map((id) => this.store(id).delete(NAMESPACE, { name: this.namespace }));
    void Promise.allSettled(ends);
  }

  get streams(): readonly Stream[] {
    return this.#streams;
  }

  cluster(id: MemberName): BedCluster {
    return this.bed.clusters[id];
  }

  store(id: MemberName): KubeClient {
    return this.cluster(id).store;
  }

  get<T extends KubeObject>(
    id: MemberName,
    resource: Resource<T>,
    name: string,
  ): Promise<T | undefined> {
    return this.store(id).get(resource, { namespace: this.namespace, name });
  }

  async require<T extends KubeObject>(
    id: MemberName,
    resource: Resource<T>,
    name: string,
  ): Promise<T> {
    const object = await this.get(id, resource, name);
    if (object === undefined) throw new Error(`${id} has no ${resource.kind} "${name}"`);
    return object;
  }

  async delete(id: MemberName, resource: Resource, name: string): Promise<void> {
    await this.store(id).delete(resource, { namespace: this.namespace, name });
  }

  /** Read, changed and written back, again when somebody else was quicker. */
  edit<T extends KubeObject>(
    id: MemberName,
    resource: Resource<T>,
    name: string,
    change: (object: T) => T,
  ): Promise<T> {
    return eventually(
      `${resource.kind} "${name}" of ${id} takes an edit`,
      async () => this.store(id).replace(resource, change(await this.require(id, resource, name))),
      LIMIT_MS,
    );
  }

  /** A Deployment and a Service in front of it. Resolves when all its pods are ready. */
  async serve(id: MemberName, name: string, offer: Offer = {}): Promise<void> {
    const { spec } = offer;
    await this.store(id).create(SERVICE, aService(this.namespace, name, spec));
    const workload = renderBackends(this.cluster(id), this.#backends(name, offer));
    await this.store(id).create(DEPLOYMENT, workload);
    await this.podsAreReady(id, name, offer.replicas ?? 1);
  }

  /** A StatefulSet and its headless Service. */
  async serveHeadless(id: MemberName, name: string, offer: Offer = {}): Promise<void> {
    const spec: ServiceSpec = { clusterIP: "None", ...offer.spec };
    await this.store(id).create(SERVICE, aService(this.namespace, name, spec));
    const options = { ...this.#backends(name, offer), serviceName: name };
    const workload = renderStatefulBackends(this.cluster(id), options);
    await this.store(id).create(STATEFUL_SET, workload);
    await this.podsAreReady(id, name, offer.replicas ?? 1);
  }

  #backends(name: string, { replicas = 1, staysReady = false }: Offer): BackendOptions {
    return { namespace: this.namespace, name, replicas, staysReady, ...DRAIN };
  }

  async export(id: MemberName, name: string): Promise<void> {
    await this.store(id).create(SERVICE_EXPORT, anExport(this.namespace, name));
  }

  async unexport(id: MemberName, name: string): Promise<void> {
    await this.delete(id, SERVICE_EXPORT, name);
  }

  async offer(id: MemberName, name: string, offer: Offer = {}): Promise<void> {
    await this.serve(id, name, offer);
    await this.export(id, name);
  }

  async scale(id: MemberName, name: string, replicas: number): Promise<void> {
    await this.edit(id, DEPLOYMENT, name, (workload) => ({
      ...workload,
      spec: { ...workload.spec, replicas },
    }));
    await this.podsAreReady(id, name, replicas);
  }

  /** As `kubectl rollout restart` does. Resolves when no old pod is left. */
  async restart(id: MemberName, name: string): Promise<void> {
    const before = new Set((await this.pods(id, name)).map(({ metadata }) => metadata.uid));
    const at = new Date().toISOString();
    const workload = await this.edit(id, DEPLOYMENT, name, (old) => restarted(old, at));
    await eventually(
      `every pod of ${name} in ${id} is a new one`,
      async () =>
        expectNewPods(await this.pods(id, name), { before, count: workload.spec.replicas }),
      2 * LIMIT_MS,
    );
  }

  /** Its pods drain, then export and Service go. */
  async retire(id: MemberName, name: string): Promise<void> {
    await this.scale(id, name, 0);
    await this.unexport(id, name);
    for (const resource of [SERVICE, DEPLOYMENT]) await this.delete(id, resource, name);
  }

  /** Those on their way out included. */
  async pods(id: MemberName, name: string): Promise<readonly Pod[]> {
    const { namespace } = this;
    const selection = { namespace, labelSelector: `app=${name}` };
    return (await this.store(id).list(POD, selection)).items;
  }

  /** So many, ready, and none on its way out. */
  podsAreReady(id: MemberName, name: string, count: number): Promise<void> {
    return eventually(
      `${name} in ${id} has ${count} pods, all ready`,
      async () => expectPods(await this.pods(id, name), count),
      // Those that go may drain for as long as that, and then linger.
      2 * LIMIT_MS,
    );
  }

  /** As callers name them: "west/web-0". */
  async podNames(id: MemberName, name: string): Promise<readonly string[]> {
    const pods = await this.pods(id, name);
    return pods.map(({ metadata }) => `${id}/${metadata.name}`).toSorted();
  }

  /** In each of all clusters the import leads to the ready pods of these, and to nothing else. */
  async leadsTo(name: string, sources: readonly MemberName[]): Promise<void> {
    for (const id of MEMBERS) {
      await eventually(
        `${name} leads from ${id} to every ready pod in ${sources.join(", ")}`,
        async () => {
          const pods = await Promise.all(sources.map((source) => this.pods(source, name)));
          expectEndpoints(await this.importedAddresses(id, name), pods.flat());
        },
        LIMIT_MS,
      );
    }
  }

  slices(id: MemberName, name: string, source?: MemberName): Promise<readonly EndpointSlice[]> {
    const from = source === undefined ? "" : `,${SOURCE_CLUSTER_LABEL}=${source}`;
    const labelSelector = `${SERVICE_NAME_LABEL}=${name}${from}`;
    return this.store(id)
      .list(ENDPOINT_SLICE, { namespace: this.namespace, labelSelector })
      .then(({ items }) => items);
  }

  async importedAddresses(id: MemberName, name: string): Promise<readonly string[]> {
    const endpoints = (await this.slices(id, name)).flatMap((slice) => slice.endpoints ?? []);
    return endpoints
      .filter(({ conditions }) => conditions?.ready !== false)
      .flatMap(({ addresses }) => addresses)
      .toSorted();
  }

  serviceImport(id: MemberName, name: string): Promise<ServiceImport | undefined> {
    return this.get(id, SERVICE_IMPORT, name);
  }

  derived(id: MemberName, name: string): Promise<Service | undefined> {
    const key = serviceKey({ namespace: this.namespace, name });
    return this.get(id, SERVICE, derivedServiceName(key));
  }

  /** IPv4, then IPv6, as soon as they are given. */
  vips(id: MemberName, name: string): Promise<readonly string[]> {
    return eventually(
      `${name} has virtual IPs in ${id}`,
      async () => requireTwo((await this.serviceImport(id, name))?.spec?.ips ?? []),
      LIMIT_MS,
    );
  }

  async exportCondition(
    id: MemberName,
    name: string,
    type: string,
  ): Promise<Condition | undefined> {
    const { status } = await this.require(id, SERVICE_EXPORT, name);
    return status?.conditions?.find((condition) => condition.type === type);
  }

  /**
   * kube-proxy knows the virtual IPs. A caller that is quicker leaves connections behind that were never translated: the kernel
   * remembers them for two minutes, and sends whoever gets the same port by chance the same way.
   */
  async #isRouted(id: MemberName, name: string): Promise<void> {
    if ((await this.serviceImport(id, name))?.spec?.type === "Headless") return;
    const { port } = SERVICE_PORTS.tcp;
    for (const address of await this.vips(id, name)) {
      await eventually(
        `${id} has a way to ${address}`,
        async () => requireTrue(await canConnect(this.cluster(id).plan.name, { address, port })),
        LIMIT_MS,
      );
    }
  }

  /** Asks from that cluster, by the name of the clusterset unless told otherwise. Resolves when every flow was answered. */
  async call(id: MemberName, name: string, options: Partial<CallerOptions> = {}): Promise<Stream> {
    const { namespace } = this;
    await this.#isRouted(id, name);
    this.#callers += 1;
    const caller = await startCaller(this.cluster(id), {
      namespace,
      name: `caller-${this.#callers}`,
      target: `${name}.${namespace}.svc.clusterset.local`,
      ports: {
        tcp: SERVICE_PORTS.tcp.port,
        udp: SERVICE_PORTS.udp.port,
        http: SERVICE_PORTS.http.port,
      },
      ...options,
    });
    const stream = new Stream(caller);
    this.#streams.push(stream);
    await stream.begin();
    return stream;
  }
}

export function isReady({ metadata, status }: Pick<Pod, "metadata" | "status">): boolean {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "True" && metadata.deletionTimestamp === undefined;
}

function addressesOf({ status }: Pod): readonly string[] {
  return (status?.podIPs ?? []).map(({ ip }) => ip);
}

function requireTwo(ips: readonly string[]): readonly string[] {
  expect(ips).toHaveLength(2);
  return ips;
}

function requireTrue(isTrue: boolean): void {
  expect(isTrue).toBe(true);
}

function expectPods(pods: readonly Pod[], count: number): void {
  expect(pods).toHaveLength(count);
  expect(pods.filter(isReady)).toHaveLength(count);
}

function expectNewPods(
  pods: readonly Pod[],
  { before, count }: { readonly before: ReadonlySet<string | undefined>; readonly count: number },
): void {
  expectPods(pods, count);
  expect(pods.filter(({ metadata }) => before.has(metadata.uid))).toEqual([]);
}

function expectEndpoints(imported: readonly string[], pods: readonly Pod[]): void {
  expect(imported).toEqual(pods.filter(isReady).flatMap(addressesOf).toSorted());
}
