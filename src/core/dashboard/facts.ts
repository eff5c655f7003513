// Dashboard: objects of clusters and of the hub in, the little that a row is made of out: so little that the clusters of a fleet
// fit into one process. Pure; takes what comes from a hub for what it may be: anything.

import type { Endpoint, EndpointSlice } from "../../api/builtin.ts";
import type { EndpointShareObject, ServiceShareObject } from "../../api/hubshare.ts";
import type { ServiceExport, ServiceImport } from "../../api/mcs.ts";
import {
  FIELD_MANAGER,
  KUBE_SERVICE_NAME_LABEL,
  memberOfNamespace,
  SERVICE_NAME_LABEL,
  type ServiceKey,
  serviceKey,
  SOURCE_CLUSTER_LABEL,
} from "../../api/names.ts";
import type { Condition, KubeObject } from "../../api/object.ts";
import type { ImportType } from "../../api/share.ts";
import { parseTimeMs } from "../clusterset/time.ts";
import { isManaged } from "../import.ts";
import { decodeEndpointShare, decodeServiceShare } from "../wire.ts";

export interface PortFact {
  readonly name: string;
  readonly protocol: string;
  readonly port: number;
}

export interface ExportFact {
  /** In the words of its Valid condition; undefined when it is valid, or nobody has judged it. */
  readonly problem: string | undefined;
  readonly conflicts: readonly string[];
}

export interface ImportFact {
  readonly type: ImportType;
  readonly ports: readonly PortFact[];
  readonly ips: readonly string[];
  readonly isManaged: boolean;
  /** In the words of its Ready condition. */
  readonly problem: string | undefined;
  /** Of the problem: it is being made, and nothing is wrong. */
  readonly isPending: boolean;
  readonly writtenAtMs: number | undefined;
}

/** Endpoints of one slice or share: how many, and a number by which sets of ready addresses are told apart. */
export interface EndpointFact {
  readonly service: ServiceKey;
  /** The cluster that they are of; undefined: of the cluster that has the slice. */
  readonly source: string | undefined;
  readonly ready: number;
  readonly total: number;
  readonly sum: number;
  readonly writtenAtMs: number | undefined;
}

/** One slice or share of endpoints before and after a change. */
export interface EndpointShift {
  readonly service: ServiceKey;
  /** As in EndpointFact. */
  readonly source: string | undefined;
  readonly was: EndpointFact | undefined;
  readonly now: EndpointFact | undefined;
}

/** What a member has on the hub of one service. */
export interface ShareFact {
  readonly cluster: string;
  readonly service: ServiceKey;
  readonly type: ImportType;
  readonly ports: readonly PortFact[];
}

export function readExport({ status }: ServiceExport): ExportFact {
  const valid = find(status?.conditions, "Valid");
  const conflict = find(status?.conditions, "Conflict");
  return {
    problem: valid?.status === "False" ? (valid.message ?? valid.reason) : undefined,
    conflicts: conflict?.status === "True" ? splitLines(conflict.message ?? "") : [],
  };
}

/** `seenAtMs` for objects that come without the times of their writing: a watch tells of what happened just now. */
export function readImport(serviceImport: ServiceImport, seenAtMs: number): ImportFact {
  const { spec, status } = serviceImport;
  const ready = find(status?.conditions, "Ready");
  const isReady = ready?.status !== "False";
  return {
    type: spec?.type ?? "ClusterSetIP",
    ports: (spec?.ports ?? []).map(readPort),
    ips: spec?.ips ?? [],
    isManaged: isManaged(serviceImport),
    problem: isReady ? undefined : (ready.message ?? ready.reason),
    isPending: ready?.reason === "Pending",
    writtenAtMs: readWrittenAt(serviceImport, seenAtMs),
  };
}

/** Undefined for a slice of no Service. */
export function readSlice(slice: EndpointSlice, seenAtMs: number): EndpointFact | undefined {
  const { namespace = "", labels = {} } = slice.metadata;
  const imported = labels[SERVICE_NAME_LABEL];
  const name = imported ?? labels[KUBE_SERVICE_NAME_LABEL];
  if (name === undefined) return undefined;
  return {
    service: serviceKey({ namespace, name }),
    source: imported === undefined ? undefined : (labels[SOURCE_CLUSTER_LABEL] ?? "(unnamed)"),
    // A slice without endpoints may come with null.
    ...countEndpoints(slice.endpoints ?? []),
    writtenAtMs: imported === undefined ? undefined : readWrittenAt(slice, seenAtMs),
  };
}

