// Import: how an import looks and the Service that carries its virtual IP in, the writes that bring the latter in step out
// (R57–R64). The user's own Service is never touched.

import { type IPFamily, SERVICE, type Service } from "../api/builtin.ts";
import type { ServiceImport } from "../api/mcs.ts";
import { MANAGED_LABEL, SERVICE_NAME_LABEL, splitServiceKey } from "../api/names.ts";
import { apiVersionOf, type OwnerReference } from "../api/object.ts";
import type { Judgement } from "./condition.ts";
import { type ImportView, renderPort } from "./import.ts";
import { deletionOf, hasEntries, isSameData, type Write } from "./write.ts";

const DEFAULT_AFFINITY_SECONDS = 10_800;

export interface DerivedInput {
  readonly view: ImportView;
  readonly derivedName: string;
  readonly owner: OwnerReference;
  /** Virtual IPs that the Service is to have: those the import already shows, so that they survive its loss. */
  readonly ips: readonly string[];
}

export function planDerived(input: DerivedInput, observed: Service | undefined): Write[] {
  const desired = renderDerived(input);
  if (observed === undefined) return [{ verb: "apply", resource: SERVICE, object: desired }];
  // The first family of a Service cannot change, nor can None become an address: the Service is made anew (R63).
  if (!canKeep(observed, desired)) return [deletionOf(SERVICE, observed)];
  if (!isSameData(comparable(observed), comparable(desired))) {
    // Whole: a selector or a port that somebody added, and an affinity that is gone, cannot be applied away.
    return [{ verb: "replace", resource: SERVICE, object: mergeDerived(observed, desired) }];
  }
  return isMarked(observed, desired) ? [] : [{ verb: "apply", resource: SERVICE, object: desired }];
}

/** Virtual IPs that the Service really has, in the order of its families; empty until they are allocated. */
export function readVirtualIps(derived: Service | undefined): readonly string[] {
  return (derived?.spec?.clusterIPs ?? []).filter((ip) => ip !== "None" && ip !== "");
}

/** Made by us, or for this import: the name alone proves nothing. */
export function isDerived(service: Service, serviceImport: ServiceImport | undefined): boolean {
  const { labels, ownerReferences = [] } = service.metadata;
  const uid = serviceImport?.metadata.uid;
  return labels?.[MANAGED_LABEL] === "true" || ownerReferences.some((owner) => owner.uid === uid);
}

/** Somebody else's Service has the name: it is not ours to change. */
export function judgeTaken(derivedName: string): Judgement {
  const message = `The Service "${derivedName}" stands where the virtual IP of this import belongs, and is not ours. Delete it.`;
  return { type: "Ready", status: "False", reason: "Pending", message };
}

function renderDerived(input: DerivedInput): Service {
  const { view, ips } = input;
  const { namespace, name } = splitServiceKey(view.service);
  const { trafficDistribution } = view;
  return {
    apiVersion: apiVersionOf(SERVICE),
    kind: SERVICE.kind,
    metadata: {
      namespace,
      name: input.derivedName,
      labels: { [MANAGED_LABEL]: "true", [SERVICE_NAME_LABEL]: name },
      ownerReferences: [input.owner],
    },
    spec: {
      type: "ClusterIP",
      ports: view.ports.map(renderPort),
      ipFamilies: view.ipFamilies,
      ipFamilyPolicy: view.ipFamilies.length > 1 ? "RequireDualStack" : "SingleStack",
      ...(ips[0] === undefined ? {} : { clusterIP: ips[0], clusterIPs: ips }),
      ...renderAffinity(view),
      internalTrafficPolicy: view.internalTrafficPolicy ?? "Cluster",
      ...(trafficDistribution === undefined ? {} : { trafficDistribution }),
    },
  };
}

/** The API server refuses a config without affinity, and fills in the default where the config is missing. */
function renderAffinity(view: ImportView) {
  if (view.sessionAffinity !== "ClientIP") return { sessionAffinity: "None" as const };
  const timeoutSeconds =
    view.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? DEFAULT_AFFINITY_SECONDS;
  return {
    sessionAffinity: view.sessionAffinity,
    sessionAffinityConfig: { clientIP: { timeoutSeconds } },
  };
}

function canKeep(observed: Service, desired: Service): boolean {
  const [family] = observed.spec?.ipFamilies ?? [];
  return family === desired.spec?.ipFamilies?.[0] && observed.spec?.clusterIP !== "None";
}

function isMarked(observed: Service, desired: Service): boolean {
  const owned = (observed.metadata.ownerReferences ?? []).some(
    (owner) => owner.uid === desired.metadata.ownerReferences?.[0]?.uid,
  );
  return owned && hasEntries(observed.metadata.labels, desired.metadata.labels);
}

/** Metadata of others stays; the spec is ours, and what it leaves open the API server fills in again. */
function mergeDerived(observed: Service, desired: Service): Service {
  const { labels, ownerReferences } = desired.metadata;
  const owners = isMarked(observed, desired) ? observed.metadata.ownerReferences : ownerReferences;
  return {
    ...observed,
    metadata: {
      ...observed.metadata,
      labels: { ...observed.metadata.labels, ...labels },
      ...(owners === undefined ? {} : { ownerReferences: owners }),
    },
    ...(desired.spec === undefined ? {} : { spec: desired.spec }),
  };
}

/** What we decide about a Service; the rest is the API server's defaulting and allocation. */
function comparable(service: Service): unknown {
  const spec = service.spec ?? {};
  return {
    type: spec.type,
    ports: (spec.ports ?? []).map(({ name, protocol, port, appProtocol }) => ({
      name,
      protocol,
      port,
      appProtocol,
    })),
    ipFamilies: spec.ipFamilies satisfies readonly IPFamily[] | undefined,
    sessionAffinity: spec.sessionAffinity,
    sessionAffinityConfig: spec.sessionAffinityConfig,
    internalTrafficPolicy: spec.internalTrafficPolicy,
    trafficDistribution: spec.trafficDistribution,
    selector: spec.selector,
  };
}
