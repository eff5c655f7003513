// Admission: what a source shares and what is declared of it in, what of it this cluster takes in out, and a sentence for
// whatever it does not. A member is trusted with nothing but its own share.

import type { Endpoint } from "../api/builtin.ts";
import type { ClusterId, ServiceKey } from "../api/names.ts";
import type { Contribution, EndpointShare } from "../api/share.ts";
import { type Cidr, isForbiddenAddress, isInside, parseAddress, parseCidr } from "./address.ts";
import { compareText } from "./order.ts";

export type RejectionReason =
  /** Not inside the ranges that the administrator declared for the source. */
  | "AddressNotDeclared"
  /** Loopback, link-local, multicast, unspecified, broadcast, or not an address of the slice's family at all. */
  | "AddressForbidden"
  /** Inside a range of Services, of the importing cluster or of the source: it would lead to something else than a pod. */
  | "AddressInServiceRange"
  /** More of something than one source may have. */
  | "TooMany"
  /** Not what a share looks like. */
  | "Malformed";

/** Part of one source's share that was not taken in. */
export interface Rejection {
  readonly cluster: ClusterId;
  readonly reason: RejectionReason;
  /** Endpoints, or for TooMany and Malformed whatever `message` speaks of. */
  readonly count: number;
  /** A sentence that names an example and says what to do. */
  readonly message: string;
}

/** What the administrator declared of one member, ready to be asked for every endpoint. */
export interface Declaration {
  readonly pods: readonly Cidr[];
  readonly services: readonly Cidr[];
  /** Declared, but no ranges: they let nothing in and keep nothing out. */
  readonly unreadable: readonly string[];
}

export interface AdmissionLimits {
  /** EndpointShares of one member for one service. */
  readonly sharesPerService: number;
  /** Services of one member. */
  readonly services: number;
  /** EndpointShares of one member for all its services. */
  readonly shares: number;
  /** Endpoints of one member in all of them. */
  readonly endpoints: number;
}

export const ADMISSION_LIMITS: AdmissionLimits = {
  sharesPerService: 100,
  services: 5_000,
  shares: 10_000,
  endpoints: 100_000,
};

export interface AdmissionContext {
  /** Of the source. */
  readonly declaration: Declaration;
  /** Of the importing cluster. */
  readonly ownServices: readonly Cidr[];
  readonly limits?: AdmissionLimits;
}

export interface Admission {
  /** The very object that came in when all of it may be used. */
  readonly contribution: Contribution;
  /** At most one for each reason, the same for the same shares in any order. */
  readonly rejections: readonly Rejection[];
}

export function compileDeclaration(declared: {
  readonly podCIDRs?: readonly string[] | undefined;
  readonly serviceCIDRs?: readonly string[] | undefined;
}): Declaration {
  const { podCIDRs = [], serviceCIDRs = [] } = declared;
  return {
    pods: podCIDRs.flatMap((text) => parseCidr(text) ?? []),
    services: serviceCIDRs.flatMap((text) => parseCidr(text) ?? []),
    unreadable: [...podCIDRs, ...serviceCIDRs].filter((text) => parseCidr(text) === undefined),
  };
}

export function admitContribution(
  contribution: Contribution,
  context: AdmissionContext,
): Admission {
  const { sharesPerService } = context.limits ?? ADMISSION_LIMITS;
  const { cluster } = contribution.share;
  // First: what is too many is not even looked at.
  const taken = takeFirst(contribution.endpoints, sharesPerService);
  const tally: Tally = new Map();
  const admitted = taken.flatMap((share) => admitShare(share, context, tally) ?? []);
  const left = contribution.endpoints.length - taken.length;
  if (left === 0 && tally.size === 0) return { contribution, rejections: NONE };
  const rejections = [...tally].map(([reason, dropped]): Rejection => {
    const { count } = dropped;
    return { cluster, reason, count, message: SENTENCES[reason](cluster, dropped, context) };
  });
  return {
    contribution: { ...contribution, endpoints: admitted },
    rejections: [
      ...rejections,
      ...(left === 0 ? [] : [tooManyShares(cluster, left, sharesPerService)]),
    ].toSorted((a, b) => compareText(a.reason, b.reason)),
  };
}

const NONE: readonly Rejection[] = [];

type AddressReason = Extract<RejectionReason, `Address${string}`>;
interface Dropped {
  readonly count: number;
  /** The first in order of text. */
  readonly example: string;
}
type Tally = Map<AddressReason, Dropped>;

function takeFirst(shares: readonly EndpointShare[], max: number): readonly EndpointShare[] {
  if (shares.length <= max) return shares;
  return shares.toSorted((a, b) => compareText(a.slice, b.slice)).slice(0, max);
}

/** Undefined when nothing is left of it. */
function admitShare(
  share: EndpointShare,
  context: AdmissionContext,
  tally: Tally,
): EndpointShare | undefined {
  const endpoints = share.endpoints.filter((endpoint) => {
    const fault = findFault(endpoint, share.addressType, context);
    if (fault === undefined) return true;
    const { count = 0, example = fault.address } = tally.get(fault.reason) ?? {};
    tally.set(fault.reason, {
      count: count + 1,
      example: compareText(fault.address, example) < 0 ? fault.address : example,
    });
    return false;
  });
  if (endpoints.length === share.endpoints.length) return share;
  return endpoints.length === 0 ? undefined : { ...share, endpoints };
}

