// Clusterset: an observation and an export that would be made or taken away in; the merged service before and after, every
// conflict that would begin or end, who wins, and what clients would notice in each cluster out. By the merge, admission
// and slices of the controllers. Changes nothing.

import type { EndpointSlice } from "../../api/builtin.ts";
import {
  type ClusterId,
  type ServiceKey,
  SOURCE_CLUSTER_LABEL,
  splitServiceKey,
} from "../../api/names.ts";
import type { ToldConflict } from "../conflict.ts";
import { judgeRejections } from "../import.ts";
import { type MergedService, mergeShares } from "../merge.ts";
import { compareText, orderShares } from "../order.ts";
import { planSlices } from "../slices.ts";
import { amendObservation, type ExportChange, recallStrangers } from "./amend.ts";
import { exportedContribution, findUnknownSources, readConflicts } from "./contribution.ts";
import { describeService, describeSource, type SourceChange } from "./noticed.ts";
import { type Clusterset, hasAnswered, hasRead, indexClusterset, isOnHub } from "./record.ts";
import { idOf, isBlind, type Observation } from "./sighting.ts";
import { findStanding, type NamespaceSight, type Standing } from "./standing.ts";
import { countEndpoints, type EndpointCount } from "./view.ts";

export interface WhatIfView {
  readonly namespace: string;
  readonly name: string;
  /** Where the export would be made or taken away. */
  readonly cluster: string;
  readonly change: "export" | "unexport";
  /** Absent: nobody exports it now. */
  readonly before?: MergedView;
  /** Absent: nobody would export it then. */
  readonly after?: MergedView;
  readonly conflicts: readonly ConflictChange[];
  /** Every cluster that is known, whether it would change or not. */
  readonly clusters: readonly ClusterChange[];
  /** Clusters that could not be asked. Those that the import names are taken to export what it shows, and to be the oldest. */
  readonly unknown: readonly string[];
}

export interface MergedView extends Omit<MergedService, "conflicts" | "service"> {
  /** Of the oldest export: where exports disagree, it wins. */
  readonly oldest: string;
}

export interface ConflictChange extends ToldConflict {
  /** changes: there is one already, and other clusters or ports would be in it. */
  readonly change: "begins" | "changes" | "stays" | "ends";
  /** Absent: only the condition tells of the conflict, which names it in words. */
  readonly winner?: string;
}

export interface ClusterChange {
  readonly cluster: string;
  readonly inNamespace: NamespaceSight;
  /** What clients there would notice, each a clause; empty: nothing. */
  readonly changes: readonly string[];
  /** Endpoints that clients there reach, by where they are. */
  readonly sources: readonly SourceChange[];
  /** What the cluster would not take in of the one that changes, and why: a sentence. */
  readonly leftOut?: string;
}

export function viewWhatIf(observation: Observation, change: ExportChange): WhatIfView {
  const { service, cluster } = change;
  const seen = indexClusterset(observation);
  const askable = seen.records.filter((record) => hasAnswered(record) || isOnHub(seen, record));
  const strangers = new Set(
    askable.flatMap((importer) => findUnknownSources(seen, importer, service)),
  );
  for (const sighting of observation.sightings.filter(isBlind)) strangers.add(idOf(sighting));
  // Who is about to be asked to export is known, whatever was not.
  strangers.delete(cluster);
  const unknown = [...strangers].toSorted(compareText);
  const recalled = recallStrangers(observation, unknown, change);
  const now = indexClusterset(recalled);
  const then = indexClusterset(amendObservation(recalled, change));
  const before = viewMerge(now, service);
  const after = viewMerge(then, service);
  const pairs = askable.flatMap(({ id }) => {
    const was = now.records.find((record) => record.id === id);
    const becomes = then.records.find((record) => record.id === id);
    if (was === undefined || becomes === undefined) return [];
    return [
      { was: findStanding(now, was, service), becomes: findStanding(then, becomes, service) },
    ];
  });
  return {
    ...splitServiceKey(service),
    cluster,
    change: change.offer === undefined ? "unexport" : "export",
    ...(before === undefined ? {} : { before: before.view }),
    ...(after === undefined ? {} : { after: after.view }),
    conflicts: [
      ...compareConflicts(before, after),
      ...(unknown.length > 0 && after?.conflicts.length === 0 ? recallConflicts(change) : []),
    ],
    clusters: pairs.map((pair) => viewClusterChange(pair, cluster)),
    unknown,
  };
}

interface Merge {
  readonly view: MergedView;
  readonly conflicts: readonly ToldConflict[];
}

