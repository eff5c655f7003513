// Clusterset: one export of one cluster in, what has not become of it yet out: the hub does not have it as it is, or its
// conditions are not those that the controllers would write now.

import type { ServiceKey } from "../../api/names.ts";
import { judgeExport, planExportStatus } from "../export.ts";
import { mergeShares } from "../merge.ts";
import {
  exportInput,
  findContributors,
  findUnknownSources,
  isToldToHub,
  ownContribution,
  receivedContribution,
} from "./contribution.ts";
import { type ClusterRecord, type Clusterset, isJoined, isOnHub } from "./record.ts";

/** A clause; undefined when all is as it should be, or when that cannot be told. */
export function findExportLag(
  set: Clusterset,
  record: ClusterRecord,
  service: ServiceKey,
): string | undefined {
  const serviceExport = record.exports.get(service);
  if (serviceExport === undefined) {
    return record.sighting !== undefined && isToldToHub(set, record, service) === false
      ? "the hub still has it, though it is not exported any more."
      : undefined;
  }
  if ((serviceExport.status?.conditions ?? []).length === 0) {
    return "nobody has looked at it yet: it has no conditions.";
  }
  if (isToldToHub(set, record, service) === false) {
    const hasShare = record.serviceShares.has(service);
    return hasShare ? "the hub does not have its last change." : "the hub does not have it.";
  }
  if (isJoined(record) && !isOnHub(set, record)) return undefined;
  if (findUnknownSources(set, record, service).length > 0) return undefined;
  const shares = findContributors(set, service).flatMap((source) => {
    const received = receivedContribution(set, { source, importer: record }, service);
    return received === undefined ? [] : [received.contribution.share];
  });
  const published = ownContribution(record, service) !== undefined;
  const judgements = judgeExport(exportInput(record, service), {
    published,
    merged: mergeShares(shares),
  });
  return planExportStatus(serviceExport, judgements, "").length === 0
    ? undefined
    : "its conditions are not up to date.";
}
