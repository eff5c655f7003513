// Import: parts of a share as another cluster wrote them in, those that can be used here out. What is left out is told
// to `omissions`. Checks all that the hub's schema checks, since it may be of another release, and what API servers
// check of Services and EndpointSlices, since one bad name would stop a whole import. Called for every endpoint of the
// clusterset at the start, so nothing here builds validators.

import type {
  Endpoint,
  EndpointConditions,
  EndpointPort,
  IPFamily,
  Protocol,
} from "../api/builtin.ts";
import { SHARE_LIMITS } from "../api/hubshare.ts";
import { type ServiceShare, type SharedPort, type TrafficPolicy, WHEN_LOST } from "../api/share.ts";
import { findBadMark, isLabelValue, isQualifiedName } from "./exported.ts";
import type { Omissions } from "./omission.ts";
import {
  isDnsLabel,
  isOneOf,
  isRecord,
  isSaid,
  isWholeNumber,
  quote,
  type UntrustedRecord,
} from "./untrusted.ts";

type UntrustedList = readonly unknown[];

export const FAMILIES: readonly IPFamily[] = ["IPv4", "IPv6"];
const PROTOCOLS: readonly Protocol[] = ["TCP", "UDP", "SCTP"];
const AFFINITIES = ["None", "ClientIP"] as const;
const TRAFFIC_POLICIES = ["Cluster", "Local"] as const;
const DISTRIBUTIONS = ["PreferClose", "PreferSameZone", "PreferSameNode"] as const;
const AFFINITY_MAX_SECONDS = 86_400;
const ADDRESS_MIN_LENGTH = 2;
const ADDRESS_MAX_LENGTH = 45;

export function readFamilies(list: UntrustedList, omissions: Omissions): readonly IPFamily[] {
  const families = new Set<IPFamily>();
  for (const value of list.slice(0, FAMILIES.length)) {
    if (isOneOf(FAMILIES, value)) families.add(value);
    else omissions.leaveOut("IP families", `${quote(value)} is not known`);
  }
  if (list.length > FAMILIES.length) omissions.cut("IP families", list.length, FAMILIES.length);
  return [...families];
}

/** Names are unique, numbers too; and only a sole port may go without a name (R25). */
export function readServicePorts(list: UntrustedList, omissions: Omissions): readonly SharedPort[] {
  const ports: SharedPort[] = [];
  forEachPort(list, omissions, (value) => {
    const port = readPort(value);
    if (typeof port === "string") return port;
    const { name, protocol, port: number, appProtocol } = port;
    if (number === undefined) return "a port has no number";
    if (ports.some((other) => other.name === name)) return `two ports have the name ${quote(name)}`;
    if (ports.length > 0 && (name === "" || ports[0]?.name === "")) {
      return "one of several ports has no name";
    }
    if (ports.some((other) => other.port === number && other.protocol === protocol)) {
      return `two ports are ${number}/${protocol}`;
    }
    ports.push({
      name,
      protocol,
      port: number,
      ...(appProtocol === undefined ? {} : { appProtocol }),
    });
    return undefined;
  });
  return ports;
}

/** Here several ports may have one number: they are told apart by name alone. */
export function readEndpointPorts(
  list: UntrustedList,
  omissions: Omissions,
): readonly EndpointPort[] {
  const ports: EndpointPort[] = [];
  forEachPort(list, omissions, (value) => {
    const port = readPort(value);
    if (typeof port === "string") return port;
    const { name } = port;
    if (ports.some((other) => other.name === name)) return `two ports have the name ${quote(name)}`;
    ports.push(port);
    return undefined;
  });
  return ports;
}

/** `take` returns why it does not take a port. */
function forEachPort(
  list: UntrustedList,
  omissions: Omissions,
  take: (value: unknown) => string | undefined,
): void {
  for (const value of list.slice(0, SHARE_LIMITS.ports)) {
    const why = take(value);
    if (why !== undefined) omissions.leaveOut("ports", why);
  }
  if (list.length > SHARE_LIMITS.ports) omissions.cut("ports", list.length, SHARE_LIMITS.ports);
}

