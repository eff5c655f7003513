// Plan: everything this cluster knows about one service in, the writes that are due now out; empty when nothing differs.
// Later writes need what earlier ones return (uid, virtual IP), so the shell plans again after it has written.
//
//   ServiceImport ─uid─▶ derived Service ─▶ new EndpointSlices ─▶ ServiceImport.spec.ips ─▶ status
//   Headless, without a derived Service: EndpointSlices, then the import.

import {
  type EndpointSlice,
  type IPFamily,
  NAMESPACE,
  SERVICE,
  type Service,
} from "../api/builtin.ts";
import { derivedServiceName } from "../api/digest.ts";
import { SERVICE_IMPORT, type ServiceImport } from "../api/mcs.ts";
import { type ClusterId, type ServiceKey, splitServiceKey } from "../api/names.ts";
import { apiVersionOf } from "../api/object.ts";
import type { Contribution } from "../api/share.ts";
import type { Rejection } from "./admission.ts";
import type { Judgement } from "./condition.ts";
import { isDerived, judgeTaken, planDerived, readVirtualIps } from "./derived.ts";
import { judgeHandmade, planHandmadeSlices, planHandmadeSpec, viewImport } from "./handmade.ts";
import {
  ENDPOINTS_ACCEPTED,
  familyOf,
  type ImportView,
  isManaged,
  judgeImport,
  planImportStatus,
  planServiceImport,
  viewMerged,
} from "./import.ts";
import type { Liveness } from "./liveness.ts";
import { mergeShares } from "./merge.ts";
import { compareText } from "./order.ts";
import { planSliceRemoval, planSlices } from "./slices.ts";
import { deletionOf, type Write } from "./write.ts";

export interface ImportInput {
  /** The importing cluster. */
  readonly cluster: ClusterId;
  readonly service: ServiceKey;
  /** Families that the importing cluster can give a Service. */
  readonly families: readonly IPFamily[];
  readonly namespace: NamespaceState;
  /** Whether a missing namespace is made for the import (R14). */
  readonly makesNamespace: boolean;
  readonly contributions: readonly Contribution[];
  /** What of the service was shared and not taken in. */
  readonly rejections: readonly Rejection[];
  readonly livenessOf: (cluster: ClusterId) => Liveness;
  /** By its last word, heard or not. */
  readonly isDrained?: (cluster: ClusterId) => boolean;
  /** True for a source of which not everything is known yet: nothing of it may be taken away. */
  readonly isAwaited: (cluster: ClusterId) => boolean;
  /** Every member has told all that it exports, or has been silent for so long that nobody waits for it. */
  readonly isComplete: boolean;
  readonly observed: ObservedImport;
  /** Virtual IPs that it had when they were last seen: somebody may have deleted all that shows them. */
  readonly lastIps?: readonly string[];
  /** Why the API server refused the virtual IP that was asked for, if it did. */
  readonly refusedIp?: string;
  readonly now: string;
}

/** `denied`: nothing is imported into it, whether it is there or not. */
export type NamespaceState = "present" | "missing" | "terminating" | "denied";

export interface ObservedImport {
  readonly serviceImport: ServiceImport | undefined;
  readonly derived: Service | undefined;
  /** All slices labelled for the import, whoever wrote them. */
  readonly slices: readonly EndpointSlice[];
}

export function planImport(input: ImportInput): Write[] {
  const { serviceImport } = input.observed;
  if (input.namespace === "terminating") return [];
  if (input.namespace === "missing") return planNamespace(input);
  if (input.namespace === "denied") return planAbsence(input);
  if (serviceImport !== undefined && isHeld(input, serviceImport)) {
    return planPresence(input, viewHeld(input, serviceImport), undefined);
  }
  const merged = mergeShares(input.contributions.map(({ share }) => share));
  return merged === undefined
    ? planAbsence(input)
    : planPresence(input, viewMerged(merged, localFacts(input)), findRejections(input));
}

function planNamespace(input: ImportInput): Write[] {
  if (!input.makesNamespace || input.contributions.length === 0) return [];
  const { namespace: name } = splitServiceKey(input.service);
  const object = { apiVersion: apiVersionOf(NAMESPACE), kind: NAMESPACE.kind, metadata: { name } };
  return [{ verb: "apply", resource: NAMESPACE, object }];
}

function localFacts(input: ImportInput) {
  const { service, families } = input;
  return { service, families, derivedName: derivedServiceName(service) };
}

/** A contributing cluster has not been heard since we started: until it is, the import stays as it was written. */
export function isHeld(
  input: Pick<ImportInput, "contributions" | "isAwaited">,
  serviceImport: ServiceImport,
): boolean {
  const heard = new Set<string>(input.contributions.map(({ share }) => share.cluster));
  return (serviceImport.status?.clusters ?? []).some(
    ({ cluster }) => input.isAwaited(cluster as ClusterId) && !heard.has(cluster),
  );
}

function viewHeld(input: ImportInput, serviceImport: ServiceImport): ImportView {
  const view = viewImport(serviceImport, localFacts(input));
  const heard = input.contributions.map(({ share }) => share.cluster);
  return { ...view, clusters: [...new Set([...view.clusters, ...heard])].toSorted(compareText) };
}

/**
 * Undefined while somebody is awaited whose rejections may have been told before: good news can wait, a restart must not
 * take it back and tell it again.
 */
function findRejections(input: ImportInput): readonly Rejection[] | undefined {
  const told = input.observed.serviceImport?.status?.conditions ?? [];
  const isTold = told.some(({ type }) => type === ENDPOINTS_ACCEPTED);
  return isTold && !input.isComplete ? undefined : input.rejections;
}