function viewMerge(set: Clusterset, service: ServiceKey): Merge | undefined {
  const shares = set.records.flatMap(
    (record) => exportedContribution(set, record, service)?.share ?? [],
  );
  const merged = mergeShares(shares);
  const [oldest] = orderShares(shares);
  if (merged === undefined || oldest === undefined) return undefined;
  const { conflicts, service: _, ...rest } = merged;
  return { view: { ...rest, oldest: oldest.cluster }, conflicts };
}

/** By reason: the sentence counts clusters, so it changes with every export. */
function compareConflicts(
  before: Merge | undefined,
  after: Merge | undefined,
): readonly ConflictChange[] {
  const ended = (before?.conflicts ?? []).filter(
    ({ reason }) => after?.conflicts.some((other) => other.reason === reason) !== true,
  );
  const there = (after?.conflicts ?? []).map((conflict): ConflictChange => {
    const old = before?.conflicts.find(({ reason }) => reason === conflict.reason);
    const change =
      old === undefined ? "begins" : old.message === conflict.message ? "stays" : "changes";
    return { ...conflict, change, winner: after?.view.oldest ?? "" };
  });
  return [
    ...there,
    ...ended.map((conflict) => ({
      ...conflict,
      change: "ends" as const,
      winner: before?.view.oldest ?? "",
    })),
  ];
}

/** Who cannot be asked is taken to agree: what the condition says of an export that is there already is known better. */
function recallConflicts({ offer }: ExportChange): readonly ConflictChange[] {
  return readConflicts(offer?.serviceExport).map((conflict) => ({ ...conflict, change: "stays" }));
}

interface Pair {
  readonly was: Standing;
  readonly becomes: Standing;
}

function viewClusterChange(pair: Pair, changed: ClusterId): ClusterChange {
  const { was, becomes } = pair;
  // How others fare is not what changes.
  const reached = { before: countReached(was, was), after: countReached(becomes, was) };
  const ids = [...new Set([...reached.before.keys(), ...reached.after.keys()])];
  const sources = ids.toSorted(compareText).map((id): SourceChange => {
    const before = reached.before.get(id) ?? NONE;
    return { cluster: id, before, after: reached.after.get(id) ?? NONE };
  });
  const leftOut = describeLeftOut(becomes, changed, reached.after.has(changed));
  return {
    cluster: was.importer.id,
    inNamespace: was.namespace,
    changes: isWithout(was.namespace)
      ? []
      : [...describeService(was.view, becomes.view), ...sources.flatMap(describeSource)],
    sources,
    ...(leftOut === undefined ? {} : { leftOut }),
  };
}

const NONE: EndpointCount = { endpoints: 0, ready: 0 };

/** An export of which nothing can be used looks like one that does no harm. */
function describeLeftOut(
  { received }: Standing,
  changed: ClusterId,
  isReached: boolean,
): string | undefined {
  const found = received.get(changed);
  const [rejected] = judgeRejections(found?.rejections ?? []);
  if (rejected !== undefined) return rejected.message;
  const isOffered = found?.contribution.endpoints.some(({ endpoints }) => endpoints.length > 0);
  return isOffered === true && !isReached
    ? `Nothing of it: none of the ports and IP families of ${changed} are those of the merged service.`
    : undefined;
}

function isWithout(namespace: NamespaceSight): boolean {
  return namespace === "missing" || namespace === "terminating";
}

/** As the slices would be written: without ports that lost, and families that are not served. */
function countReached(standing: Standing, judge: Standing): ReadonlyMap<ClusterId, EndpointCount> {
  const { importer, view, received } = standing;
  if (view === undefined) return new Map();
  // Who was not asked has no opinion of anybody that is known.
  const judged = hasRead(judge.importer, "slices") ? judge.judged : undefined;
  const writes = planSlices(
    {
      cluster: importer.id,
      view,
      contributions: [...received.values()].map(({ contribution }) => contribution),
      livenessOf: (source) => judged?.get(source) ?? "live",
      isAwaited: () => false,
    },
    [],
  );
  const counts = new Map<ClusterId, EndpointCount>();
  for (const write of writes) {
    if (write.verb === "delete") continue;
    const { metadata, endpoints } = write.object as EndpointSlice;
    const source = metadata.labels?.[SOURCE_CLUSTER_LABEL] as ClusterId;
    const sum = counts.get(source) ?? NONE;
    const found = countEndpoints(endpoints);
    counts.set(source, {
      endpoints: sum.endpoints + found.endpoints,
      ready: sum.ready + found.ready,
    });
  }
  return counts;
}
