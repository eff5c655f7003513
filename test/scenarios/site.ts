// Scenario suite: one cluster as its users see it in one scenario: what they write, and what they find.

import { BlockList } from "node:net";
import {
  ENDPOINT_SLICE,
  type Endpoint,
  type EndpointSlice,
  EVENT,
  type Event,
  SERVICE,
  type Service,
  type ServiceSpec,
} from "../../src/api/builtin.ts";
import { derivedServiceName } from "../../src/api/digest.ts";
import {
  SERVICE_EXPORT,
  SERVICE_IMPORT,
  type ServiceExport,
  type ServiceImport,
} from "../../src/api/mcs.ts";
import { SERVICE_NAME_LABEL, SOURCE_CLUSTER_LABEL, serviceKey } from "../../src/api/names.ts";
import type { Condition, KubeObject, ObjectMeta, Resource } from "../../src/api/object.ts";
import type { Store } from "../../src/ports/store.ts";
import type { FleetCluster } from "./fleet.ts";
import type { Line } from "./line.ts";
import { anEndpoint, anExport, aService, aSlice } from "./objects.ts";
import { eventually } from "./poll.ts";

type Conditions = Readonly<Record<string, Condition>>;

export class Site {
  readonly id: string;
  readonly store: Store;
  readonly line: Line;
  readonly serviceCidrs: readonly string[];
  readonly #namespace: string;

  constructor(cluster: FleetCluster, line: Line, namespace: string) {
    this.id = cluster.id;
    this.store = cluster.store;
    this.serviceCidrs = cluster.serviceCidrs;
    this.line = line;
    this.#namespace = namespace;
  }

  /** The same cluster, seen from another namespace. */
  in(namespace: string): Site {
    return new Site(this, this.line, namespace);
  }

