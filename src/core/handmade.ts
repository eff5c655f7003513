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
import { pickTrafficPolicy, sharePort } from "../api/share.ts";
import type { Judgement } from "./condition.ts";
import { readMarks } from "./exported.ts";
import { familyOf, type ImportView, judgeImport } from "./import.ts";
import { isSameData, type Write } from "./write.ts";

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
  // No Service can be without ports.
  const isServed = type === "ClusterSetIP" && ipFamilies.length > 0 && hasPorts(spec);
  return {
    service: local.service,
    type,
    ports: (spec?.ports ?? []).map(sharePort),
    ipFamilies,
    askedFamilies: asked,
    ...pickTrafficPolicy(spec ?? {}),
    ...readMarks(metadata),
    clusters: (status?.clusters ?? []).map(({ cluster }) => cluster as ClusterId),
    derivedName: isServed ? local.derivedName : undefined,
  };
}

function hasPorts(spec: ServiceImport["spec"]): boolean {
  return (spec?.ports ?? []).length > 0;
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

/** Fills in what the administrator left open, and takes it back when there is no virtual IP any more. */
export function planHandmadeSpec(
  view: ImportView,
  ips: readonly string[],
  serviceImport: ServiceImport,
): Write[] {
  const { derivedName } = view;
  const named = serviceImport.metadata.annotations?.[DERIVED_SERVICE_ANNOTATION];
  if (derivedName === undefined) return named === undefined ? [] : [clearAddresses(serviceImport)];
  const addresses = fillAddresses(ips, serviceImport);
  if (named === derivedName && addresses === undefined) return [];
  const { namespace = "", name = "" } = serviceImport.metadata;
  const annotations = { [DERIVED_SERVICE_ANNOTATION]: derivedName };
  const object = {
    apiVersion: serviceImport.apiVersion,
    kind: serviceImport.kind,
    metadata: { namespace, name, annotations },
    ...(addresses === undefined ? {} : { spec: addresses }),
  };
  return [{ verb: "apply", resource: SERVICE_IMPORT, object }];
}

/** Undefined when the import says it all (R41, R59), or asks for something that it did not get: its status tells then. */
function fillAddresses(
  ips: readonly string[],
  serviceImport: ServiceImport,
): { ips: readonly string[]; ipFamilies: readonly IPFamily[] } | undefined {
  const { ips: asked = [], ipFamilies: askedFamilies } = serviceImport.spec ?? {};
  const ipFamilies = ips.map(familyOf);
  if (ips.length === 0 || asked.some((ip) => !ips.includes(ip))) return undefined;
  if (isSameData(asked, ips) && isSameData(askedFamilies, ipFamilies)) return undefined;
  return { ips, ipFamilies };
}

function clearAddresses(serviceImport: ServiceImport): Write {
  const { [DERIVED_SERVICE_ANNOTATION]: _, ...annotations } =
    serviceImport.metadata.annotations ?? {};
  const { ips: __, ...spec } = serviceImport.spec ?? { type: "Headless", ports: [] };
  const object: ServiceImport = {
    ...serviceImport,
    metadata: { ...serviceImport.metadata, annotations },
    // A headless import never has addresses (R58).
    ...(spec.type === "Headless" ? { spec } : {}),
  };
  return { verb: "replace", resource: SERVICE_IMPORT, object };
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
  if (view.type === "ClusterSetIP" && view.ports.length === 0) {
    const message = "A service with a virtual IP needs at least one port. Add it to spec.ports.";
    return { type, status: "False", reason: "NoPorts", message };
  }
  if (refusedIp !== undefined && asked.length === 0) {
    const message = `This cluster refuses the Service that would carry the virtual IP: ${refusedIp}.`;
    return { type, status: "False", reason: "ServiceRefused", message };
  }
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
