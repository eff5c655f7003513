// The wire between clusters: a share in, what the hub stores of it out; and what the hub stores in, a share out. Whatever
// comes back was written by another cluster, perhaps of another release, perhaps hostile: reading is total, takes what it
// understands, no more than the limits, and nothing that an API server would refuse later.

import { endpointShareName, serviceShareName } from "../api/digest.ts";
import {
  type EndpointShareObject,
  SHARE_LIMITS,
  type ServiceShareObject,
} from "../api/hubshare.ts";
import { type ClusterId, type ServiceKey, serviceKey } from "../api/names.ts";
import {
  type EndpointShare,
  type ImportType,
  pickTrafficPolicy,
  type ServiceShare,
} from "../api/share.ts";
import type { Rejection } from "./admission.ts";
import { isLabelValue } from "./exported.ts";
import { createOmissions, type Omissions } from "./omission.ts";
import {
  FAMILIES,
  readEndpointPorts,
  readEndpoints,
  readFamilies,
  readMarks,
  readServicePorts,
  readTrafficPolicy,
  readWhenLost,
} from "./received.ts";
import { isDnsLabel, isOneOf, isRecord, quote, readTime } from "./untrusted.ts";

/** `rejections` says what was left out, or why there is no value. */
export type Decoded<T> =
  | { readonly ok: true; readonly value: T; readonly rejections: readonly Rejection[] }
  | { readonly ok: false; readonly rejections: readonly Rejection[] };

/** An object of the hub, as somebody else wrote it. `cluster` is known by its namespace. */
export interface StoredShare {
  readonly cluster: ClusterId;
  readonly name: string;
  readonly spec: unknown;
}

const TYPES: readonly ImportType[] = ["ClusterSetIP", "Headless"];
const SLICE_NAME_MAX_LENGTH = 253;

export function encodeServiceShare(share: ServiceShare): ServiceShareObject["spec"] {
  const { exportedAt, type, ports, ipFamilies, labels, annotations, whenLost } = share;
  return {
    exportedAt,
    type,
    ports: ports.map(({ name, ...port }) => (name === "" ? port : { name, ...port })),
    ipFamilies,
    ...pickTrafficPolicy(share),
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(whenLost === undefined ? {} : { whenLost }),
  };
}

/** Nodes and pods stay at home; of several addresses everybody uses the first. */
export function encodeEndpointShare(share: EndpointShare): EndpointShareObject["spec"] {
  const { slice, addressType, ports, endpoints } = share;
  return {
    slice,
    addressType,
    // A Service has no more ports than this, or it is not exported: the rest would lead nowhere.
    ports: ports.slice(0, SHARE_LIMITS.ports).map(({ name, protocol, port, appProtocol }) => ({
      ...(name === undefined ? {} : { name }),
      ...(protocol === undefined ? {} : { protocol }),
      ...(port === undefined ? {} : { port }),
      ...(appProtocol === undefined ? {} : { appProtocol }),
    })),
    endpoints: endpoints.map(({ addresses, conditions, hostname, zone }) => ({
      addresses: addresses.slice(0, SHARE_LIMITS.addresses),
      ...(conditions === undefined ? {} : { conditions }),
      ...(hostname === undefined ? {} : { hostname }),
      // Kubernetes takes any text; but zones are compared with labels of nodes, and the hub takes no other.
      ...(zone === undefined || !isLabelValue(zone) ? {} : { zone }),
    })),
  };
}

/** For names of ServiceShares and EndpointShares; undefined for what no share can be called. */
export function serviceOfShareName(name: string): ServiceKey | undefined {
  const [namespace = "", service = "", digest, ...rest] = name.split(".");
  if (!isDnsLabel(namespace) || !isDnsLabel(service) || rest.length > 0) return undefined;
  if (digest !== undefined && !isDnsLabel(digest)) return undefined;
  return serviceKey({ namespace, name: service });
}