  /** A Service and, if it has addresses, the slices of a controller that is not ours: one per family. */
  async serve(
    name: string,
    addresses: readonly (string | Endpoint)[] = [],
    spec: ServiceSpec = {},
  ): Promise<Service> {
    const service = await this.create(SERVICE, aService(this.#namespace, name, spec));
    const endpoints = addresses.map((a) => (typeof a === "string" ? anEndpoint(a) : a));
    const ports = (spec.ports ?? aService("", "").spec?.ports ?? []).map((port) => ({
      name: port.name ?? "",
      protocol: port.protocol ?? "TCP",
      port: Number(port.targetPort ?? port.port),
    }));
    for (const [family, isIpv6] of [["ipv4", false] as const, ["ipv6", true] as const]) {
      const own = endpoints.filter(({ addresses: [ip] }) => ip!.includes(":") === isIpv6);
      if (own.length === 0) continue;
      const fields = { service: name, endpoints: own, ports };
      await this.create(
        ENDPOINT_SLICE,
        aSlice(this.#namespace, this.sliceName(name, family), fields),
      );
    }
    return service;
  }

  /** Of the user's own slice. */
  sliceName(service: string, family: "ipv4" | "ipv6" = "ipv4"): string {
    return `${service}-${family}`;
  }

  export(name: string, spec?: ServiceExport["spec"]): Promise<ServiceExport> {
    return this.create(SERVICE_EXPORT, anExport(this.#namespace, name, spec));
  }

  /** Serves and exports, in one step. */
  async offer(
    name: string,
    addresses: readonly (string | Endpoint)[] = [],
    spec: ServiceSpec = {},
  ): Promise<void> {
    await this.serve(name, addresses, spec);
    await this.export(name);
  }

  async unexport(name: string): Promise<void> {
    await this.delete(SERVICE_EXPORT, name);
  }

  create<T extends KubeObject>(resource: Resource<T>, object: T): Promise<T> {
    return this.store.create(resource, object);
  }

  async delete(resource: Resource, name: string): Promise<void> {
    await this.store.delete(resource, { namespace: this.#namespace, name });
  }

  get<T extends KubeObject>(resource: Resource<T>, name: string): Promise<T | undefined> {
    return this.store.get(resource, { namespace: this.#namespace, name });
  }

  async require<T extends KubeObject>(resource: Resource<T>, name: string): Promise<T> {
    const object = await this.get(resource, name);
    if (object === undefined) throw new Error(`${this.id} has no ${resource.kind} "${name}"`);
    return object;
  }

  /** Read, changed and written back, again when somebody else was quicker. */
  edit<T extends KubeObject>(
    resource: Resource<T>,
    name: string,
    change: (object: T) => T,
  ): Promise<T> {
    return eventually(`${resource.kind} "${name}" of ${this.id} takes an edit`, async () =>
      this.store.replace(resource, change(await this.require(resource, name))),
    );
  }

  serviceImport(name: string): Promise<ServiceImport> {
    return this.require(SERVICE_IMPORT, name);
  }

  derivedName(name: string): string {
    return derivedServiceName(serviceKey({ namespace: this.#namespace, name }));
  }

  derived(name: string): Promise<Service> {
    return this.require(SERVICE, this.derivedName(name));
  }

  /** Slices labelled for the import, by source cluster and family. */
  async slices(name: string, source?: string): Promise<readonly EndpointSlice[]> {
    const from = source === undefined ? "" : `,${SOURCE_CLUSTER_LABEL}=${source}`;
    const { items } = await this.store.list(ENDPOINT_SLICE, {
      namespace: this.#namespace,
      labelSelector: `${SERVICE_NAME_LABEL}=${name}${from}`,
    });
    return items.toSorted((a, b) => sortKey(a).localeCompare(sortKey(b)));
  }

  /** Addresses that the import leads to, sorted; only ready ones unless told otherwise. */
  async addresses(name: string, options: { readonly all?: boolean } = {}): Promise<string[]> {
    const endpoints = (await this.slices(name)).flatMap((slice) => slice.endpoints ?? []);
    return endpoints
      .filter(({ conditions }) => options.all === true || conditions?.ready !== false)
      .flatMap(({ addresses }) => addresses)
      .toSorted();
  }

  async exportConditions(name: string): Promise<Conditions> {
    return byType((await this.require(SERVICE_EXPORT, name)).status?.conditions);
  }

  async importConditions(name: string): Promise<Conditions> {
    return byType((await this.serviceImport(name)).status?.conditions);
  }

  /** Events about the export of this name, in the order they happened. */
  async events(name: string): Promise<readonly Event[]> {
    const { items } = await this.store.list(EVENT, { namespace: this.#namespace });
    return items
      .filter(({ involvedObject: { kind, name: about } }) => {
        return kind === SERVICE_EXPORT.kind && about === name;
      })
      .toSorted((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion));
  }

  /** Name and version of all objects of these kinds that match: equal before and after means untouched. */
  async versions(
    resource: Resource,
    isMine: (metadata: ObjectMeta) => boolean,
  ): Promise<readonly string[]> {
    const { items } = await this.store.list(resource, { namespace: this.#namespace });
    return items
      .map(({ metadata }) => metadata)
      .filter(isMine)
      .map(({ name, uid, resourceVersion }) => `${name} ${uid} ${resourceVersion}`)
      .toSorted();
  }

  /** Whether the address is one that this cluster gives to Services. */
  hasServiceIp(ip: string): boolean {
    const ranges = new BlockList();
    for (const cidr of this.serviceCidrs) {
      const [network, bits] = cidr.split("/");
      ranges.addSubnet(network!, Number(bits), network!.includes(":") ? "ipv6" : "ipv4");
    }
    return ranges.check(ip, ip.includes(":") ? "ipv6" : "ipv4");
  }
}

function sortKey({ metadata, addressType }: EndpointSlice): string {
  return `${metadata.labels?.[SOURCE_CLUSTER_LABEL] ?? ""} ${addressType} ${metadata.name ?? ""}`;
}

function byType(conditions: readonly Condition[] | undefined): Conditions {
  return Object.fromEntries((conditions ?? []).map((condition) => [condition.type, condition]));
}
