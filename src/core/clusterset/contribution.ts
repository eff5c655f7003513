// Clusterset: one service and one importing cluster in, what the sources contribute to it out, as that cluster's controller
// gets to see it: by the same code that publishes, decodes and admits.

import type { ServiceExport } from "../../api/mcs.ts";
import type { ClusterId, ServiceKey } from "../../api/names.ts";
import { splitServiceKey } from "../../api/names.ts";
import type { Contribution } from "../../api/share.ts";
import { admitContribution, compileDeclaration, type Rejection } from "../admission.ts";
import type { ToldConflict } from "../conflict.ts";
import { planEndpointShares } from "../endpoints.ts";
import { type ExportInput, planShare } from "../export.ts";
import { mergeShares } from "../merge.ts";
import { compareText, orderShares } from "../order.ts";
import {
  decodeEndpointShare,
  decodeServiceShare,
  encodeEndpointShare,
  encodeServiceShare,
} from "../wire.ts";
import { isSameData } from "../write.ts";
import { answerOnce } from "./memo.ts";
import { type ClusterRecord, type Clusterset, hasRead, isOnHub } from "./record.ts";

/** What the cluster itself says of its export. Whether its namespace is denied is known from the condition only. */
export function exportInput(record: ClusterRecord, service: ServiceKey): ExportInput {
  const serviceExport = record.exports.get(service);
  const valid = serviceExport?.status?.conditions?.find(({ type }) => type === "Valid");
  return {
    cluster: record.id,
    ...splitServiceKey(service),
    serviceExport,
    service: record.services.get(service),
    namespaceDenied: valid?.status === "False" && valid.reason === "NamespaceDenied",
  };
}

/** As the cluster has it now; undefined when it exports nothing, or has not been read. */
export const ownContribution = answerOnce(planOwnContribution);

function planOwnContribution(record: ClusterRecord, service: ServiceKey): Contribution | undefined {
  const share = planShare(exportInput(record, service));
  if (share === undefined) return undefined;
  const slices = record.sourceSlices.get(service) ?? [];
  return { share, endpoints: planEndpointShares({ cluster: record.id, service }, slices) };
}

export interface Received {
  readonly contribution: Contribution;
  readonly rejections: readonly Rejection[];
}

/** As the hub has it, before anybody admits it. */
export const hubContribution = answerOnce(decodeHubContribution);

function decodeHubContribution(record: ClusterRecord, service: ServiceKey): Received | undefined {
  const stored = record.serviceShares.get(service);
  if (stored === undefined) return undefined;
  const decoded = decodeServiceShare(stored);
  if (!decoded.ok) return undefined;
  const rejections = [...decoded.rejections];
  const endpoints = (record.endpointShares.get(service) ?? []).flatMap((share) => {
    const part = decodeEndpointShare(share);
    rejections.push(...part.rejections);
    return part.ok ? [part.value] : [];
  });
  const ordered = endpoints.toSorted((a, b) => compareText(a.slice, b.slice));
  return { contribution: { share: decoded.value, endpoints: ordered }, rejections };
}

/** The best that is known of what the cluster exports: its own word, else the hub's. */
export function exportedContribution(
  set: Clusterset,
  record: ClusterRecord,
  service: ServiceKey,
): Contribution | undefined {
  const told = isOnHub(set, record) ? hubContribution(record, service)?.contribution : undefined;
  if (!isExportKnown(record)) return told;
  const own = ownContribution(record, service);
  if (own === undefined || hasRead(record, "slices") || told === undefined) return own;
  return { share: own.share, endpoints: told.endpoints };
}

/** That a contribution has no endpoints means that there are none. */
export function areEndpointsKnown(set: Clusterset, record: ClusterRecord): boolean {
  return isOnHub(set, record) || (isExportKnown(record) && hasRead(record, "slices"));
}

/** Everybody's, in order of cluster ids, and what they make together. */
export const findExports = answerOnce((set: Clusterset, service) => {
  const contributions = findContributors(set, service).flatMap(
    (record) => exportedContribution(set, record, service) ?? [],
  );
  const shares = contributions.map(({ share }) => share);
  return { shares, merged: mergeShares(shares), oldest: orderShares(shares)[0] };
});

/** Who has anything to do with the export of the service: few of many. */
export const findContributors = answerOnce((set: Clusterset, service) =>
  set.records.filter(
    ({ exports, serviceShares }) => exports.has(service) || serviceShares.has(service),
  ),
);