export function decodeServiceShare(stored: StoredShare): Decoded<ServiceShare> {
  const service = serviceOfShareName(stored.name);
  const omissions = createOmissions(stored.cluster, service ?? stored.name);
  if (service === undefined || serviceShareName(service) !== stored.name) {
    return fail(omissions, "a ServiceShare is named <namespace>.<service>");
  }
  return conclude(omissions, readServiceShare({ ...stored, service }, omissions));
}

export function decodeEndpointShare(stored: StoredShare): Decoded<EndpointShare> {
  const service = serviceOfShareName(stored.name);
  const omissions = createOmissions(stored.cluster, service ?? stored.name);
  if (service === undefined) {
    return fail(omissions, "an EndpointShare is named <namespace>.<service>.<digest>");
  }
  return conclude(omissions, readEndpointShare({ ...stored, service }, omissions));
}

/** A clause instead of a share says why there is none. */
function conclude<T>(omissions: Omissions, result: T | string): Decoded<T> {
  if (typeof result === "string") return fail(omissions, result);
  return { ok: true, value: result, rejections: omissions.list() };
}

function fail(omissions: Omissions, why: string): Decoded<never> {
  return { ok: false, rejections: [omissions.rejectWhole(why), ...omissions.list()] };
}

type NamedShare = StoredShare & { readonly service: ServiceKey };

function readServiceShare(stored: NamedShare, omissions: Omissions): ServiceShare | string {
  const { cluster, service, spec } = stored;
  if (!isRecord(spec)) return `its spec is ${quote(spec)}`;
  const { type, ports: portList, ipFamilies: familyList } = spec;
  if (!isOneOf(TYPES, type)) return `its type is ${quote(type)}`;
  const exportedAt = readTime(spec["exportedAt"]);
  if (exportedAt === undefined) return `its time of export is ${quote(spec["exportedAt"])}`;
  if (!Array.isArray(portList)) return `its ports are ${quote(portList)}`;
  const ports = readServicePorts(portList, omissions);
  // A Service with an address has a port, else no API server takes it.
  if (ports.length === 0 && type === "ClusterSetIP") return "it has no port that can be used";
  if (!Array.isArray(familyList)) return `its IP families are ${quote(familyList)}`;
  const ipFamilies = readFamilies(familyList, omissions);
  if (ipFamilies.length === 0) return "it has no IP family that is known";
  return {
    cluster,
    service,
    exportedAt,
    type,
    ports,
    ipFamilies,
    ...readTrafficPolicy(spec, omissions),
    ...readMarks(spec, omissions),
    ...readWhenLost(spec["whenLost"], omissions),
  };
}

function readEndpointShare(stored: NamedShare, omissions: Omissions): EndpointShare | string {
  const { cluster, service, name, spec } = stored;
  if (!isRecord(spec)) return `its spec is ${quote(spec)}`;
  const { slice, addressType, ports: portList, endpoints: endpointList } = spec;
  if (typeof slice !== "string" || slice === "" || slice.length > SLICE_NAME_MAX_LENGTH) {
    return `its slice is ${quote(slice)}`;
  }
  // Else one slice could come twice, under two names.
  if (endpointShareName(service, slice) !== name) {
    return `its slice ${quote(slice)} does not go by the name ${quote(name)}`;
  }
  if (!isOneOf(FAMILIES, addressType)) return `its address type is ${quote(addressType)}`;
  if (!Array.isArray(portList)) return `its ports are ${quote(portList)}`;
  const ports = readEndpointPorts(portList, omissions);
  // No port at all means something else than none that can be used.
  if (ports.length === 0 && portList.length > 0) return "it has no port that can be used";
  if (!Array.isArray(endpointList)) return `its endpoints are ${quote(endpointList)}`;
  const endpoints = readEndpoints(endpointList, omissions);
  return { cluster, service, slice, addressType, ports, endpoints };
}
