// Clusterset: an observation in, one view of all clusters and services out, for tables, JSON and pages. The fields are a
// promise to those who read the JSON: docs/cli.md names them.

import type { Endpoint, EndpointSlice } from "../../api/builtin.ts";
import type { ServiceImport } from "../../api/mcs.ts";
import {
  type ClusterId,
  KUBE_SERVICE_NAME_LABEL,
  type ServiceKey,
  splitServiceKey,
} from "../../api/names.ts";
import type { Condition } from "../../api/object.ts";
import type { ImportType, SharedPort } from "../../api/share.ts";
import type { ToldConflict } from "../conflict.ts";
import type { Liveness } from "../liveness.ts";
import {
  exportedContribution,
  findContributors,
  findExports,
  findStrangers,
  readConflicts,
} from "./contribution.ts";
import { findExportLag } from "./exportlag.ts";
import { answerOnce } from "./memo.ts";
import { judgeCluster, type LeaseView, readLease } from "./liveness.ts";
import {
  type ClusterRecord,
  type Clusterset,
  hasAnswered,
  hasRead,
  indexClusterset,
} from "./record.ts";
import type { Observation } from "./sighting.ts";
import { describeDue, findSources, findStanding, slicesFrom, type Standing } from "./standing.ts";
import { measureSync, type SyncView } from "./sync.ts";

export interface ClustersetView {
  readonly clusters: readonly ClusterView[];
  readonly services: readonly ServiceView[];
  /** Absent: none of the clusters has joined a hub, or it was not to be asked. */
  readonly hub?: { readonly server: string; readonly members: number; readonly problem?: string };
}

export interface ClusterView {
  readonly id: string;
  /** The context or kubeconfig it was asked by. */
  readonly name?: string;
  /** seen: the cluster itself was asked. hub: all that is known of it is what the hub has. */
  readonly source: "seen" | "hub";
  readonly liveness: Liveness | "unknown";
  readonly livenessWhy: string;
  readonly livenessNext?: string;
  readonly lease?: LeaseView;
  /** Of its agent. */
  readonly version?: string;
  readonly region?: string;
  readonly zones: readonly string[];
  readonly podCIDRs: readonly string[];
  readonly serviceCIDRs: readonly string[];
  /** These two absent: they could not be read in the cluster, and nobody else knows. */
  readonly exports?: number;
  readonly imports?: number;
  readonly problems: readonly string[];
}

export interface EndpointCount {
  readonly endpoints: number;
  readonly ready: number;
}

export interface ExportView extends EndpointCount {
  readonly namespace: string;
  readonly name: string;
  readonly cluster: string;
  readonly createdAt?: string;
  readonly conditions: readonly Condition[];
  /** Takes part in the merge. */
  readonly valid: boolean;
  /** The oldest of the valid exports: where they disagree, it wins. Absent: not all of them were read. */
  readonly oldest?: boolean;
  /** By the merge of what the clusters export now; where not all of that was read, by the Conflict condition. */
  readonly conflicts: readonly ToldConflict[];
  /** The oldest export's cluster, where there is a conflict and all exports were read. */
  readonly winner?: string;
  /** What has not happened yet though it should have. */
  readonly behind?: string;
}

export interface SourceView extends EndpointCount {
  readonly cluster: string;
  readonly slices: number;
  /** Of these slices: how many lead traffic for the virtual IP here. */
  readonly attached: number;
  /** What the importing cluster makes of the source. */
  readonly liveness: Liveness | "unknown";
}

export interface ImportRow extends EndpointCount {
  readonly namespace: string;
  readonly name: string;
  readonly cluster: string;
  readonly type: ImportType;
  readonly ips: readonly string[];
  readonly conditions: readonly Condition[];
  readonly sources: readonly SourceView[];
  /** What it is behind the exports by; absent: it is in step, or see `unknown`. */
  readonly behind?: string;
  /** Clusters that take part and could not be asked: whether the import is in step cannot be told. */
  readonly unknown: readonly string[];
  readonly sync: SyncView;
}

export interface ServiceView {
  readonly service: ServiceKey;
  readonly namespace: string;
  readonly name: string;
  /** Absent when nobody exports it. */
  readonly type?: ImportType;
  readonly ports: readonly SharedPort[];
  readonly conflicts: readonly ToldConflict[];
  readonly exports: readonly ExportView[];
  readonly imports: readonly ImportRow[];
}

export function viewClusterset(observation: Observation): ClustersetView {
  const set = indexClusterset(observation);
  const standings = new Map(set.services.map((key) => [key, findStandings(set, key)]));
  const all = [...standings.values()].flat();
  const { hub } = observation;
  return {
    clusters: [
      ...set.records.map((record) => viewCluster(set, record, all)),
      ...set.doubles.map(viewDouble),
    ],
    services: set.services.map((key) => viewService(set, key, standings.get(key) ?? [])),
    ...(hub === undefined
      ? {}
      : {
          hub: {
            server: hub.server,
            members: hub.members.length,
            ...(hub.problem === undefined ? {} : { problem: hub.problem }),
          },
        }),
  };
}

/** Of one service in every cluster that was asked. */
export const findStandings = answerOnce((set: Clusterset, service) =>
  set.records.filter(hasAnswered).map((record) => findStanding(set, record, service)),
);

