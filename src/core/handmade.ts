// Import: a ServiceImport that an administrator wrote by hand in, the writes that give it a virtual IP and endpoints out.
// Its spec stays the administrator's: we add the addresses, our annotation, and the link from its slices to the Service.

import { ENDPOINT_SLICE, type EndpointSlice, type IPFamily } from "../api/builtin.ts";
import { SERVICE_IMPORT, type ServiceImport } from "../api/mcs.ts";
import {
  type ClusterId,
  DERIVED_SERVICE_ANNOTATION,
  KUBE_SERVICE_NAME_LABEL,
  type ServiceKey,
} from "../api/names.ts";
import type { Judgement } from "./condition.ts";
import { readMarks } from "./exported.ts";
import { familyOf, type ImportView, judgeImport } from "./import.ts";
import type { Write } from "./write.ts";

/** Reads a ServiceImport as it stands. */
export function viewImport(
  serviceImport: ServiceImport,
  local: {
    readonly service: ServiceKey;
    readonly families: readonly IPFamily[];
    readonly derivedName: string;
  },
): ImportView {
  const { spec, metadata, status } = serviceImport;
  const type = spec?.type ?? "ClusterSetIP";
  const asked = readFamilies(spec, local.families);
  const ipFamilies = asked.filter((family) => local.families.includes(family));
  const { sessionAffinity, sessionAffinityConfig, internalTrafficPolicy, trafficDistribution } =
    spec ?? {};
  return {
    service: local.service,
    type,
    ports: (spec?.ports ?? []).map((port) => ({
      name: port.name ?? "",
      protocol: port.protocol ?? "TCP",
      port: port.port,
      ...(port.appProtocol === undefined ? {} : { appProtocol: port.appProtocol }),
    })),
    ipFamilies,
    askedFamilies: asked,
    ...(sessionAffinity === undefined ? {} : { sessionAffinity }),
    ...(sessionAffinityConfig === undefined ? {} : { sessionAffinityConfig }),
    ...(internalTrafficPolicy === undefined ? {} : { internalTrafficPolicy }),
    ...(trafficDistribution === undefined ? {} : { trafficDistribution }),
    ...readMarks(metadata),
    clusters: (status?.clusters ?? []).map(({ cluster }) => cluster as ClusterId),
    derivedName: type === "ClusterSetIP" && ipFamilies.length > 0 ? local.derivedName : undefined,
  };
}

/** As asked for; without a word about it, the cluster's first family. */
function readFamilies(
  spec: ServiceImport["spec"],
  local: readonly IPFamily[],
): readonly IPFamily[] {
  if (spec?.ipFamilies !== undefined && spec.ipFamilies.length > 0) return spec.ipFamilies;
  if (spec?.ips !== undefined && spec.ips.length > 0) return spec.ips.map(familyOf);
  return local.slice(0, 1);
}

/** Fills in what the administrator left open. */
export function planHandmadeSpec(
  view: ImportView,
  ips: readonly string[],
  serviceImport: ServiceImport,
): Write[] {
  const isNamed =
    serviceImport.metadata.annotations?.[DERIVED_SERVICE_ANNOTATION] === view.derivedName;
  const isAddressed = (serviceImport.spec?.ips ?? []).length > 0 || ips.length === 0;
  if (view.derivedName === undefined || (isNamed && isAddressed)) return [];
  const { namespace = "", name = "" } = serviceImport.metadata;
  const object = {
    apiVersion: serviceImport.apiVersion,
    kind: serviceImport.kind,
    metadata: {
      namespace,
      name,
      annotations: { [DERIVED_SERVICE_ANNOTATION]: view.derivedName },
    },
    ...(ips.length === 0 ? {} : { spec: { ips, ipFamilies: ips.map(familyOf) } }),
  };
  return [{ verb: "apply", resource: SERVICE_IMPORT, object }];
}

/** kube-proxy serves a slice under the Service that its label names: the derived one. */
export function planHandmadeSlices(view: ImportView, slices: readonly EndpointSlice[]): Write[] {
  const { derivedName } = view;
  if (derivedName === undefined) return [];
  return slices
    .filter((slice) => slice.metadata.labels?.[KUBE_SERVICE_NAME_LABEL] !== derivedName)
    .map((slice) => {
      const { namespace = "", name = "" } = slice.metadata;
      const metadata = { namespace, name, labels: { [KUBE_SERVICE_NAME_LABEL]: derivedName } };
      const object = { apiVersion: slice.apiVersion, kind: slice.kind, metadata };
      return { verb: "apply", resource: ENDPOINT_SLICE, object };
    });
}

export function judgeHandmade(
  view: ImportView,
  found: {
    readonly ips: readonly string[];
    readonly asked: readonly string[];
    readonly refusedIp?: string;
  },
): Judgement {
  const { ips, asked, refusedIp } = found;
  const type = "Ready";
  if (refusedIp !== undefined) {
    const message = `This cluster cannot give the service the IP that spec.ips asks for: ${refusedIp}. Leave spec.ips out, or ask for a free address of the cluster's service range.`;
    return { type, status: "False", reason: "IPNotAvailable", message };
  }
  if (ips.length > 0 && asked.some((ip) => !ips.includes(ip))) {
    const message = `spec.ips asks for ${asked.join(", ")}, but the service already has ${ips.join(", ")}. Delete the import and create it again to change its IP.`;
    return { type, status: "False", reason: "IPNotAvailable", message };
  }
  return judgeImport(view, ips);
}
