// Clusterset: one service in one cluster in, the way of its traffic out, step by step: name, import, virtual IP, and for each
// source its slices and endpoints.

import { type ClusterId, serviceKey, splitServiceKey } from "../../api/names.ts";
import { readVirtualIps } from "../derived.ts";
import { ENDPOINTS_ACCEPTED } from "../import.ts";
import { createPolicy } from "../policy.ts";
import { explainEndpoints, isLocalOnly } from "./explainEndpoint.ts";
import {
  askToo,
  count,
  explain,
  type Explanation,
  list,
  nameIt,
  nameKeeper,
  type Verdict,
} from "./explanation.ts";
import { judgeCluster } from "./liveness.ts";
import { type Clusterset, drainOf, findNameless, hasRead } from "./record.ts";
import { describeDue, findSources, slicesFrom, type Standing, UNNAMED_SOURCE } from "./standing.ts";
import { isEndpointReady, isImportReady, viewSource } from "./view.ts";

export const CLUSTERSET_ZONE = "clusterset.local";
const NEXT_FOR_UNREAD = "Ask for the role view in that namespace.";

/** `standings` are those of the service in all clusters. */
export function explainImport(
  set: Clusterset,
  standing: Standing,
  standings: readonly Standing[],
): Explanation {
  const { importer, service } = standing;
  const what = `in ${importer.id}`;
  const serviceImport = importer.imports.get(service);
  if (serviceImport === undefined) return explain(what, ...explainAbsence(standing));
  const sources = findSources(standing).map((source) =>
    explainSource(set, standing, { source, standings }),
  );
  const usable = judgeUsable(standing, sources);
  const parts = [
    ...explainStep(standing),
    explainReady(standing),
    explainAddress(standing),
    ...explainPolicy(standing),
    ...sources,
  ];
  const words = { good: "can be used", bad: "cannot be used", unknown: "may be usable" };
  const name = `${splitServiceKey(service).name}.${splitServiceKey(service).namespace}.svc.${CLUSTERSET_ZONE}`;
  const why = `${name} ${words[usable]} in ${importer.id}.`;
  return explain(what, usable, { why, parts });
}

/** Whether traffic finds an endpoint that is ready at home, too; unknown when that could not be read. */
function judgeUsable({ importer, service }: Standing, sources: readonly Explanation[]): Verdict {
  const serviceImport = importer.imports.get(service);
  if (!isImportReady(serviceImport)) return "bad";
  const isHeadless = serviceImport?.spec?.type === "Headless";
  if (!isHeadless && (serviceImport?.spec?.ips ?? []).length === 0) return "bad";
  if (!hasRead(importer, "slices")) return "unknown";
  const endpoints = sources.flatMap(({ parts }) => parts);
  return endpoints.some(({ verdict, inUse }) => verdict === "good" && inUse) ? "good" : "bad";
}

function explainAbsence(
  standing: Standing,
): readonly [Verdict, { readonly why: string; readonly next?: string }] {
  const { importer, service, merged, unknown } = standing;
  const { namespace, name } = splitServiceKey(service);
  if (!hasRead(importer, "serviceImports")) {
    const why = `The ServiceImports of ${importer.id} could not be read.`;
    return ["unknown", { why, next: NEXT_FOR_UNREAD }];
  }
  if (standing.namespace === "missing") {
    return [
      "unknown",
      {
        why: `There is no namespace "${namespace}" in ${importer.id}, so the service is not imported there.`,
        next: `If it is to be used there, run in ${importer.id}: kubectl create namespace ${namespace}`,
      },
    ];
  }
  if (standing.namespace === "terminating") {
    return ["unknown", { why: `The namespace "${namespace}" of ${importer.id} is being deleted.` }];
  }
  if (merged === undefined) {
    const why =
      unknown.length === 0
        ? "Nobody exports it, so there is nothing to import."
        : `It is not imported, and whether ${list(unknown)} exports it is not known.`;
    return ["unknown", { why, ...(unknown.length > 0 && { next: askToo(unknown) }) }];
  }
  if (standing.namespace === "unknown") {
    const why = `There is no ServiceImport "${name}", and whether ${importer.id} has the namespace "${namespace}" could not be read.`;
    return ["unknown", { why, next: `If it has: ${nameKeeper(importer)}` }];
  }
  if (createPolicy({}).isDenied(namespace)) {
    const why = `There is no ServiceImport "${name}": nothing is imported into the namespace "${namespace}" unless that is allowed.`;
    const next = `Use another namespace, or start central and agents with --allow-namespace ${namespace}.`;
    return ["bad", { why, next }];
  }
  const why = `There is no ServiceImport "${name}", though ${list(merged.clusters)} ${merged.clusters.length === 1 ? "exports" : "export"} the service.`;
  return ["bad", { why, next: nameKeeper(importer) }];
}

