// Import: the merged service and what this cluster has of it in, the ServiceImport to write out (R13–R19, R41, R57–R59).

import type { IPFamily } from "../api/builtin.ts";
import { SERVICE_IMPORT, type ServiceImport } from "../api/mcs.ts";
import { type ClusterId, MANAGED_LABEL, splitServiceKey } from "../api/names.ts";
import { apiVersionOf } from "../api/object.ts";
import { pickTrafficPolicy, type SharedPort } from "../api/share.ts";
import type { Rejection } from "./admission.ts";
import { type Judgement, planConditions } from "./condition.ts";
import { dropStaleMarks, renderMarks } from "./exported.ts";
import type { MergedService } from "./merge.ts";
import { compareText } from "./order.ts";
import { hasEntries, isSameData, type Write } from "./write.ts";

/** The service as this cluster is to see it. */
export interface ImportView extends Omit<MergedService, "conflicts"> {
  /** Families of the service that this cluster can serve. */
  readonly ipFamilies: readonly IPFamily[];
  /** Families that the exports ask for, served here or not. */
  readonly askedFamilies: readonly IPFamily[];
  /** Absent when there is no virtual IP to carry. */
  readonly derivedName: string | undefined;
}

/** What this cluster can make of the merged service (R42). */
export function viewMerged(
  merged: MergedService,
  local: { readonly families: readonly IPFamily[]; readonly derivedName: string },
): ImportView {
  const ipFamilies = merged.ipFamilies.filter((family) => local.families.includes(family));
  const isServed = merged.type === "ClusterSetIP" && ipFamilies.length > 0;
  return {
    ...merged,
    ipFamilies,
    askedFamilies: merged.ipFamilies,
    derivedName: isServed ? local.derivedName : undefined,
  };
}

/** Imports that we made, as opposed to those that an administrator wrote by hand. */
export function isManaged(serviceImport: ServiceImport): boolean {
  return serviceImport.metadata.labels?.[MANAGED_LABEL] === "true";
}

/** `ips` are the virtual IPs known so far. */
export function planServiceImport(
  view: ImportView,
  ips: readonly string[],
  observed: ServiceImport | undefined,
): Write[] {
  const marks = renderMarks(view, view.derivedName);
  const spec = renderSpec(view, ips);
  if (observed !== undefined) {
    const metadata = dropStaleMarks(observed.metadata, marks);
    const isCrowded = Object.keys(observed.spec ?? {}).some((key) => !(key in spec));
    // What somebody else set cannot be applied away: the spec is ours alone (R19), so it is replaced.
    if (metadata !== undefined || isCrowded) {
      const object = { ...observed, metadata: metadata ?? observed.metadata, spec };
      return [{ verb: "replace", resource: SERVICE_IMPORT, object }];
    }
    const isMarked =
      hasEntries(observed.metadata.labels, marks.labels) &&
      hasEntries(observed.metadata.annotations, marks.annotations);
    if (isMarked && isSameData(observed.spec, spec)) return [];
  }
  const { namespace, name } = splitServiceKey(view.service);
  const object: ServiceImport = {
    apiVersion: apiVersionOf(SERVICE_IMPORT),
    kind: SERVICE_IMPORT.kind,
    metadata: { namespace, name, ...marks },
    spec,
  };
  return [{ verb: "apply", resource: SERVICE_IMPORT, object }];
}

function renderSpec(view: ImportView, ips: readonly string[]): NonNullable<ServiceImport["spec"]> {
  return {
    type: view.type,
    ports: view.ports.map(renderPort),
    ...renderAddresses(view, ips),
    ...pickTrafficPolicy(view),
  };
}

/** For imports and Services alike: both leave out the name of a sole port. */
export function renderPort(port: SharedPort) {
  const { name, ...rest } = port;
  return name === "" ? rest : port;
}

/** Addresses and families appear in one write, in one order (R41, R59); a headless import never has addresses (R58). */
function renderAddresses(
  view: ImportView,
  ips: readonly string[],
): { ips?: readonly string[]; ipFamilies?: readonly IPFamily[] } {
  if (view.derivedName === undefined) {
    return { ipFamilies: view.ipFamilies.length > 0 ? view.ipFamilies : view.askedFamilies };
  }
  return ips.length === 0 ? {} : { ips, ipFamilies: ips.map(familyOf) };
}

