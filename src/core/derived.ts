// Import: how an import looks and the Service that carries its virtual IP in, the writes that bring the latter in step out
// (R57–R64). The user's own Service is never touched.

import { type IPFamily, SERVICE, type Service } from "../api/builtin.ts";
import { MANAGED_LABEL, SERVICE_NAME_LABEL, splitServiceKey } from "../api/names.ts";
import { apiVersionOf, type OwnerReference } from "../api/object.ts";
import type { ImportView } from "./import.ts";
import { deletionOf, hasEntries, isSameData, type Write } from "./write.ts";

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
  return isSameService(observed, desired)
    ? []
    : [{ verb: "apply", resource: SERVICE, object: desired }];
}

/** Virtual IPs that the Service really has, in the order of its families; empty until they are allocated. */
export function readVirtualIps(derived: Service | undefined): readonly string[] {
  return (derived?.spec?.clusterIPs ?? []).filter((ip) => ip !== "None" && ip !== "");
}

/** Made by us: the name alone proves nothing. */
export function isDerived(service: Service): boolean {
  return service.metadata.labels?.[MANAGED_LABEL] === "true";
}

function renderDerived(input: DerivedInput): Service {
  const { view, ips } = input;
  const { namespace, name } = splitServiceKey(view.service);
  const { sessionAffinityConfig, trafficDistribution } = view;
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
      ports: view.ports.map((port) => ({
        ...(port.name === "" ? {} : { name: port.name }),
        protocol: port.protocol,
        port: port.port,
        ...(port.appProtocol === undefined ? {} : { appProtocol: port.appProtocol }),
      })),
      ipFamilies: view.ipFamilies,
      ipFamilyPolicy: view.ipFamilies.length > 1 ? "RequireDualStack" : "SingleStack",
      ...(ips[0] === undefined ? {} : { clusterIP: ips[0], clusterIPs: ips }),
      sessionAffinity: view.sessionAffinity ?? "None",
      ...(sessionAffinityConfig === undefined ? {} : { sessionAffinityConfig }),
      internalTrafficPolicy: view.internalTrafficPolicy ?? "Cluster",
      ...(trafficDistribution === undefined ? {} : { trafficDistribution }),
    },
  };
}

function canKeep(observed: Service, desired: Service): boolean {
  const [family] = observed.spec?.ipFamilies ?? [];
  return family === desired.spec?.ipFamilies?.[0] && observed.spec?.clusterIP !== "None";
}

function isSameService(observed: Service, desired: Service): boolean {
  return (
    hasEntries(observed.metadata.labels, desired.metadata.labels) &&
    (observed.metadata.ownerReferences ?? []).some(
      (owner) => owner.uid === desired.metadata.ownerReferences?.[0]?.uid,
    ) &&
    isSameData(comparable(observed), comparable(desired))
  );
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
