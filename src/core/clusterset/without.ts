// Clusterset: an observation and one cluster in, what every service would have left without that cluster out. Reads what is
// written now; changes nothing, and foresees no autoscaler.

import type { EndpointSlice } from "../../api/builtin.ts";
import { type ClusterId, type ServiceKey, splitServiceKey } from "../../api/names.ts";
import { isReady, routesOf } from "../fate.ts";
import { type MergedService, mergeShares } from "../merge.ts";
import { compareText } from "../order.ts";
import { describePort } from "../ports.ts";
import { findExports, isExportKnown } from "./contribution.ts";
import { findReserve } from "./reserve.ts";
import { count, list } from "./explanation.ts";
import { type ClusterRecord, type Clusterset, hasRead, indexClusterset } from "./record.ts";
import type { Observation } from "./sighting.ts";
import { findSources, slicesFrom, sourceOf, type Standing } from "./standing.ts";
import { countEndpoints, findStandings, viewSource } from "./view.ts";

export type Loss =
  /** It has no ready endpoint left somewhere. */
  | "gone"
  /** Some port, or some family, has nobody left who serves it. */
  | "partly"
  /** Fewer ready endpoints. */
  | "weaker"
  /** Other exports are there, but no cluster that was read shows what they would serve. */
  | "unknown"
  | "none";

export interface LossView {
  readonly namespace: string;
  readonly name: string;
  readonly loss: Loss;
  /** Who would still export it. */
  readonly exports: readonly string[];
  /** In every other cluster that imports it: ready endpoints now, and without the cluster. */
  readonly imports: readonly {
    readonly cluster: string;
    readonly ready: number;
    readonly left: number;
  }[];
  /** What nobody else serves: "IPv4 http". */
  readonly routes: readonly string[];
  /** What would change by the merge if its export were gone, too: while it is only lost, its say stays. */
  readonly changes: readonly string[];
  /** A sentence. */
  readonly why: string;
}

/** Undefined when there is no such cluster. */
export function viewWithout(
  observation: Observation,
  cluster: ClusterId,
): readonly LossView[] | undefined {
  const set = indexClusterset(observation);
  if (!set.records.some(({ id }) => id === cluster)) return undefined;
  return set.services.map((service) => viewLoss(set, service, cluster));
}

function viewLoss(set: Clusterset, service: ServiceKey, cluster: ClusterId): LossView {
  const standings = findStandings(set, service).filter(
    ({ importer }) => importer.id !== cluster && isRead(importer) && importer.imports.has(service),
  );
  const imports = standings.map((standing) => {
    const sources = findSources(standing).map((source) => viewSource(standing, source));
    const ready = sources.reduce((sum, source) => sum + source.ready, 0);
    const lost = sources.find((source) => source.cluster === cluster)?.ready ?? 0;
    const reserve = findReserve(standing, cluster).flatMap((slice) => slice.endpoints);
    const left = ready - lost + countEndpoints(reserve).ready;
    return { cluster: standing.importer.id, ready, left };
  });
  const { shares, merged } = findExports(set, service);
  const left = shares.filter((share) => share.cluster !== cluster);
  const routes = [...new Set(standings.flatMap((standing) => findLostRoutes(standing, cluster)))];
  const reserve = standings.flatMap((standing) => findReserve(standing, cluster));
  const returning = [...new Set(reserve.map(sourceOf))].toSorted(compareText);
  const exports = left.map((share) => share.cluster);
  const facts = { imports, routes, exports, cluster, returning };
  const loss = imports.length > 0 ? judgeLoss(facts) : judgeByExports(set, service, facts);
  const changes = describeChanges(merged, mergeShares(left));
  const { cluster: _, returning: __, ...shown } = facts;
  return { ...splitServiceKey(service), loss, ...shown, changes, why: describeLoss(loss, facts) };
}

function isRead(record: ClusterRecord): boolean {
  return hasRead(record, "serviceImports", "slices");
}

