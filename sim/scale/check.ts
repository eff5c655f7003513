// Check: a fleet at rest in, whatever is not as its layout demands out. It reads servers only, asks no agent, and calls none of
// the code that decides what is written.

import { ENDPOINT_SLICE, type EndpointSlice, SERVICE } from "../../src/api/builtin.ts";
import { ENDPOINT_SHARE, SERVICE_SHARE } from "../../src/api/hubshare.ts";
import { SERVICE_IMPORT } from "../../src/api/mcs.ts";
import {
  KUBE_SERVICE_NAME_LABEL,
  MANAGED_LABEL,
  SERVICE_NAME_LABEL,
  SOURCE_CLUSTER_LABEL,
} from "../../src/api/names.ts";
import type { Site } from "../world.ts";
import { clusterId, type Fleet } from "./fleet.ts";
import type { Export } from "./layout.ts";

/** Service to source to its addresses. */
type Wanted = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;

/** A sentence for each difference; none when all is as it should be. */
export async function findDifferences(fleet: Fleet): Promise<readonly string[]> {
  const { layout, world } = fleet;
  const byNamespace = groupBy(layout.exports, ({ namespace }) => namespace);
  const found: string[] = [];
  for (const site of fleet.sites) {
    const homes = [...(layout.homes[site.index] ?? [])];
    const wanted = wantedOf(homes.flatMap((namespace) => byNamespace.get(namespace) ?? []));
    found.push(...(await checkCluster(site, wanted)));
  }
  const slices = layout.exports.reduce((sum, exported) => sum + exported.slices.length, 0);
  const shares = (await world.hubStore.list(SERVICE_SHARE)).items.length;
  const endpointShares = (await world.hubStore.list(ENDPOINT_SHARE)).items.length;
  if (shares !== layout.exports.length || endpointShares !== slices) {
    found.push(
      `the hub has ${shares} ServiceShares and ${endpointShares} EndpointShares, not ${layout.exports.length} and ${slices}`,
    );
  }
  return found;
}

function wantedOf(exports: readonly Export[]): Wanted {
  const services = groupBy(exports, ({ namespace, name }) => `${namespace}/${name}`);
  return new Map(
    [...services].map(([service, sources]) => [
      service,
      new Map(sources.map(({ cluster, slices }) => [clusterId(cluster), slices.flat()])),
    ]),
  );
}

async function checkCluster({ store, index }: Site, wanted: Wanted): Promise<readonly string[]> {
  const found: string[] = [];
  const here = clusterId(index);
  const imports = (await store.list(SERVICE_IMPORT)).items;
  const derived = new Map(
    (await store.list(SERVICE, { labelSelector: `${MANAGED_LABEL}=true` })).items.map((service) => [
      `${service.metadata.namespace}/${service.metadata.name}`,
      service.spec?.clusterIP,
    ]),
  );
  const slices = groupBy(
    (await store.list(ENDPOINT_SLICE, { labelSelector: SOURCE_CLUSTER_LABEL })).items,
    ({ metadata }) => `${metadata.namespace}/${metadata.labels?.[SERVICE_NAME_LABEL]}`,
  );
  if (imports.length !== wanted.size || derived.size !== wanted.size) {
    found.push(
      `${here} has ${imports.length} imports and ${derived.size} derived Services, not ${wanted.size}`,
    );
  }
  const held = new Map(
    imports.map((each) => [`${each.metadata.namespace}/${each.metadata.name}`, each]),
  );
  for (const [service, sources] of wanted) {
    const serviceImport = held.get(service);
    const clusters = (serviceImport?.status?.clusters ?? []).map(({ cluster }) => cluster);
    if (!isSameSet(clusters, [...sources.keys()])) {
      found.push(`${here} imports ${service} from ${clusters.join(", ") || "nobody"}`);
    }
    found.push(
      ...checkSlices(slices.get(service) ?? [], {
        about: `${service} in ${here}`,
        sources,
        ip: serviceImport?.spec?.ips?.[0],
        ipOf: (name) => derived.get(`${service.split("/")[0]}/${name}`),
      }),
    );
    slices.delete(service);
  }
  for (const service of slices.keys()) found.push(`${here} has slices of ${service}, for nothing`);
  return found;
}

function checkSlices(
  slices: readonly EndpointSlice[],
  wanted: {
    readonly about: string;
    readonly sources: ReadonlyMap<string, readonly string[]>;
    /** Of the import. */
    readonly ip: string | undefined;
    /** Of a derived Service. */
    readonly ipOf: (name: string) => string | undefined;
  },
): readonly string[] {
  const found: string[] = [];
  const { about, sources, ip } = wanted;
  for (const { metadata, endpoints } of slices) {
    const service = metadata.labels?.[KUBE_SERVICE_NAME_LABEL] ?? "";
    if (ip === undefined || wanted.ipOf(service) !== ip) {
      found.push(`slice ${metadata.name} of ${about} serves another address than its import shows`);
    }
    if (!endpoints.every(({ conditions }) => conditions?.ready === true)) {
      found.push(`slice ${metadata.name} of ${about} has endpoints that are not ready`);
    }
  }
  const bySource = groupBy(slices, ({ metadata }) => metadata.labels?.[SOURCE_CLUSTER_LABEL]);
  for (const [source, addresses] of sources) {
    const from = bySource.get(source) ?? [];
    const held = from.flatMap(({ endpoints }) => endpoints.flatMap((each) => each.addresses));
    if (!isSameSet(held, addresses)) {
      found.push(
        `of ${about}, ${held.length} endpoints of ${source} are not its ${addresses.length}`,
      );
    }
    bySource.delete(source);
  }
  return [...found, ...[...bySource.keys()].map((source) => `${about} has slices of ${source}`)];
}

function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  const wanted = new Set(other);
  return one.length === other.length && one.every((each) => wanted.has(each));
}

function groupBy<T, K>(all: readonly T[], keyOf: (one: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const one of all) {
    const key = keyOf(one);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [one]);
    else group.push(one);
  }
  return groups;
}
