// Clusterset: an observation in, whether all is well out, and everything that is not, once each: a cause is told where it
// is, not again at each of its consequences.

import type { ClusterId, ServiceKey } from "../../api/names.ts";
import { exposesPort } from "../ports.ts";
import { findContributors } from "./contribution.ts";
import { explainIn } from "./explain.ts";
import { isLocalOnly } from "./explainEndpoint.ts";
import { askToo, type Explanation, nameIt } from "./explanation.ts";
import { judgeCluster, type LivenessView } from "./liveness.ts";
import { type ClusterRecord, type Clusterset, findNameless, indexClusterset } from "./record.ts";
import { isServed } from "./served.ts";
import { describeLack, isBlind, type Observation } from "./sighting.ts";
import type { Standing } from "./standing.ts";
import { findStandings, isImportReady, viewExport } from "./view.ts";

export interface Finding {
  readonly about: "hub" | "cluster" | "service";
  /** A cluster id, "namespace/name", or the hub's address. */
  readonly subject: string;
  readonly verdict: "bad" | "unknown";
  /** What of it: "export in east", "in west: address". */
  readonly what: string;
  readonly why: string;
  readonly next?: string;
}

export interface StatusView {
  /** Nothing is bad. What is unknown is for a person to judge. */
  readonly well: boolean;
  readonly clusters: { readonly total: number; readonly well: number };
  readonly services: { readonly total: number; readonly well: number };
  readonly findings: readonly Finding[];
}

export function viewStatus(observation: Observation): StatusView {
  const set = indexClusterset(observation);
  const standings = set.services.flatMap((service) => findStandings(set, service));
  const clusters = set.records.flatMap((record) => [
    ...findClusterTrouble(record, judgeCluster(set, record, standings)),
    ...findEviction(set, record),
  ]);
  const gone = new Set(
    clusters.flatMap(({ subject, verdict }) => (verdict === "bad" ? subject : [])),
  );
  const services = set.services.flatMap((service) => findServiceTrouble(set, service, gone));
  const findings = [
    ...findHubTrouble(set),
    ...clusters,
    ...findUnasked(set, standings),
    ...findDoubles(set),
    ...services,
  ];
  const bad = (about: Finding["about"]): number =>
    new Set(
      findings.flatMap((one) => (one.about === about && one.verdict === "bad" ? one.subject : [])),
    ).size;
  const total = set.records.length + set.doubles.length;
  return {
    well: !findings.some(({ verdict }) => verdict === "bad"),
    clusters: { total, well: total - bad("cluster") },
    services: { total: set.services.length, well: set.services.length - bad("service") },
    findings,
  };
}

function findHubTrouble({ observation: { hub } }: Clusterset): readonly Finding[] {
  if (hub?.problem === undefined) return [];
  const next =
    "What was imported stays as it is and traffic goes on, but nothing new is shared while agents do not reach it either.";
  return [
    { about: "hub", subject: hub.server, verdict: "bad", what: "hub", why: hub.problem, next },
  ];
}

function findClusterTrouble(
  { id, sighting, member }: ClusterRecord,
  { liveness, why, next }: LivenessView,
): readonly Finding[] {
  const isAway = sighting !== undefined && isBlind(sighting);
  const lacks = new Set((sighting?.lacking ?? []).map(describeLack));
  const isDrained = liveness === "drained";
  const isBad = isAway || (liveness !== "live" && liveness !== "unknown" && !isDrained);
  // That only the hub was asked about it is no news, and nothing to do about.
  const isNews = isBad || isDrained || (liveness === "unknown" && next !== undefined);
  const synced = member?.status?.conditions?.find(({ type }) => type === "Synced");
  const isSynced = member === undefined || synced?.status === "True";
  const about = (what: string, fields: Pick<Finding, "why" | "verdict" | "next">): Finding => ({
    about: "cluster",
    subject: id,
    what,
    ...fields,
  });
  return [
    ...(isNews
      ? [
          about(isDrained ? "drain" : "liveness", {
            verdict: isBad ? "bad" : "unknown",
            why,
            ...(next === undefined ? {} : { next }),
          }),
        ]
      : []),
    ...(isSynced
      ? []
      : [
          about("sync", {
            verdict: "unknown",
            why: "It has joined, but has not told the hub all that it exports yet.",
            next: `Start the agent of ${id}, or look in its log.`,
          }),
        ]),
    // Why it is away is told above.
    ...(isAway ? [] : (sighting?.problems ?? [])).map((problem) =>
      lacks.has(problem)
        ? about("definitions", { verdict: "bad", why: problem })
        : about("reading", { verdict: "unknown", why: problem }),
    ),
  ];
}