/** Nothing when all is in step: nobody has to read that nothing is wrong. */
function explainStep({ importer, due, unknown }: Standing): readonly Explanation[] {
  if (!hasRead(importer, "serviceImports", "services", "slices")) {
    const why = `Not all of the service's objects in ${importer.id} were read, so whether they are in step cannot be told.`;
    return [explain("in step", "unknown", { why, next: NEXT_FOR_UNREAD })];
  }
  if (unknown.length > 0) {
    const why = `What ${list(unknown)} ${unknown.length === 1 ? "exports" : "export"} was not read, so whether ${importer.id} is in step with it cannot be told.`;
    return [explain("in step", "unknown", { why, next: askToo(unknown) })];
  }
  if (due === undefined) {
    const why = `What the hub has was not read, so whether ${importer.id} is in step with it cannot be told.`;
    return [explain("in step", "unknown", { why })];
  }
  const clauses = describeDue(due);
  if (clauses.length === 0) return [];
  const why = `${importer.id} is behind what is exported: ${clauses.join("; ")}.`;
  return [explain("in step", "bad", { why, next: nameKeeper(importer) })];
}

function explainReady({ importer, service }: Standing): Explanation {
  const conditions = importer.imports.get(service)?.status?.conditions ?? [];
  const ready = conditions.find(({ type }) => type === "Ready");
  if (ready === undefined) {
    const why = "Nobody has looked at it yet: it has no conditions.";
    return explain("import", "bad", { why, next: nameKeeper(importer) });
  }
  return ready.status === "True"
    ? explain("import", "good", { why: "The ServiceImport is there, and Ready." })
    : explain("import", "bad", { why: ready.message });
}

function explainAddress({ importer, service, derivedName: name }: Standing): Explanation {
  const { spec } = importer.imports.get(service) ?? {};
  const { namespace } = splitServiceKey(service);
  if (spec?.type === "Headless") {
    const ready = (importer.importedSlices.get(service) ?? []).flatMap((slice) =>
      (slice.endpoints ?? []).filter(isEndpointReady),
    );
    return ready.length === 0
      ? explain("address", "bad", {
          why: "It is headless and has no ready endpoint, so its name does not exist for DNS.",
        })
      : explain("address", "good", {
          why: `It is headless: DNS gives the addresses of ${count(ready.length, "ready endpoint")}.`,
        });
  }
  const ips = spec?.ips ?? [];
  const derived = importer.services.get(serviceKey({ namespace, name }));
  if (ips.length === 0) {
    const why = "It has no virtual IP yet, so its name has no address.";
    return explain("address", "bad", { why, next: nameKeeper(importer) });
  }
  if (!hasRead(importer, "services")) {
    return explain("address", "unknown", {
      why: `Virtual IP ${ips.join(", ")}. Whether the Service "${name}" has it could not be read.`,
    });
  }
  const carried = readVirtualIps(derived);
  if (ips.every((ip) => carried.includes(ip))) {
    return explain("address", "good", {
      why: `Virtual IP ${ips.join(", ")} of Service "${name}".`,
    });
  }
  const has = carried.length === 0 ? "is not there" : `has ${carried.join(", ")}`;
  const why = `The import shows the virtual IP ${ips.join(", ")}, but the Service "${name}" ${has}.`;
  return explain("address", "bad", { why, next: nameKeeper(importer) });
}

