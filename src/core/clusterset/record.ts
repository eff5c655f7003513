// Clusterset: an observation in, the same by cluster and by service out, with questions about one cluster's part of one
// service. Judges nothing.

import type { EndpointSlice, Lease, Service } from "../../api/builtin.ts";
import type { ClusterMember } from "../../api/isthmus.ts";
import type { ServiceExport, ServiceImport } from "../../api/mcs.ts";
import {
  type ClusterId,
  KUBE_SERVICE_NAME_LABEL,
  memberOfNamespace,
  SERVICE_NAME_LABEL,
  type ServiceKey,
  serviceKey,
} from "../../api/names.ts";
import type { KubeObject } from "../../api/object.ts";
import { readDrain } from "../drain.ts";
import { compareText } from "../order.ts";
import { serviceOfShareName, type StoredShare } from "../wire.ts";
import { idOf, isBlind, type Observation, type Sighting, type SightedKind } from "./sighting.ts";

/** One cluster: as it was seen itself, as the hub has it, or both. */
export interface ClusterRecord {
  readonly id: ClusterId;
  /** Undefined: nobody asked the cluster itself. */
  readonly sighting: Sighting | undefined;
  /** Undefined: no hub was read, or it has no such member. */
  readonly member: ClusterMember | undefined;
  readonly lease: Lease | undefined;
  readonly exports: ReadonlyMap<ServiceKey, ServiceExport>;
  readonly imports: ReadonlyMap<ServiceKey, ServiceImport>;
  /** By namespace and name. */
  readonly services: ReadonlyMap<ServiceKey, Service>;
  readonly sourceSlices: ReadonlyMap<ServiceKey, readonly EndpointSlice[]>;
  readonly importedSlices: ReadonlyMap<ServiceKey, readonly EndpointSlice[]>;
  /** Of the hub, undecoded. */
  readonly serviceShares: ReadonlyMap<ServiceKey, StoredShare>;
  readonly endpointShares: ReadonlyMap<ServiceKey, readonly StoredShare[]>;
}

export interface Clusterset {
  readonly observation: Observation;
  /** By id. */
  readonly records: readonly ClusterRecord[];
  readonly byId: ReadonlyMap<ClusterId, ClusterRecord>;
  /** A second cluster that goes by an id that is taken: it takes part in nothing. */
  readonly doubles: readonly Sighting[];
  /** All that is exported, shared or imported anywhere, by name. */
  readonly services: readonly ServiceKey[];
}

export function indexClusterset(observation: Observation): Clusterset {
  const { sightings, hub } = observation;
  const seen = new Map<ClusterId, Sighting>();
  const doubles: Sighting[] = [];
  for (const sighting of sightings) {
    const id = idOf(sighting);
    if (seen.has(id)) doubles.push(sighting);
    else seen.set(id, sighting);
  }
  const members = new Map(
    (hub?.members ?? []).flatMap((member) => {
      const id = memberOfNamespace(member.metadata.namespace ?? "");
      return id === undefined || id !== member.metadata.name ? [] : [[id, member] as const];
    }),
  );
  const leases = new Map((hub?.leases ?? []).map((lease) => [lease.metadata.name, lease]));
  const serviceShares = byOwner(hub?.serviceShares ?? []);
  const endpointShares = byOwner(hub?.endpointShares ?? []);
  const ids = [...new Set([...seen.keys(), ...members.keys()])].toSorted(compareText);
  const records = ids.map((id): ClusterRecord => {
    const shares = groupBy(serviceShares.get(id) ?? [], serviceOfShare);
    return {
      id,
      sighting: seen.get(id),
      member: members.get(id),
      lease: leases.get(id),
      ...indexSighting(seen.get(id)),
      serviceShares: new Map(
        [...shares].flatMap(([key, [share]]) => (share ? [[key, share]] : [])),
      ),
      endpointShares: groupBy(endpointShares.get(id) ?? [], serviceOfShare),
    };
  });
  const isWanted = (key: ServiceKey): boolean =>
    observation.namespace === undefined || key.startsWith(`${observation.namespace}/`);
  const services = new Set(
    records.flatMap((record) => [
      ...record.exports.keys(),
      ...record.imports.keys(),
      ...record.serviceShares.keys(),
    ]),
  );
  return {
    observation,
    records,
    byId: new Map(records.map((record) => [record.id, record])),
    doubles,
    services: [...services].filter(isWanted).toSorted(compareText),
  };
}