type ReadPort = EndpointPort & { readonly name: string; readonly protocol: Protocol };

/** The port with the defaults that API servers fill in, or why it cannot be used. */
function readPort(value: unknown): ReadPort | string {
  if (!isRecord(value)) return `a port is ${quote(value)}`;
  const { name, protocol, port, appProtocol } = value;
  if (isSaid(name) && (typeof name !== "string" || !isDnsLabel(name))) {
    return `a port's name is ${quote(name)}, which is no DNS label`;
  }
  const spoken = isSaid(protocol) ? protocol : "TCP";
  if (!isOneOf(PROTOCOLS, spoken)) return `a port's protocol is ${quote(protocol)}`;
  const hasNumber = port !== undefined && port !== null;
  if (hasNumber && !isWholeNumber(port, 65_535)) return `a port's number is ${quote(port)}`;
  const hasApp = isSaid(appProtocol);
  if (hasApp && (typeof appProtocol !== "string" || !isQualifiedName(appProtocol))) {
    return `a port's application protocol is ${quote(appProtocol)}`;
  }
  return {
    name: typeof name === "string" ? name : "",
    protocol: spoken,
    ...(hasNumber ? { port } : {}),
    ...(typeof appProtocol === "string" && hasApp ? { appProtocol } : {}),
  };
}

export function readEndpoints(list: UntrustedList, omissions: Omissions): readonly Endpoint[] {
  const endpoints: Endpoint[] = [];
  const count = Math.min(list.length, SHARE_LIMITS.endpoints);
  for (let at = 0; at < count; at++) {
    const endpoint = readEndpoint(list[at]);
    if (typeof endpoint === "string") omissions.leaveOut("endpoints", endpoint);
    else endpoints.push(endpoint);
  }
  if (list.length > count) omissions.cut("endpoints", list.length, count);
  return endpoints;
}

/** The endpoint, or why it cannot be used. Whether the address is one is for the admission to say. */
function readEndpoint(value: unknown): Endpoint | string {
  if (!isRecord(value)) return `an endpoint is ${quote(value)}`;
  const { addresses, conditions, hostname, zone } = value;
  const address: unknown = Array.isArray(addresses) ? addresses[0] : undefined;
  if (
    typeof address !== "string" ||
    address.length < ADDRESS_MIN_LENGTH ||
    address.length > ADDRESS_MAX_LENGTH
  ) {
    return `an endpoint's address is ${quote(address)}`;
  }
  const hasHostname = isSaid(hostname);
  if (hasHostname && (typeof hostname !== "string" || !isDnsLabel(hostname))) {
    return `an endpoint's host name is ${quote(hostname)}, which is no DNS label`;
  }
  const hasZone = isSaid(zone);
  if (hasZone && (typeof zone !== "string" || !isLabelValue(zone))) {
    return `an endpoint's zone is ${quote(zone)}, which no label can hold`;
  }
  const state = readConditions(conditions);
  if (typeof state === "string") return state;
  // Written out: spreading what is there takes four times as long, and this runs for every endpoint of the clusterset.
  const endpoint: Mutable<Endpoint> = { addresses: [address], conditions: state };
  if (typeof hostname === "string" && hasHostname) endpoint.hostname = hostname;
  if (typeof zone === "string" && hasZone) endpoint.zone = zone;
  return endpoint;
}

type Mutable<T> = { -readonly [Field in keyof T]: T[Field] };