/** Some clusters mean it: where there are endpoints of their own it is no fault. */
function explainPolicy(standing: Standing): readonly Explanation[] {
  const { importer, service, merged } = standing;
  if (!isLocalOnly(standing)) return [];
  const hasOwn = viewSource(standing, importer.id).ready > 0;
  const owner = merged?.clusters.length === 1 ? ` in ${merged.clusters[0]}` : "";
  const why =
    "Its internalTrafficPolicy is Local: clients reach endpoints on their own node only, and never those of other clusters.";
  const next = `Set internalTrafficPolicy: Cluster on the exported Service ${splitServiceKey(service).name}${owner}, unless that is meant.`;
  return [explain("policy", hasOwn ? "unknown" : "bad", { why, next })];
}

function explainSource(
  set: Clusterset,
  standing: Standing,
  from: { readonly source: ClusterId; readonly standings: readonly Standing[] },
): Explanation {
  const { importer, service } = standing;
  const { source } = from;
  const what = `from ${source}`;
  const view = viewSource(standing, source);
  const slices = slicesFrom(importer, service, source).length;
  const parts = explainEndpoints(set, standing, source);
  const counted = `${view.ready} of ${count(Math.max(view.endpoints, parts.length), "endpoint")} ready in ${count(slices, "slice")}.`;
  const words = (why: string, next?: string) => ({ why: `${counted} ${why}`.trim(), next, parts });
  if (!hasRead(importer, "slices")) {
    return explain(what, "unknown", { why: `The EndpointSlices of ${importer.id} were not read.` });
  }
  const record = set.byId.get(source);
  if (record === undefined) {
    const verdict = view.ready > 0 ? "good" : "unknown";
    const nameless = findNameless(set);
    if (source === UNNAMED_SOURCE) return explain(what, verdict, words("They name no cluster."));
    return nameless.length === 0
      ? explain(what, verdict, words(`${source} itself was not asked.`))
      : explain(
          what,
          verdict,
          words(`${source} itself did not answer, or was not asked.`, nameIt(source, nameless)),
        );
  }
  if (view.liveness === "drained") {
    const why = drainOf(record) ?? "";
    const use =
      view.ready === 0
        ? "others serve in its place"
        : "nobody else serves it, so it goes on being used";
    return explain(what, "good", words(`${source} is drained (${why}): ${use}.`));
  }
  if (view.liveness !== "live" && view.liveness !== "unknown") {
    const judged = judgeCluster(set, record, from.standings);
    return explain(what, "bad", words(judged.why, judged.next));
  }
  const rejected = describeRejections(standing, source);
  if (rejected !== undefined) return explain(what, "bad", words(rejected));
  if (isLocalOnly(standing) && source !== importer.id && view.ready > 0) {
    return explain(what, "good", words("Not used here: see the policy above."));
  }
  if (parts.some(({ verdict, inUse }) => verdict === "good" && inUse === true)) {
    return explain(what, "good", words(""));
  }
  if (view.ready > 0 && view.attached === 0) {
    const why = "None of its slices is attached to the virtual IP.";
    return explain(what, "bad", words(why, nameKeeper(importer)));
  }
  if (standing.unknown.includes(source)) {
    return explain(what, "unknown", words("It could not be asked why."));
  }
  if (parts.length > 0 && parts.every(({ verdict }) => verdict === "unknown")) {
    return explain(what, "unknown", words(""));
  }
  return explain(
    what,
    "bad",
    words(parts.length === 0 ? `${source} has no endpoints for it.` : ""),
  );
}

/** Where the hub was not read, the import's own condition still tells. At home endpoints are what they are. */
function describeRejections(
  { importer, service, received }: Standing,
  source: ClusterId,
): string | undefined {
  if (source === importer.id) return undefined;
  const rejections = received.get(source)?.rejections ?? [];
  if (rejections.length > 0) return rejections.map(({ message }) => message).join(" ");
  const conditions = importer.imports.get(service)?.status?.conditions ?? [];
  const accepted = conditions.find(({ type }) => type === ENDPOINTS_ACCEPTED);
  if (accepted?.status !== "False") return undefined;
  return accepted.message.includes(`"${source}"`) ? accepted.message : undefined;
}