function findEviction({ observation }: Clusterset, record: ClusterRecord): readonly Finding[] {
  const { id, sighting, member } = record;
  const { hub } = observation;
  const isAsked = hub !== undefined && hub.problem === undefined && sighting?.hub === hub.server;
  if (!isAsked || member !== undefined) return [];
  return [
    {
      about: "cluster",
      subject: id,
      verdict: "bad",
      what: "membership",
      why: "It has joined a hub that does not know it: it was evicted, or the hub has lost its data.",
      next: 'What is imported stays as it is. Join again with "isthmus join", or remove everything with "isthmus leave".',
    },
  ];
}

/** They take part, as imports have it, but nobody named them. */
function findUnasked(set: Clusterset, standings: readonly Standing[]): readonly Finding[] {
  const asked = new Set(set.records.map(({ id }) => id));
  const ids = new Set(standings.flatMap(({ unknown }) => unknown));
  const nameless = findNameless(set);
  return [...ids]
    .filter((id) => !asked.has(id))
    .map((id) => ({
      about: "cluster",
      subject: id,
      verdict: "unknown",
      what: "reading",
      why: `It takes part, but ${nameless.length > 0 ? "did not answer, or " : ""}was not asked, so whether imports are in step with it cannot be told.`,
      next: nameless.length > 0 ? nameIt(id, nameless) : askToo([id]),
    }));
}

function findDoubles({ doubles }: Clusterset): readonly Finding[] {
  return doubles.map(({ name, cluster }) => ({
    about: "cluster",
    subject: name,
    verdict: "bad",
    what: "identity",
    why: `${name} goes by the id "${cluster}", which another cluster named before has, too.`,
    next: "Name each cluster once, and give each an id of its own.",
  }));
}

const COUNTED = /^\d+ of \d+ endpoints? ready in \d+ slices?\.\s*/;

/** Endpoints are left out: a pod that is not ready is its owner's business while others serve. */
function findServiceTrouble(
  set: Clusterset,
  service: ServiceKey,
  gone: ReadonlySet<string>,
): readonly Finding[] {
  if (isPlainlyWell(set, service)) return [];
  const explained = explainIn(set, service);
  const found = new Map<string, Finding>();
  const add = (what: string, { verdict, why, parts, ...words }: Explanation): void => {
    if (verdict === "good") return;
    const next = words.next ?? parts.flatMap((part) => part.next ?? [])[0];
    const cause = nameCause(what, why);
    if (found.get(cause)?.verdict === "bad" && verdict !== "bad") return;
    found.set(cause, {
      about: "service",
      subject: service,
      verdict,
      what,
      why,
      ...(next === undefined ? {} : { next }),
    });
  };
  const spoiled = new Set(
    explained.parts.flatMap((part) =>
      isSpoiled(part) ? part.what.slice("export in ".length) : [],
    ),
  );
  const disputed = new Set(
    findContributors(set, service).flatMap((record) =>
      viewExport(set, record, service)?.conflicts.length === 0 ? [] : (record.id as string),
    ),
  );
  const outvoted = new Set(
    findStandings(set, service).flatMap((standing) =>
      findOutvoted(standing).map((source) => `in ${standing.importer.id}: from ${source}`),
    ),
  );
  // Where imports are behind, the conditions of exports are, too.
  const isBehind = explained.parts.some(
    ({ what, parts }) => what.startsWith("in ") && parts.some((inner) => isLate(inner)),
  );
  for (const part of explained.parts) {
    const troubled = part.parts.filter(({ verdict }) => verdict !== "good");
    // That a cluster has no such namespace is as it should be, more often than not.
    const isAbsent = part.what.startsWith("in ") && part.verdict === "unknown";
    if (troubled.length === 0 && !isAbsent) add(part.what, part);
    for (const inner of troubled) {
      const source = inner.what.startsWith("from ") ? inner.what.slice("from ".length) : "";
      const isExport = part.what.startsWith("export in ");
      const isConsequence =
        spoiled.has(source) ||
        gone.has(source) ||
        (inner.verdict === "unknown" && disputed.has(source)) ||
        outvoted.has(`${part.what}: ${inner.what}`) ||
        (isExport && isBehind && isLate(inner));
      // Who was not asked is told once, not for each service.
      const isOpen = inner.what === "in step" && inner.verdict === "unknown";
      if (!isConsequence && !isOpen) add(`${part.what}: ${inner.what}`, inner);
    }
  }
  const isTold = [...found.values()].some(({ verdict }) => verdict === "bad");
  const isUsable = explained.usable.every(({ verdict }) => verdict !== "bad");
  if (!isTold && (!isUsable || explained.verdict === "bad"))
    add("use", { ...explained, verdict: "bad" });
  // The hub is told once, not for each service.
  return [...found.values()].filter(({ what }) => what !== "hub");
}