/** Undefined for what is no share of anybody. */
export function readServiceShare({ metadata, spec }: ServiceShareObject): ShareFact | undefined {
  const cluster = memberOfNamespace(metadata.namespace ?? "");
  if (cluster === undefined) return undefined;
  const decoded = decodeServiceShare({ cluster, name: metadata.name ?? "", spec });
  if (!decoded.ok) return undefined;
  const { service, type, ports } = decoded.value;
  return { cluster, service, type, ports: ports.map(readPort) };
}

export function readEndpointShare(object: EndpointShareObject): EndpointFact | undefined {
  const { metadata, spec } = object;
  const cluster = memberOfNamespace(metadata.namespace ?? "");
  if (cluster === undefined) return undefined;
  const decoded = decodeEndpointShare({ cluster, name: metadata.name ?? "", spec });
  if (!decoded.ok) return undefined;
  const { service, endpoints } = decoded.value;
  return { service, source: cluster, ...countEndpoints(endpoints), writtenAtMs: undefined };
}

export function sumEndpoints(
  facts: readonly EndpointFact[],
): Pick<EndpointFact, "ready" | "total" | "sum"> {
  let ready = 0;
  let total = 0;
  let sum = 0;
  for (const fact of facts) {
    ready += fact.ready;
    total += fact.total;
    sum += fact.sum;
  }
  return { ready, total, sum };
}

/** A slice may change hands: then it goes from one and comes to another. */
export function findShifts(
  before: EndpointFact | undefined,
  after: EndpointFact | undefined,
): readonly EndpointShift[] {
  const fact = after ?? before;
  if (fact === undefined) return [];
  const shift = { service: fact.service, source: fact.source, was: before, now: after };
  const isSame = before?.service === after?.service && before?.source === after?.source;
  if (before === undefined || after === undefined || isSame) return [shift];
  const { service, source } = before;
  return [
    { service, source, was: before, now: undefined },
    { ...shift, was: undefined },
  ];
}

/** By which equal sets of ready endpoints are known: now, and before the last shift. */
export function describeSets(
  facts: readonly EndpointFact[],
  { was, now }: Pick<EndpointShift, "was" | "now">,
): { readonly set: string; readonly wasSet: string } {
  const { ready, sum } = sumEndpoints(facts);
  const readyBefore = ready - (now?.ready ?? 0) + (was?.ready ?? 0);
  const sumBefore = sum - (now?.sum ?? 0) + (was?.sum ?? 0);
  return { set: `${ready}/${sum}`, wasSet: `${readyBefore}/${sumBefore}` };
}

function countEndpoints(endpoints: readonly Endpoint[]) {
  let ready = 0;
  let sum = 0;
  for (const { addresses, conditions } of endpoints) {
    // Unknown is ready, as everybody reads it.
    if (conditions?.ready === false) continue;
    ready += 1;
    sum += hash(addresses[0] ?? "");
  }
  return { ready, total: endpoints.length, sum };
}

/** FNV-1a: sums of it tell sets of addresses apart, in whatever order and slices they come. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  }
  return value >>> 0;
}

function readPort(port: {
  readonly name?: string | undefined;
  readonly protocol?: string | undefined;
  readonly port: number;
}): PortFact {
  return { name: port.name ?? "", protocol: port.protocol ?? "TCP", port: port.port };
}

function readWrittenAt({ metadata }: KubeObject, seenAtMs: number): number | undefined {
  if (metadata.managedFields === undefined) return seenAtMs;
  const times = metadata.managedFields.flatMap(({ manager, time }) =>
    manager === FIELD_MANAGER ? (parseTimeMs(time) ?? []) : [],
  );
  return times.length === 0 ? undefined : Math.max(...times);
}

function find(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return (conditions ?? []).find((condition) => condition.type === type);
}

function splitLines(text: string): readonly string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
