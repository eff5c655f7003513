// Clusterset: an observation and the name of a service in, why it can be used or not out, as a tree: the exports, then the way
// of traffic in every cluster that was asked.

import type { ServiceKey } from "../../api/names.ts";
import { isManaged } from "../import.ts";
import { orderShares } from "../order.ts";
import { findContributors, findExports } from "./contribution.ts";
import { explain, type Explanation, list, type Verdict, worst } from "./explanation.ts";
import { explainExport } from "./explainExport.ts";
import { explainImport } from "./explainImport.ts";
import { type ClusterRecord, type Clusterset, indexClusterset, isJoined } from "./record.ts";
import { isBlind, type Observation } from "./sighting.ts";
import type { Standing } from "./standing.ts";
import { findStandings } from "./view.ts";

export interface ServiceExplanation extends Explanation {
  readonly service: ServiceKey;
  /** Where traffic finds an endpoint; only clusters that have the import, or should. */
  readonly usable: readonly { readonly cluster: string; readonly verdict: Verdict }[];
}

/** Undefined when nothing that was read knows the service. */
export function explainService(
  observation: Observation,
  service: ServiceKey,
): ServiceExplanation | undefined {
  const set = indexClusterset(observation);
  return set.services.includes(service) ? explainIn(set, service) : undefined;
}

export function explainIn(set: Clusterset, service: ServiceKey): ServiceExplanation {
  const standings = findStandings(set, service);
  const exports = orderByAge(set, service).flatMap(
    (record) => explainExport(set, record, service) ?? [],
  );
  const imports = standings.map((standing) => explainImport(set, standing, standings));
  const usable = standings.flatMap((standing, index) => {
    const part = imports[index];
    return isExpected(standing) && part !== undefined
      ? [{ cluster: standing.importer.id, verdict: part.verdict }]
      : [];
  });
  const { verdict, why } = summarize(usable, exports.length);
  const isMissed = exports.length === 0 && !standings.some(isMadeByHand);
  const parts = [...(isMissed ? [explainNoExport(set)] : exports), ...imports];
  return {
    ...explain(service, verdict, { why, parts: [...parts, ...explainUnasked(set)] }),
    service,
    usable,
  };
}

/** In order of precedence; exports that do not count come last. */
function orderByAge(set: Clusterset, service: ServiceKey): readonly ClusterRecord[] {
  const { shares } = findExports(set, service);
  const ids = orderShares(shares).map(({ cluster }) => cluster);
  const rank = ({ id }: ClusterRecord): number => (ids.includes(id) ? ids.indexOf(id) : ids.length);
  return findContributors(set, service).toSorted((a, b) => rank(a) - rank(b));
}

/** Where a namespace is missing the service is not wanted: that is no failure. */
function isExpected({ importer, service, namespace, merged }: Standing): boolean {
  return importer.imports.has(service) || (namespace === "present" && merged !== undefined);
}

/** Somebody else's import, which is served like all others: it needs no export. */
function isMadeByHand({ importer, service }: Standing): boolean {
  const serviceImport = importer.imports.get(service);
  return serviceImport !== undefined && !isManaged(serviceImport);
}

function summarize(
  usable: ServiceExplanation["usable"],
  exports: number,
): { readonly verdict: Verdict; readonly why: string } {
  const of = (wanted: Verdict): readonly string[] =>
    usable.flatMap(({ cluster, verdict }) => (verdict === wanted ? cluster : []));
  const [good, bad, unknown] = [of("good"), of("bad"), of("unknown")];
  if (usable.length === 0) {
    const why =
      exports === 0
        ? "Nobody exports it."
        : "It is imported in none of the clusters that were asked.";
    return { verdict: "bad", why };
  }
  const clauses = [
    ...(good.length === 0 ? [] : [`can be used in ${list(good)}`]),
    ...(bad.length === 0 ? [] : [`cannot be used in ${list(bad)}`]),
    ...(unknown.length === 0 ? [] : [`may be usable in ${list(unknown)}`]),
  ];
  return { verdict: worst(usable.map(({ verdict }) => verdict)), why: `It ${clauses.join(", ")}.` };
}

function explainNoExport(set: Clusterset): Explanation {
  const isWhole = set.records.every(({ sighting }) => sighting !== undefined && !isBlind(sighting));
  const where = isWhole ? "none of the clusters that were asked" : "no cluster that could be asked";
  const why = `There is a ServiceExport of it in ${where}.`;
  const next =
    "Create a ServiceExport of the same name where the Service is, or ask the cluster that has it.";
  return explain("exports", "bad", { why, next });
}

/** What could not be asked might change the picture. */
function explainUnasked(set: Clusterset): readonly Explanation[] {
  const { hub } = set.observation;
  const blind = set.records.flatMap(({ id, sighting }) =>
    sighting !== undefined && isBlind(sighting)
      ? [
          explain(`in ${id}`, "unknown", {
            why: sighting.problems[0] ?? `${id} did not answer.`,
            next: `What ${id} exports and imports is not told here. Traffic does not pass this machine, so it may be well.`,
          }),
        ]
      : [],
  );
  if (hub?.problem === undefined) return blind;
  const joined = set.records.filter(isJoined).map(({ id }) => id);
  const next = `What was imported stays as it is. New exports and changes between ${list(joined)} wait until agents reach the hub.`;
  return [...blind, explain("hub", "unknown", { why: hub.problem, next })];
}