/** It contributes nothing, or not what it should: a conflict alone keeps nobody from being used. */
function isSpoiled({ what, verdict, parts }: Explanation): boolean {
  if (!what.startsWith("export in ") || verdict !== "bad") return false;
  const isRefused = parts.length === 0;
  return isRefused || parts.some((part) => part.verdict === "bad" && isOwnTrouble(part.what));
}

function isOwnTrouble(what: string): boolean {
  return what === "endpoints" || what === "in step";
}

/** Sources all of whose ports lost the merge: that is told as the conflict that it is (R28). */
function findOutvoted({ received, merged }: Standing): readonly ClusterId[] {
  return [...received].flatMap(([source, { contribution }]) => {
    const { share } = contribution;
    const isHeard = merged?.ports.some((port) => exposesPort(share, port)) === true;
    return isHeard || share.ports.length === 0 ? [] : source;
  });
}

/**
 * The same sentence twice is one cause, whatever is counted in front of it, where it is about the export and not about
 * who says it: a conflict, a policy, what comes from one source. The last says what to do about it.
 */
function nameCause(what: string, why: string): string {
  const cause = why.replace(COUNTED, "");
  const [place = "", inner = ""] = what.split(": ");
  const isShared =
    inner === "policy" ||
    inner.startsWith("from ") ||
    (place.startsWith("export in ") && inner !== "" && !isOwnTrouble(inner));
  if (!isShared || cause === "") return `${what}: ${cause}`;
  return inner.startsWith("from ") ? `${inner}: ${cause}` : cause;
}

/** Most services, most of the time: nothing about them has to be explained. */
function isPlainlyWell(set: Clusterset, service: ServiceKey): boolean {
  const exports = findContributors(set, service).map((record) => viewExport(set, record, service));
  const areExported = exports.every(
    (one) =>
      one !== undefined &&
      one.valid &&
      one.conflicts.length === 0 &&
      one.behind === undefined &&
      one.ready > 0,
  );
  if (!areExported || exports.length === 0) return false;
  return findStandings(set, service).every((standing) => {
    const { importer, namespace, due, received, judged } = standing;
    const serviceImport = importer.imports.get(service);
    if (serviceImport === undefined) return namespace === "missing";
    return (
      namespace === "present" &&
      due?.length === 0 &&
      isImportReady(serviceImport) &&
      !isLocalOnly(standing) &&
      [...received].every(
        ([id, { rejections }]) =>
          rejections.length === 0 &&
          (judged.get(id) === "drained" || (judged.get(id) === "live" && isServed(standing, id))),
      )
    );
  });
}

function isLate({ what, verdict }: Explanation): boolean {
  return what === "in step" && verdict === "bad";
}