function viewCluster(
  set: Clusterset,
  record: ClusterRecord,
  standings: readonly Standing[],
): ClusterView {
  const { id, sighting, member } = record;
  const lease = readLease(set, record);
  const { liveness, why, next } = judgeCluster(set, record, standings);
  const { topology, podCIDRs = [], serviceCIDRs = [] } = member?.spec ?? {};
  const version = member?.status?.agentVersion;
  const isSeen = sighting !== undefined;
  return {
    id,
    ...(isSeen && { name: sighting.name }),
    source: isSeen ? "seen" : "hub",
    liveness,
    livenessWhy: why,
    ...(next === undefined ? {} : { livenessNext: next }),
    ...(lease === undefined ? {} : { lease }),
    ...(version === undefined ? {} : { version }),
    ...(topology?.region === undefined ? {} : { region: topology.region }),
    zones: topology?.zones ?? [],
    podCIDRs,
    serviceCIDRs,
    ...(hasRead(record, "serviceExports")
      ? { exports: record.exports.size }
      : member !== undefined && { exports: record.serviceShares.size }),
    ...(hasRead(record, "serviceImports") && { imports: record.imports.size }),
    problems: sighting?.problems ?? [],
  };
}

function viewDouble(sighting: Clusterset["doubles"][number]): ClusterView {
  const { name, cluster, problems } = sighting;
  const problem = `${name} goes by the id "${cluster}", which another cluster named before has, too. Name each cluster once, and give each an id of its own.`;
  return {
    id: name,
    name,
    source: "seen",
    liveness: "unknown",
    livenessWhy: problem,
    zones: [],
    podCIDRs: [],
    serviceCIDRs: [],
    problems: [...problems, problem],
  };
}

function viewService(
  set: Clusterset,
  service: ServiceKey,
  standings: readonly Standing[],
): ServiceView {
  const { merged } = findExports(set, service);
  const imports = standings.filter(({ importer }) => importer.imports.has(service));
  const exports = findContributors(set, service).flatMap(
    (record) => viewExport(set, record, service) ?? [],
  );
  const disputed = exports.find(({ conflicts }) => conflicts.length > 0);
  return {
    service,
    ...splitServiceKey(service),
    ...(merged === undefined ? {} : { type: merged.type }),
    ports: merged?.ports ?? [],
    // The same on all of them.
    conflicts: disputed?.conflicts ?? [],
    exports,
    imports: imports.map((standing) => viewImportRow(set, standing)),
  };
}

/** Undefined when the cluster does not export the service, as far as is known. */
export function viewExport(
  set: Clusterset,
  record: ClusterRecord,
  service: ServiceKey,
): ExportView | undefined {
  const serviceExport = record.exports.get(service);
  const contribution = exportedContribution(set, record, service);
  if (serviceExport === undefined && contribution === undefined) return undefined;
  const { merged, oldest } = findExports(set, service);
  const valid = contribution !== undefined;
  const isWhole = findStrangers(set, service).length === 0;
  const told = isWhole ? [] : readConflicts(serviceExport);
  const found = told.length > 0 ? told : (merged?.conflicts ?? []);
  const conflicts = valid ? found : [];
  const behind = findExportLag(set, record, service);
  const createdAt = serviceExport?.metadata.creationTimestamp ?? contribution?.share.exportedAt;
  const endpoints = (contribution?.endpoints ?? []).flatMap((share) => share.endpoints);
  return {
    ...splitServiceKey(service),
    cluster: record.id,
    ...(createdAt === undefined ? {} : { createdAt }),
    conditions: serviceExport?.status?.conditions ?? [],
    valid,
    ...(isWhole && { oldest: valid && oldest?.cluster === record.id }),
    conflicts,
    ...(isWhole && conflicts.length > 0 && oldest !== undefined ? { winner: oldest.cluster } : {}),
    ...(behind === undefined ? {} : { behind }),
    ...countEndpoints(endpoints),
  };
}

function viewImportRow(set: Clusterset, standing: Standing): ImportRow {
  const { importer, service, due, unknown } = standing;
  const serviceImport = importer.imports.get(service);
  const sources = findSources(standing).map((source) => viewSource(standing, source));
  const clauses = describeDue(due ?? []);
  return {
    ...splitServiceKey(service),
    cluster: importer.id,
    type: serviceImport?.spec?.type ?? "ClusterSetIP",
    ips: serviceImport?.spec?.ips ?? [],
    conditions: serviceImport?.status?.conditions ?? [],
    sources,
    endpoints: sum(sources.map(({ endpoints }) => endpoints)),
    ready: sum(sources.map(({ ready }) => ready)),
    ...(clauses.length === 0 ? {} : { behind: `${clauses.join("; ")}.` }),
    unknown,
    sync: measureSync(set, standing),
  };
}

export function viewSource(standing: Standing, source: ClusterId): SourceView {
  const { importer, service } = standing;
  const slices = slicesFrom(importer, service, source);
  return {
    cluster: source,
    ...countEndpoints(slices.flatMap((slice) => slice.endpoints ?? [])),
    slices: slices.length,
    attached: slices.filter((slice) => isAttached(slice, standing)).length,
    liveness: standing.judged.get(source) ?? "unknown",
  };
}

/** kube-proxy sends traffic for a Service to the slices that name it. */
export function isAttached({ metadata }: EndpointSlice, { derivedName }: Standing): boolean {
  return metadata.labels?.[KUBE_SERVICE_NAME_LABEL] === derivedName;
}

export function countEndpoints(endpoints: readonly Endpoint[]): EndpointCount {
  return { endpoints: endpoints.length, ready: endpoints.filter(isEndpointReady).length };
}

/** Unknown is ready, as everybody reads it. */
export function isEndpointReady({ conditions }: Endpoint): boolean {
  return conditions?.ready !== false;
}

export function isImportReady(serviceImport: ServiceImport | undefined): boolean {
  const conditions = serviceImport?.status?.conditions ?? [];
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