/** Clusters that imports name and whose exports were not read: who wins, and whether all agree, cannot be told without them. */
export const findStrangers = answerOnce((set: Clusterset, service): readonly ClusterId[] => {
  const listed = set.records.flatMap(({ imports }) => imports.get(service)?.status?.clusters ?? []);
  const ids = new Set(listed.map(({ cluster }) => cluster as ClusterId));
  return [...ids].filter((id) => {
    const record = set.byId.get(id);
    return record === undefined || !(isExportKnown(record) || isOnHub(set, record));
  });
});

/** What the controllers, who know all exports, wrote into the Conflict condition. */
export function readConflicts(serviceExport: ServiceExport | undefined): readonly ToldConflict[] {
  const conditions = serviceExport?.status?.conditions ?? [];
  const found = conditions.find(({ type, status }) => type === "Conflict" && status === "True");
  if (found === undefined) return [];
  const reasons = found.reason.split(",");
  const messages = found.message.split("\n");
  return reasons.length === messages.length
    ? reasons.map((reason, index) => ({ reason, message: messages[index] ?? "" }))
    : [{ reason: found.reason, message: found.message }];
}

/** That there is no contribution means that there is no export. */
export function isExportKnown(record: ClusterRecord): boolean {
  return hasRead(record, "serviceExports", "services");
}

/** What the importing cluster is to take in of one source, and what it does not. */
export function receivedContribution(
  set: Clusterset,
  pair: { readonly source: ClusterRecord; readonly importer: ClusterRecord },
  service: ServiceKey,
): Received | undefined {
  const { source, importer } = pair;
  const isThroughHub = isOnHub(set, source) && isOnHub(set, importer);
  if (source.id === importer.id || !isThroughHub) {
    const contribution = ownContribution(source, service);
    if (contribution !== undefined || isExportKnown(source) || !isThroughHub) {
      return contribution && { contribution, rejections: [] };
    }
  }
  const received = hubContribution(source, service);
  if (received === undefined) return undefined;
  const admission = admitContribution(received.contribution, admissionContext(source, importer));
  return {
    contribution: admission.contribution,
    rejections: [...received.rejections, ...admission.rejections],
  };
}

export function admissionContext(source: ClusterRecord, importer: ClusterRecord) {
  return {
    declaration: compileDeclaration(source.member?.spec ?? {}),
    ownServices: compileDeclaration(importer.member?.spec ?? {}).services,
  };
}

/** Clusters whose part of the service cannot be known from what was read, though the import lists them. */
export function findUnknownSources(
  set: Clusterset,
  importer: ClusterRecord,
  service: ServiceKey,
): readonly ClusterId[] {
  const listed = importer.imports.get(service)?.status?.clusters ?? [];
  const ids = listed.map(({ cluster }) => cluster as ClusterId);
  const isKnown = (record: ClusterRecord): boolean =>
    isOnHub(set, record) ||
    (areEndpointsKnown(set, record) && record.sighting?.cluster !== undefined);
  const unread = set.records.filter((record) => !isKnown(record) && record.sighting !== undefined);
  const unknown = ids.filter((id) => {
    const record = set.byId.get(id);
    return record === undefined || !isKnown(record);
  });
  return [...new Set([...unknown, ...unread.map(({ id }) => id)])].toSorted(compareText);
}

/** Whether the hub has what the cluster exports now; undefined when one of the two is not known. */
export function isToldToHub(
  set: Clusterset,
  record: ClusterRecord,
  service: ServiceKey,
): boolean | undefined {
  if (!isExportKnown(record) || !hasRead(record, "slices") || !isOnHub(set, record)) {
    return undefined;
  }
  const own = ownContribution(record, service);
  const stored = record.serviceShares.get(service);
  if (own === undefined || stored === undefined) return own === undefined && stored === undefined;
  const endpoints = record.endpointShares.get(service) ?? [];
  // Compared as the hub stores it: what does not travel is no difference.
  return (
    isSameData(stored.spec, encodeServiceShare(own.share)) &&
    isSameData(
      endpoints.map(({ spec }) => spec).toSorted(bySlice),
      own.endpoints.map(encodeEndpointShare).toSorted(bySlice),
    )
  );
}

function bySlice(a: unknown, b: unknown): number {
  const read = (spec: unknown): string => String((spec as { readonly slice?: unknown }).slice);
  return compareText(read(a), read(b));
}
