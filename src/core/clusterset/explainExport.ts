// Clusterset: one cluster's export of a service in, how it fares out: whether it counts, who wins where exports disagree,
// what the hub has of it, and which of its endpoints are of use.

import type { Endpoint } from "../../api/builtin.ts";
import { type ServiceKey, splitServiceKey } from "../../api/names.ts";
import { judgeExport } from "../export.ts";
import { areEndpointsKnown, exportInput, isExportKnown } from "./contribution.ts";
import { count, explain, type Explanation, nameKeeper, sentence } from "./explanation.ts";
import { type ClusterRecord, type Clusterset, hasRead } from "./record.ts";
import { formatAge, parseTimeMs } from "./time.ts";
import { type ExportView, isEndpointReady, viewExport } from "./view.ts";

/** Undefined when the cluster does not export it. */
export function explainExport(
  set: Clusterset,
  record: ClusterRecord,
  service: ServiceKey,
): Explanation | undefined {
  const view = viewExport(set, record, service);
  if (view === undefined) return undefined;
  const what = `export in ${record.id}`;
  const refusal = view.valid ? undefined : explainRefusal(record, service);
  // What could not be read may be as it should be.
  if (refusal !== undefined) {
    return explain(what, isExportKnown(record) ? "bad" : "unknown", refusal);
  }
  const parts = [
    ...explainLag(record, view),
    ...explainConflicts(view),
    ...explainEndpoints(record, service, view),
  ];
  const isBad = parts.some(({ verdict }) => verdict === "bad");
  return explain(what, isBad ? "bad" : "good", { why: summarize(set, record, view), parts });
}

function summarize(set: Clusterset, record: ClusterRecord, view: ExportView): string {
  const createdMs = parseTimeMs(view.createdAt);
  const age = createdMs === undefined ? "" : ` ${formatAge(set.observation.nowMs - createdMs)} ago`;
  const rank = view.oldest === true ? ", the oldest export: where exports disagree, it wins" : "";
  const source = isExportKnown(record) ? "" : " So says the hub; the cluster itself was not read.";
  const counted = areEndpointsKnown(set, record)
    ? `${view.ready} of ${count(view.endpoints, "endpoint")} ready.`
    : "Its EndpointSlices could not be read.";
  return `Exported${age}${rank}. ${counted}${source}`;
}

function explainRefusal(record: ClusterRecord, service: ServiceKey) {
  if (!isExportKnown(record)) {
    return { why: "It is exported, but the Service could not be read.", next: nextForUnread() };
  }
  const outcome = { published: false, merged: undefined };
  const [valid] = judgeExport(exportInput(record, service), outcome);
  return { why: `It is not exported: ${valid?.message ?? "its Service cannot be exported."}` };
}

function nextForUnread(): string {
  return "Ask for the role view in that namespace.";
}

function explainLag(record: ClusterRecord, { behind }: ExportView): readonly Explanation[] {
  if (behind === undefined) return [];
  const words = { why: sentence(behind), next: nameKeeper(record) };
  return [explain("in step", "bad", words)];
}

/** The sentences of the merge itself, which are also in the Conflict condition. */
function explainConflicts({
  conflicts,
  oldest,
  winner,
  cluster,
}: ExportView): readonly Explanation[] {
  const next =
    winner === undefined
      ? `The oldest export wins, which is named here. If it is not that of ${cluster}, make the Service in ${cluster} agree with it, or delete the ServiceExport in ${cluster}.`
      : oldest === true
        ? `${cluster} wins, so nothing changes here. Make the other exports agree with it; or, if ${cluster} is the one that is wrong, change it.`
        : `Make the Service in ${cluster} agree with that of ${winner}, or delete the ServiceExport in ${cluster}.`;
  return conflicts.map(({ reason, message }) => explain(reason, "bad", { why: message, next }));
}

function explainEndpoints(
  record: ClusterRecord,
  service: ServiceKey,
  view: ExportView,
): readonly Explanation[] {
  if (!hasRead(record, "slices", "services")) return [];
  const { namespace } = splitServiceKey(service);
  const slices = record.sourceSlices.get(service) ?? [];
  const endpoints = slices.flatMap((slice) => slice.endpoints ?? []);
  if (view.endpoints === 0) {
    const selector = Object.entries(record.services.get(service)?.spec?.selector ?? {});
    const wanted = selector.map(([key, value]) => `${key}=${value}`).join(",");
    const next =
      wanted === ""
        ? `Its Service has no selector: somebody has to write EndpointSlices for it in ${record.id}, or give it one.`
        : `In ${record.id}: kubectl -n ${namespace} get pods -l ${wanted}`;
    const why = "Its Service has no endpoints, so this cluster contributes nothing.";
    return [explain("endpoints", "bad", { why, next })];
  }
  const parts = endpoints
    .filter((endpoint) => !isEndpointReady(endpoint))
    .map((endpoint) => explainUnready(endpoint, record.id, namespace));
  if (parts.length === 0) return [];
  const isOne = parts.length === 1;
  const why = `${parts.length} of ${count(endpoints.length, "endpoint")} ${isOne ? "is" : "are"} not ready and ${isOne ? "gets" : "get"} no traffic from anywhere.`;
  return [explain("endpoints", view.ready === 0 ? "bad" : "good", { why, parts })];
}

/** At its home: whatever others do with it starts here. */
export function explainUnready(
  { addresses, conditions, targetRef }: Endpoint,
  cluster: string,
  namespace: string,
): Explanation {
  const pod = targetRef?.kind === "Pod" ? targetRef.name : undefined;
  const who = pod === undefined ? "It" : `Its pod ${pod}`;
  const what = addresses[0] ?? "";
  const next =
    pod === undefined ? undefined : `In ${cluster}: kubectl -n ${namespace} describe pod ${pod}`;
  return conditions?.terminating === true
    ? explain(what, "bad", { why: `${who} is being shut down in ${cluster}.` })
    : explain(what, "bad", { why: `${who} is not ready in ${cluster}.`, next });
}