/** Where no importer could be read, it may still be plain that nobody would be left to serve it. */
function judgeByExports(
  set: Clusterset,
  service: ServiceKey,
  { cluster, exports }: Facts,
): "gone" | "unknown" | "none" {
  const others = set.records.filter(({ id }) => id !== cluster);
  // Everybody was read, and nobody imports it.
  if (others.length > 0 && others.every(isRead)) return "none";
  const listed = set.records.flatMap(({ imports }) =>
    (imports.get(service)?.status?.clusters ?? []).map((entry) => entry.cluster),
  );
  const isItsOwn =
    findExports(set, service).shares.some((share) => share.cluster === cluster) ||
    listed.includes(cluster);
  const record = set.byId.get(cluster);
  if (!isItsOwn) return record !== undefined && isExportKnown(record) ? "none" : "unknown";
  const isShared = exports.length > 0 || listed.some((id) => id !== cluster);
  return isShared ? "unknown" : "gone";
}

/** Of what is served now. */
function findLostRoutes(standing: Standing, cluster: ClusterId): readonly string[] {
  const slicesOf = (sources: readonly ClusterId[]): readonly EndpointSlice[] =>
    sources.flatMap((source) => slicesFrom(standing.importer, standing.service, source));
  const routes = (slices: readonly EndpointSlice[]): ReadonlySet<string> =>
    new Set(slices.filter(isReady).flatMap(routesOf));
  const others = slicesOf(findSources(standing).filter((source) => source !== cluster));
  const kept = routes([...others, ...findReserve(standing, cluster)]);
  const lost = [...routes(slicesOf([cluster]))].filter((route) => !kept.has(route));
  return lost.map((route) => route.trim()).toSorted(compareText);
}

type Facts = Pick<LossView, "imports" | "routes" | "exports"> & {
  readonly cluster: ClusterId;
  /** Drained now, and used again then. */
  readonly returning: readonly string[];
};

function judgeLoss({ imports, routes }: Facts): Loss {
  if (imports.some(({ ready, left }) => ready > 0 && left === 0)) return "gone";
  if (routes.length > 0) return "partly";
  return imports.some(({ ready, left }) => left < ready) ? "weaker" : "none";
}

function describeLoss(loss: Loss, facts: Facts): string {
  const { imports, routes, exports, cluster: lost, returning } = facts;
  const hit = imports.filter(({ ready, left }) => left < ready);
  const [worst] = hit.toSorted((a, b) => a.left - b.left);
  const others =
    exports.length === 0
      ? "nobody else exports it"
      : `${list(exports)} ${exports.length === 1 ? "stays" : "stay"}`;
  switch (loss) {
    case "gone":
      if (imports.length === 0) return `Only ${lost} exports it, as far as could be read.`;
      return `No ready endpoint would be left in ${list(hit.flatMap(({ cluster, left }) => (left === 0 ? cluster : [])))}: ${exports.length === 0 ? others : `${others}, without a ready endpoint`}.`;
    case "partly":
      return `Nobody else serves ${list(routes)}; the rest goes on.`;
    case "weaker":
      return `${count(worst?.left ?? 0, "ready endpoint")} of ${worst?.ready ?? 0} would be left in ${worst?.cluster ?? ""}: ${others}.`;
    case "unknown":
      return "No other cluster that imports it could be read with its EndpointSlices, so what would be left cannot be told. Name them all, with --kubeconfig or --context.";
    case "none":
      return imports.length === 0
        ? `No other cluster needs ${lost} for it, as far as was asked.`
        : returning.length > 0
          ? `${list(returning)} would serve again, though drained.`
          : "It has no ready endpoint there, so nothing would change.";
    default:
      return loss satisfies never;
  }
}

function describeChanges(
  now: MergedService | undefined,
  then: MergedService | undefined,
): readonly string[] {
  if (now === undefined || then === undefined) return [];
  const ports = then.ports.map(describePort);
  const gone = now.ports.map(describePort).filter((port) => !ports.includes(port));
  const added = ports.filter((port) => !now.ports.map(describePort).includes(port));
  return [
    ...(now.type === then.type
      ? []
      : [`its type becomes ${then.type}, and its virtual IP changes`]),
    ...(gone.length === 0 ? [] : [`port ${list(gone)} goes`]),
    ...(added.length === 0 ? [] : [`port ${list(added)} comes`]),
    ...(now.conflicts.length > 0 && then.conflicts.length === 0 ? ["its conflict ends"] : []),
  ];
}