export function familyOf(ip: string): IPFamily {
  return ip.includes(":") ? "IPv6" : "IPv4";
}

/** Absent when everything was taken in: nobody has to read that nothing is wrong. */
export const ENDPOINTS_ACCEPTED = "EndpointsAccepted";
const OUR_CONDITIONS: readonly string[] = ["Ready", ENDPOINTS_ACCEPTED];

export function planImportStatus(input: {
  readonly serviceImport: ServiceImport;
  readonly clusters: readonly ClusterId[];
  readonly hasSlices: boolean;
  readonly ready: Judgement;
  /** Undefined: not known for sure at present, so what was told of them stays. */
  readonly rejections: readonly Rejection[] | undefined;
  readonly now: string;
}): Write[] {
  const { serviceImport, clusters, hasSlices, ready, rejections, now } = input;
  const { conditions = [], ...rest } = serviceImport.status ?? {};
  const told = conditions.filter(({ type }) => type === ENDPOINTS_ACCEPTED);
  const planned = planConditions({
    before: conditions,
    judgements: [ready, ...judgeRejections(rejections ?? [])],
    generation: serviceImport.metadata.generation,
    now,
  });
  const status = {
    clusters: clusters.map((cluster) => ({ cluster })),
    endpointSliceObjects: hasSlices ? ("Present" as const) : ("Absent" as const),
    conditions: rejections === undefined ? [...planned, ...told] : planned,
  };
  // Conditions of other types are other people's; the order of ours says nothing.
  const ours = OUR_CONDITIONS.flatMap((ourType) =>
    conditions.filter(({ type }) => type === ourType),
  );
  if (isSameData({ ...rest, conditions: ours }, status)) return [];
  const wanted = new Set<string>(clusters);
  const isCrowded =
    (rest.clusters ?? []).some(({ cluster }) => !wanted.has(cluster)) ||
    ours.length > status.conditions.length;
  if (isCrowded) {
    // What somebody else wrote in cannot be applied away.
    const others = conditions.filter(({ type }) => !OUR_CONDITIONS.includes(type));
    const whole = { ...status, conditions: [...others, ...status.conditions] };
    const object: ServiceImport = { ...serviceImport, status: whole };
    return [{ verb: "replace", resource: SERVICE_IMPORT, object, subresource: "status" }];
  }
  const { namespace = "", name = "" } = serviceImport.metadata;
  const object: ServiceImport = {
    apiVersion: serviceImport.apiVersion,
    kind: serviceImport.kind,
    metadata: { namespace, name },
    status,
  };
  return [{ verb: "apply", resource: SERVICE_IMPORT, object, subresource: "status" }];
}

/** Whether the import can be used, and what is missing if not (R18). */
export function judgeImport(view: ImportView, ips: readonly string[]): Judgement {
  const type = "Ready";
  if (view.ipFamilies.length === 0) {
    const message = `The service speaks ${view.askedFamilies.join(" and ")}, which this cluster does not. Give the cluster that family, or export the service over one it has.`;
    return { type, status: "False", reason: "IPFamilyNotSupported", message };
  }
  if (view.derivedName !== undefined && ips.length === 0) {
    const message = "The service is waiting for its virtual IP.";
    return { type, status: "False", reason: "Pending", message };
  }
  return {
    type,
    status: "True",
    reason: "Ready",
    message: "The service can be used in this cluster.",
  };
}

/** Nothing to say, or all that was not taken in, in words that do not depend on the order it was heard in. */
export function judgeRejections(rejections: readonly Rejection[]): readonly Judgement[] {
  if (rejections.length === 0) return [];
  const reasons = [...new Set(rejections.map(({ reason }) => reason))].toSorted(compareText);
  const sentences = rejections
    .toSorted((a, b) => compareText(a.cluster, b.cluster) || compareText(a.message, b.message))
    .map(({ message }) => message);
  return [
    {
      type: ENDPOINTS_ACCEPTED,
      status: "False",
      reason: reasons.join(","),
      message: sentences.join(" "),
    },
  ];
}
