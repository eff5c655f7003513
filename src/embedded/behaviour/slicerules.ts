// Built-in behaviour: what an EndpointSlice must look like, in the real server's words. Pure.

import type { Endpoint, EndpointPort, EndpointSlice } from "../../api/builtin.ts";
import type { KubeObject } from "../../api/object.ts";
import { isInside, parseAddress, parseRange } from "../address.ts";
import { duplicate, invalid, notSupported, required, tooMany } from "../schema/failure.ts";
import { equalJson } from "../json.ts";
import {
  checkLabelName,
  checkLabelValue,
  checkQualifiedName,
  checkSubdomainName,
} from "../name.ts";
import type { Rules } from "../rules.ts";
import type { FieldFailure } from "../types.ts";
import { differsInContent } from "../write.ts";

const TYPES = ["FQDN", "IPv4", "IPv6"];
const PROTOCOLS = ["SCTP", "TCP", "UDP"];
const MOST_ENDPOINTS = 1000;
const MOST_ADDRESSES = 100;
const MOST_PORTS = 20_000;
const MOST_ZONES = 8;

const SPECIAL: readonly (readonly [string, string])[] = [
  ["127.0.0.0/8", "may not be in the loopback range (127.0.0.0/8, ::1/128)"],
  ["::1/128", "may not be in the loopback range (127.0.0.0/8, ::1/128)"],
  ["169.254.0.0/16", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"],
  ["fe80::/10", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"],
  ["224.0.0.0/24", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"],
  ["ff02::/16", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"],
];
const SPECIAL_RANGES = SPECIAL.map(([range, why]) => ({ range: parseRange(range), why }));
const LOOPBACK: ReadonlySet<string> = new Set(["127.0.0.0/8", "::1/128"]);

type Ranges = typeof SPECIAL_RANGES;

export const ENDPOINT_SLICE_RULES: Rules = {
  checkName: checkSubdomainName,
  unconditionalUpdate: true,
  raisesGeneration: (next, old) =>
    differsInContent(next, old, false) ||
    !equalJson(next.metadata.labels ?? {}, old.metadata.labels ?? {}),
  // Go writes a list that was never set as null.
  applyDefaults: (object) => {
    const { endpoints, ports } = object as EndpointSlice;
    return {
      ...object,
      endpoints: endpoints ?? null,
      ports:
        ports?.map((port) => ({
          ...port,
          name: port.name ?? "",
          protocol: port.protocol ?? "TCP",
        })) ?? null,
    } as KubeObject;
  },
  validate: (object) => validateSlice(object as EndpointSlice, SPECIAL_RANGES),
  validateUpdate: (next, old) => {
    const { addressType } = next as EndpointSlice;
    return addressType === (old as EndpointSlice).addressType
      ? []
      : [invalid("addressType", addressType, "field is immutable")];
  },
};

/** No real server takes them: for pods that are played on the loopback of one machine. */
export const LOOPBACK_SLICE_RULES: Rules = {
  ...ENDPOINT_SLICE_RULES,
  validate: (object) =>
    validateSlice(
      object as EndpointSlice,
      SPECIAL_RANGES.filter(({ range }) => !LOOPBACK.has(range.text)),
    ),
};

function validateSlice(slice: EndpointSlice, refused: Ranges): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const { addressType, endpoints, ports } = slice;
  if (!addressType) failures.push(required("addressType"));
  else if (!TYPES.includes(addressType)) {
    failures.push(notSupported("addressType", addressType, TYPES));
  }
  failures.push(...validatePorts(ports ?? []));
  const all = endpoints ?? [];
  if (all.length > MOST_ENDPOINTS) {
    failures.push(tooMany("endpoints", all.length, MOST_ENDPOINTS));
    return failures;
  }
  for (const [at, endpoint] of all.entries()) {
    const path = `endpoints[${at}]`;
    failures.push(...validateEndpoint(endpoint, { type: addressType, refused, path }));
  }
  return failures;
}

function validatePorts(ports: readonly EndpointPort[]): FieldFailure[] {
  if (ports.length > MOST_PORTS) return [tooMany("ports", ports.length, MOST_PORTS)];
  const failures: FieldFailure[] = [];
  const names = new Set<string>();
  for (const [at, port] of ports.entries()) {
    const path = `ports[${at}]`;
    const name = port.name ?? "";
    if (name !== "") {
      failures.push(...checkLabelName(name).map((why) => invalid(`${path}.name`, name, why)));
    }
    if (names.has(name)) failures.push(duplicate(`${path}.name`, name));
    names.add(name);
    const protocol = port.protocol ?? "";
    if (!PROTOCOLS.includes(protocol)) {
      failures.push(notSupported(`${path}.protocol`, protocol, PROTOCOLS));
    }
    if (port.appProtocol !== undefined) {
      const { appProtocol } = port;
      const complaints = checkQualifiedName(appProtocol);
      failures.push(...complaints.map((why) => invalid(`${path}.appProtocol`, appProtocol, why)));
    }
  }
  return failures;
}

function validateEndpoint(
  endpoint: Endpoint,
  {
    type,
    refused,
    path,
  }: { readonly type: string; readonly refused: Ranges; readonly path: string },
): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const addresses = endpoint.addresses ?? [];
  const field = `${path}.addresses`;
  if (addresses.length === 0) failures.push(required(field, "must contain at least 1 address"));
  else if (addresses.length > MOST_ADDRESSES) {
    failures.push(tooMany(field, addresses.length, MOST_ADDRESSES));
  }
  for (const [at, address] of addresses.entries()) {
    failures.push(...validateAddress(address, { type, refused, field, at }));
  }
  const { nodeName, hostname } = endpoint;
  if (nodeName !== undefined) {
    const complaints = checkSubdomainName(nodeName);
    failures.push(...complaints.map((why) => invalid(`${path}.nodeName`, nodeName, why)));
  }
  if (hostname !== undefined) {
    const complaints = checkLabelName(hostname);
    failures.push(...complaints.map((why) => invalid(`${path}.hostname`, hostname, why)));
  }
  failures.push(...validateZones(endpoint, `${path}.hints.forZones`));
  return failures;
}

function validateAddress(
  text: string,
  {
    type,
    refused,
    field,
    at,
  }: {
    readonly type: string;
    readonly refused: Ranges;
    readonly field: string;
    readonly at: number;
  },
): FieldFailure[] {
  const place = `${field}[${at}]`;
  if (type === "FQDN") {
    const complaints = checkSubdomainName(text.replace(/\.$/, ""));
    if (complaints.length > 0) return complaints.map((why) => invalid(place, text, why));
    return text.includes(".")
      ? []
      : [invalid(place, text, "should be a domain with at least two segments separated by dots")];
  }
  if (type !== "IPv4" && type !== "IPv6") return [];
  const address = parseAddress(text);
  if (address === undefined) {
    return [invalid(place, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")];
  }
  const failures: FieldFailure[] = [];
  if (address.family !== type) failures.push(invalid(field, text, `must be an ${type} address`));
  if (address.value === 0n) failures.push(invalid(place, text, `may not be unspecified (${text})`));
  for (const { range, why } of refused) {
    if (isInside(range, address)) failures.push(invalid(place, text, why));
  }
  return failures;
}

function validateZones(endpoint: Endpoint, field: string): FieldFailure[] {
  const zones = endpoint.hints?.forZones ?? [];
  if (zones.length > MOST_ZONES) return [tooMany(field, zones.length, MOST_ZONES)];
  const failures: FieldFailure[] = [];
  const seen = new Set<string>();
  for (const [at, { name }] of zones.entries()) {
    const path = `${field}[${at}].name`;
    if (seen.has(name)) failures.push(duplicate(path, name));
    seen.add(name);
    failures.push(...checkLabelValue(name).map((why) => invalid(path, name, why)));
  }
  return failures;
}