function indexSighting(sighting: Sighting | undefined) {
  const { serviceExports = [], serviceImports = [], services = [], slices = [] } = sighting ?? {};
  return {
    exports: new Map(serviceExports.map((object) => [keyOf(object), object])),
    imports: new Map(serviceImports.map((object) => [keyOf(object), object])),
    services: new Map(services.map((object) => [keyOf(object), object])),
    // A slice that is imported carries the name of the derived Service, which is nobody's export.
    sourceSlices: groupBy(slices, (slice) => labelledKey(slice, KUBE_SERVICE_NAME_LABEL)),
    importedSlices: groupBy(slices, (slice) => labelledKey(slice, SERVICE_NAME_LABEL)),
  };
}

export function keyOf({ metadata }: KubeObject): ServiceKey {
  const { namespace = "", name = "" } = metadata;
  return serviceKey({ namespace, name });
}

function labelledKey({ metadata }: KubeObject, label: string): ServiceKey | undefined {
  const name = metadata.labels?.[label];
  return name === undefined ? undefined : serviceKey({ namespace: metadata.namespace ?? "", name });
}

function serviceOfShare({ name }: StoredShare): ServiceKey | undefined {
  return serviceOfShareName(name);
}

/** Who wrote a share is known by its namespace, and by nothing else. */
function byOwner(
  objects: readonly (KubeObject & { readonly spec: unknown })[],
): ReadonlyMap<ClusterId, readonly StoredShare[]> {
  const stored = objects.flatMap(({ metadata, spec }): StoredShare[] => {
    const cluster = memberOfNamespace(metadata.namespace ?? "");
    return cluster === undefined ? [] : [{ cluster, name: metadata.name ?? "", spec }];
  });
  return groupBy(stored, ({ cluster }) => cluster);
}

function groupBy<T, K>(
  items: readonly T[],
  keyOfItem: (item: T) => K | undefined,
): ReadonlyMap<K, readonly T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const key = keyOfItem(item);
    if (key === undefined) continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

/** The cluster itself answered, as far as these kinds are concerned. */
export function hasRead(record: ClusterRecord, ...kinds: readonly SightedKind[]): boolean {
  const { sighting } = record;
  return sighting !== undefined && !kinds.some((kind) => sighting.unread.includes(kind));
}

/** It was asked and at least something of it was answered. */
export function hasAnswered({ sighting }: ClusterRecord): boolean {
  return sighting !== undefined && !isBlind(sighting);
}

/** Names of those that did not answer and whose id nobody gave: each may be any cluster that the others name. */
export function findNameless({ records }: Clusterset): readonly string[] {
  return records.flatMap(({ sighting }) =>
    sighting !== undefined && isBlind(sighting) && sighting.cluster === undefined
      ? sighting.name
      : [],
  );
}

/** Why it asks the others to go elsewhere: by its own word, else by what the hub was told; undefined: it does not. */
export function drainOf({ sighting, member }: ClusterRecord): string | undefined {
  return readDrain(sighting?.properties ?? []) ?? member?.status?.drained;
}

/** What keeps its services in step: an agent of its own, or central. */
export function isJoined({ sighting, member }: ClusterRecord): boolean {
  return sighting === undefined ? member !== undefined : sighting.hub !== undefined;
}

/** What the hub holds of its services is known. */
export function isOnHub(set: Clusterset, record: ClusterRecord): boolean {
  const { hub } = set.observation;
  return record.member !== undefined && isJoined(record) && hub?.hasShares === true;
}