/** Absent is empty, as API servers have it: else the slice would look different from what was written, for ever. */
function readConditions(value: unknown): EndpointConditions | string {
  if (value === undefined || value === null) return {};
  if (!isRecord(value)) return `an endpoint's conditions are ${quote(value)}`;
  const { ready, serving, terminating } = value;
  if (!isFlag(ready) || !isFlag(serving) || !isFlag(terminating)) {
    return "an endpoint's conditions are neither true nor false";
  }
  const conditions: Mutable<EndpointConditions> = {};
  if (typeof ready === "boolean") conditions.ready = ready;
  if (typeof serving === "boolean") conditions.serving = serving;
  if (typeof terminating === "boolean") conditions.terminating = terminating;
  return conditions;
}

function isFlag(value: unknown): boolean {
  return typeof value === "boolean" || value === undefined || value === null;
}

/** Each word that is not known is left out alone: the importing API server would refuse it. */
export function readTrafficPolicy(spec: UntrustedRecord, omissions: Omissions): TrafficPolicy {
  const { sessionAffinity, sessionAffinityConfig, internalTrafficPolicy, trafficDistribution } =
    spec;
  function readWord<T extends string>(
    words: readonly T[],
    { what, value }: { readonly what: string; readonly value: unknown },
  ): T | undefined {
    if (isOneOf(words, value)) return value;
    if (isSaid(value)) omissions.leaveOut(what, `${quote(value)} is not known`);
    return undefined;
  }
  const affinity = readWord(AFFINITIES, { what: "a session affinity", value: sessionAffinity });
  const internal = readWord(TRAFFIC_POLICIES, {
    what: "an internal traffic policy",
    value: internalTrafficPolicy,
  });
  const distribution = readWord(DISTRIBUTIONS, {
    what: "a traffic distribution",
    value: trafficDistribution,
  });
  return {
    ...(affinity === undefined ? {} : { sessionAffinity: affinity }),
    // A config without affinity by client IP is refused by API servers.
    ...(affinity === "ClientIP" ? readAffinityConfig(sessionAffinityConfig, omissions) : {}),
    ...(internal === undefined ? {} : { internalTrafficPolicy: internal }),
    ...(distribution === undefined ? {} : { trafficDistribution: distribution }),
  };
}

function readAffinityConfig(value: unknown, omissions: Omissions): TrafficPolicy {
  const clientIP = isRecord(value) ? value["clientIP"] : undefined;
  const timeoutSeconds = isRecord(clientIP) ? clientIP["timeoutSeconds"] : undefined;
  if (isWholeNumber(timeoutSeconds, AFFINITY_MAX_SECONDS)) {
    return { sessionAffinityConfig: { clientIP: { timeoutSeconds } } };
  }
  if (isSaid(value)) {
    omissions.leaveOut("a session affinity config", `its seconds are ${quote(timeoutSeconds)}`);
  }
  return {};
}

type Marks = Pick<ServiceShare, "labels" | "annotations">;

/** All labels or none, all annotations or none: they win and lose as a whole too (R35, R36). */
export function readMarks(spec: UntrustedRecord, omissions: Omissions): Marks {
  const { labels, annotations } = spec;
  return {
    ...readEntries("labels", labels, omissions),
    ...readEntries("annotations", annotations, omissions),
  };
}

function readEntries(what: keyof Marks, value: unknown, omissions: Omissions): Marks {
  if (!isSaid(value)) return {};
  if (!isTextMap(value)) {
    omissions.leaveOut(what, "they are not texts by name");
    return {};
  }
  const marks = { [what]: value };
  const problem = findBadMark(marks);
  if (problem === undefined) return marks;
  // A sentence of its own where the export is refused; a clause here.
  omissions.leaveOut(what, problem.replace(/\.$/, ""));
  return {};
}

function isTextMap(value: unknown): value is Readonly<Record<string, string>> {
  return isRecord(value) && Object.values(value).every((text) => typeof text === "string");
}

export function readWhenLost(value: unknown, omissions: Omissions): Pick<ServiceShare, "whenLost"> {
  if (isOneOf(WHEN_LOST, value)) return { whenLost: value };
  if (isSaid(value)) omissions.leaveOut("a rule for its loss", `${quote(value)} is not known`);
  return {};
}