function planPresence(
  input: ImportInput,
  view: ImportView,
  rejections: readonly Rejection[] | undefined,
): Write[] {
  const { serviceImport, derived, slices } = input.observed;
  const ips = readOwnIps(input, view);
  const isServiceAwaited = view.derivedName !== undefined && derived === undefined;
  const shown = isServiceAwaited ? readKeptIps(input, view) : ips;
  const due = [
    // First, so that the import shows an address only when there is somebody behind it.
    ...planSlices({ ...pickSources(input), view, isServiceAwaited }, slices),
    ...planServiceImport(view, shown, serviceImport),
    ...planVirtualIp(input, view),
  ];
  if (due.length > 0 || serviceImport === undefined) return due;
  const { clusters } = view;
  const ready = judgeTakenName(input, view) ?? judgeImport(view, ips);
  const { now } = input;
  return planImportStatus({ serviceImport, clusters, hasSlices: true, ready, rejections, now });
}

/** Not all of the input: what is asked for and what is not decides when it is looked at again. */
function pickSources(input: ImportInput) {
  const { cluster, contributions, livenessOf, isDrained, isAwaited } = input;
  return { cluster, contributions, livenessOf, isAwaited, ...(isDrained && { isDrained }) };
}

/**
 * While the derived Service is being made anew the import goes on showing what it had. Also when neither is seen: a cache
 * that is behind must not make us write the import without the address that it has.
 */
function readKeptIps(input: ImportInput, view: ImportView): readonly string[] {
  const { serviceImport } = input.observed;
  if (serviceImport !== undefined) return serviceImport.spec?.ips ?? [];
  return input.refusedIp === undefined ? orderByFamily(input.lastIps ?? [], view.ipFamilies) : [];
}

/** Nobody exports the service: what we made goes, what others made stays. */
function planAbsence(input: ImportInput): Write[] {
  const { serviceImport, slices } = input.observed;
  if (serviceImport !== undefined && !isManaged(serviceImport)) {
    return planHandmade(input, serviceImport);
  }
  // Somebody who has not been heard yet may export it: the import and its IP wait for them. Endpoints that are gone do not.
  if (!input.isComplete) return planSliceRemoval(input, slices);
  return [
    ...(serviceImport === undefined ? [] : [deletionOf(SERVICE_IMPORT, serviceImport)]),
    ...planDerivedRemoval(input),
    ...planSliceRemoval(input, slices),
  ];
}

function planHandmade(input: ImportInput, serviceImport: ServiceImport): Write[] {
  const { slices } = input.observed;
  const view = viewImport(serviceImport, localFacts(input));
  const ips = readOwnIps(input, view);
  const due = [
    ...planHandmadeSpec(view, ips, serviceImport),
    ...(input.refusedIp === undefined ? planVirtualIp(input, view) : []),
    ...planHandmadeSlices(view, slices),
  ];
  if (due.length > 0) return due;
  const { refusedIp } = input;
  return planImportStatus({
    serviceImport,
    clusters: view.clusters,
    hasSlices: slices.length > 0,
    ready:
      judgeTakenName(input, view) ??
      judgeHandmade(view, {
        ips,
        asked: serviceImport.spec?.ips ?? [],
        ...(refusedIp === undefined ? {} : { refusedIp }),
      }),
    // Nobody exports it, so there is nothing to take in.
    rejections: [],
    now: input.now,
  });
}

function planVirtualIp(input: ImportInput, view: ImportView): Write[] {
  const { serviceImport, derived } = input.observed;
  if (view.derivedName === undefined) return planDerivedRemoval(input);
  if (isNameTaken(input)) return [];
  const uid = serviceImport?.metadata.uid;
  if (serviceImport === undefined || uid === undefined) return [];
  // What the Service has is kept; a lost Service is made again with what the import shows (R57).
  const shown = serviceImport.spec?.ips ?? input.lastIps ?? [];
  const known = derived === undefined ? shown : readVirtualIps(derived);
  const { apiVersion, kind, metadata } = serviceImport;
  return planDerived(
    {
      view,
      derivedName: view.derivedName,
      owner: { apiVersion, kind, name: metadata.name ?? "", uid },
      ips: input.refusedIp === undefined ? orderByFamily(known, view.ipFamilies) : [],
    },
    derived,
  );
}

function isNameTaken({ observed }: ImportInput): boolean {
  const { derived, serviceImport } = observed;
  return derived !== undefined && !isDerived(derived, serviceImport);
}

function judgeTakenName(input: ImportInput, view: ImportView): Judgement | undefined {
  if (view.derivedName === undefined || !isNameTaken(input)) return undefined;
  return judgeTaken(view.derivedName);
}

function planDerivedRemoval(input: ImportInput): Write[] {
  const { derived } = input.observed;
  return derived === undefined || isNameTaken(input) ? [] : [deletionOf(SERVICE, derived)];
}

function readOwnIps(input: ImportInput, view: ImportView): readonly string[] {
  if (view.derivedName === undefined || isNameTaken(input)) return [];
  return readVirtualIps(input.observed.derived);
}

/** A Service can be asked for a second address only together with the first. */
function orderByFamily(ips: readonly string[], families: readonly IPFamily[]): readonly string[] {
  const [first = [], second = []] = families.map((family) =>
    ips.filter((ip) => familyOf(ip) === family),
  );
  return first.length === 0 ? [] : [...first, ...second];
}
