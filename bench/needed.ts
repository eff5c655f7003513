// Bench: the objects that one service needs on the hub and in a cluster, written down by hand. The bench holds them equal to what Isthmus
// writes, so that the floor cannot fall behind. Pure.

import type { EndpointSlice, Service } from "../src/api/builtin.ts";
import type { EndpointShareObject, ServiceShareObject } from "../src/api/hubshare.ts";
import type { ServiceExport, ServiceImport } from "../src/api/mcs.ts";
import {
  DERIVED_SERVICE_ANNOTATION,
  KUBE_SERVICE_NAME_LABEL,
  MANAGED_BY_LABEL,
  MANAGED_LABEL,
  SERVICE_NAME_LABEL,
  SLICE_MANAGER,
  SOURCE_CLUSTER_LABEL,
} from "../src/api/names.ts";

interface Names {
  readonly namespace: string;
  readonly name: string;
  readonly cluster: string;
  readonly derivedName: string;
  readonly sliceName: string;
  readonly shareNamespace: string;
  readonly serviceShareName: string;
  readonly endpointShareName: string;
}

/** What of a slice travels. */
export type Sliced = Pick<EndpointSlice, "addressType" | "endpoints" | "ports">;

const MCS = "multicluster.x-k8s.io/v1beta1";
const HUB = "isthmus.dev/v1alpha1";
const PORTS = [{ name: "http", protocol: "TCP" as const, port: 80 }];
const SHARED = { sessionAffinity: "None" as const, internalTrafficPolicy: "Cluster" as const };

export function renderServiceShare(names: Names, exportedAt: string): ServiceShareObject {
  return {
    apiVersion: HUB,
    kind: "ServiceShare",
    metadata: { namespace: names.shareNamespace, name: names.serviceShareName },
    spec: { exportedAt, type: "ClusterSetIP", ports: PORTS, ipFamilies: ["IPv4"], ...SHARED },
  };
}

export function renderEndpointShare(names: Names, source: Sliced): EndpointShareObject {
  return {
    apiVersion: HUB,
    kind: "EndpointShare",
    metadata: { namespace: names.shareNamespace, name: names.endpointShareName },
    spec: {
      slice: names.name,
      addressType: source.addressType,
      ports: source.ports ?? [],
      endpoints: endpointsOf(source, false),
    },
  };
}

export function renderImport(names: Names, ips: readonly string[]): ServiceImport {
  const { namespace, name, derivedName } = names;
  return {
    apiVersion: MCS,
    kind: "ServiceImport",
    metadata: {
      namespace,
      name,
      labels: { [MANAGED_LABEL]: "true" },
      annotations: { [DERIVED_SERVICE_ANNOTATION]: derivedName },
    },
    spec: {
      type: "ClusterSetIP",
      ports: PORTS,
      ...(ips.length === 0 ? {} : { ips, ipFamilies: ["IPv4" as const] }),
      ...SHARED,
    },
  };
}

export function renderDerived(names: Names, uid: string): Service {
  const { namespace, name, derivedName } = names;
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      namespace,
      name: derivedName,
      labels: { [MANAGED_LABEL]: "true", [SERVICE_NAME_LABEL]: name },
      ownerReferences: [{ apiVersion: MCS, kind: "ServiceImport", name, uid }],
    },
    spec: {
      type: "ClusterIP",
      ports: PORTS,
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      ...SHARED,
    },
  };
}

export function renderSlice(
  input: Names & { readonly source: Sliced; readonly isLocal: boolean },
): EndpointSlice {
  const { namespace, name, cluster, derivedName, sliceName, source } = input;
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace,
      name: sliceName,
      labels: {
        [SERVICE_NAME_LABEL]: name,
        [SOURCE_CLUSTER_LABEL]: cluster,
        [MANAGED_BY_LABEL]: SLICE_MANAGER,
        [KUBE_SERVICE_NAME_LABEL]: derivedName,
      },
    },
    addressType: source.addressType,
    endpoints: endpointsOf(source, input.isLocal),
    ports: source.ports ?? [],
  };
}

/** Nodes are known by name in their own cluster only. */
function endpointsOf({ endpoints }: Sliced, isLocal: boolean): EndpointSlice["endpoints"] {
  return endpoints.map(({ nodeName, ...endpoint }) =>
    isLocal && nodeName !== undefined ? { ...endpoint, nodeName } : endpoint,
  );
}

export function renderImportStatus(
  { namespace, name, cluster }: Names,
  now: string,
): ServiceImport {
  return {
    apiVersion: MCS,
    kind: "ServiceImport",
    metadata: { namespace, name },
    status: {
      clusters: [{ cluster }],
      endpointSliceObjects: "Present",
      conditions: [
        {
          type: "Ready",
          status: "True",
          reason: "Ready",
          message: "The service can be used in this cluster.",
          lastTransitionTime: now,
          // The second: the first had no address yet.
          observedGeneration: 2,
        },
      ],
    },
  };
}

export function renderExportStatus({ namespace, name }: Names, now: string): ServiceExport {
  const condition = (type: string, status: "True" | "False", reason: string, message: string) => ({
    type,
    status,
    reason,
    message,
    lastTransitionTime: now,
    observedGeneration: 1,
  });
  return {
    apiVersion: MCS,
    kind: "ServiceExport",
    metadata: { namespace, name },
    status: {
      conditions: [
        condition("Valid", "True", "Valid", "The service can be exported."),
        condition("Ready", "True", "Exported", "The service is offered to the clusterset."),
        condition("Conflict", "False", "NoConflicts", "All exports of the service agree."),
      ],
    },
  };
}