/** One bad address is enough: whoever reads the endpoint may use any of them. */
function findFault(
  endpoint: Endpoint,
  family: EndpointShare["addressType"],
  context: AdmissionContext,
): { readonly reason: AddressReason; readonly address: string } | undefined {
  if (endpoint.addresses.length === 0) return { reason: "AddressForbidden", address: "" };
  for (const address of endpoint.addresses) {
    const reason = judgeAddress(address, family, context);
    if (reason !== undefined) return { reason, address };
  }
  return undefined;
}

function judgeAddress(
  text: string,
  family: EndpointShare["addressType"],
  { declaration, ownServices }: AdmissionContext,
): AddressReason | undefined {
  const address = parseAddress(text);
  if (address?.family !== family || isForbiddenAddress(address)) return "AddressForbidden";
  const isIn = (cidr: Cidr): boolean => isInside(address, cidr);
  if (ownServices.some(isIn) || declaration.services.some(isIn)) return "AddressInServiceRange";
  return declaration.pods.some(isIn) ? undefined : "AddressNotDeclared";
}

/** How much of one service a member shares. */
export interface ServiceSize {
  readonly endpointShares: number;
  readonly endpoints: number;
}

/**
 * A member with more than it may share: which of its services are left out, and what to say of each of them. The first by
 * name stay, so that every cluster leaves out the same.
 */
export function limitServices(
  member: {
    readonly cluster: ClusterId;
    readonly services: ReadonlyMap<ServiceKey, ServiceSize>;
  },
  limits: AdmissionLimits = ADMISSION_LIMITS,
): { readonly leftOut: ReadonlySet<ServiceKey>; readonly rejections: readonly Rejection[] } {
  const { cluster, services } = member;
  const ordered = [...services].toSorted(([a], [b]) => compareText(a, b));
  let shares = 0;
  let endpoints = 0;
  const end = ordered.findIndex(([, size], at) => {
    shares += Math.min(size.endpointShares, limits.sharesPerService);
    endpoints += size.endpoints;
    return at >= limits.services || shares > limits.shares || endpoints > limits.endpoints;
  });
  if (end === -1) return { leftOut: NOTHING, rejections: NONE };
  const message = `Cluster "${cluster}" shares more than ${limits.services} services, ${limits.shares} slices of endpoints or ${limits.endpoints} endpoints; what comes later by name, as this service does, is left out. Export fewer services there.`;
  return {
    leftOut: new Set(ordered.slice(end).map(([service]) => service)),
    rejections: [{ cluster, reason: "TooMany", count: 1, message }],
  };
}

const NOTHING: ReadonlySet<ServiceKey> = new Set();

type Sentence = (cluster: ClusterId, dropped: Dropped, context: AdmissionContext) => string;

const SENTENCES: Readonly<Record<AddressReason, Sentence>> = {
  AddressNotDeclared: (cluster, { count, example }, { declaration }) => {
    const ranges = declaration.pods.map(({ text }) => text);
    const unreadable = declaration.unreadable.map(show);
    const what =
      ranges.length === 0
        ? `Cluster "${cluster}" has no pod range declared, so its endpoints are left out: ${speakOf(count)}, such as ${show(example)}.`
        : `${speakOf(count)} of cluster "${cluster}" ${lie(count)} outside its declared ranges, such as ${show(example)}.`;
    const instead = ranges.length === 0 ? "" : `, or export pods inside ${list(ranges)}`;
    const typo =
      unreadable.length === 0 ? "" : ` What is declared as ${list(unreadable)} is no range.`;
    return `${what} Declare the range in spec.podCIDRs of its ClusterMember on the hub${instead}.${typo}`;
  },
  AddressForbidden: (cluster, { count, example }) =>
    `${speakOf(count)} of cluster "${cluster}" ${count === 1 ? "has an address" : "have addresses"} that no endpoint may have, such as ${show(example)}: loopback, link-local, multicast, or not of the slice's family. Export pods that have addresses of their own.`,
  AddressInServiceRange: (cluster, { count, example }, { declaration, ownServices }) => {
    const ranges = [...ownServices, ...declaration.services].map(({ text }) => text);
    return `${speakOf(count)} of cluster "${cluster}" ${lie(count)} where Services of this cluster or of its own have their addresses (${list(ranges)}), such as ${show(example)}. Give the pods a range of their own.`;
  },
};

function tooManyShares(cluster: ClusterId, count: number, max: number): Rejection {
  const message = `Cluster "${cluster}" shares more than ${max} slices of endpoints for this service; ${count} of them, the last by name, ${count === 1 ? "is" : "are"} left out. Export fewer endpoints, or larger slices.`;
  return { cluster, reason: "TooMany", count, message };
}

function speakOf(count: number): string {
  return count === 1 ? "1 endpoint" : `${count} endpoints`;
}

function lie(count: number): string {
  return count === 1 ? "lies" : "lie";
}

const MAX_RANGES_SHOWN = 3;

function list(ranges: readonly string[]): string {
  const shown = ranges.slice(0, MAX_RANGES_SHOWN).join(", ");
  const more = ranges.length - MAX_RANGES_SHOWN;
  return more > 0 ? `${shown} or ${more} more` : shown;
}

/** The longest address that there is. */
const MAX_ADDRESS_LENGTH = 45;

/** Comes from a stranger and is read by people, on terminals. */
function show(address: string): string {
  if (address === "") return "one without an address";
  return address.slice(0, MAX_ADDRESS_LENGTH).replaceAll(/[^\u0021-\u007e]/g, "?");
}
