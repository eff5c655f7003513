// Hub: the packed shares of one service in, what of them this cluster takes in out, and a sentence for whatever it does
// not. Reads only: who wrote the shares is known by their namespaces, what they may say by the registry.

import type { ClusterId } from "../api/names.ts";
import type { Contribution } from "../api/share.ts";
import {
  admitContribution,
  type AdmissionLimits,
  type Declaration,
  type Rejection,
} from "../core/admission.ts";
import { compareText } from "../core/order.ts";
import { decodeEndpointShare, decodeServiceShare } from "../core/wire.ts";
import { type PackedShare, TEXT_MAX_LENGTH, unpackSpec } from "./packed.ts";

export interface Reading {
  readonly contributions: readonly Contribution[];
  readonly rejections: readonly Rejection[];
}

export interface ReadingInput {
  /** Of all clusters, ours included. */
  readonly serviceShares: readonly PackedShare[];
  readonly endpointShares: readonly PackedShare[];
  readonly ownCluster: ClusterId;
  /** What this cluster shares, whatever the hub has of it; undefined: nothing. */
  readonly own: Contribution | undefined;
  /** Undefined for who is no member; of ourselves: never heard of. */
  readonly declarationOf: (cluster: ClusterId) => Declaration | undefined;
  /** Why the service of that cluster is left out as a whole. */
  readonly excessOf: (cluster: ClusterId) => readonly Rejection[];
  readonly limits: AdmissionLimits | undefined;
}

/** In order of cluster ids, so that the same shares read the same in every cluster. */
export function readShares(input: ReadingInput): Reading {
  const { own, ownCluster, declarationOf } = input;
  const contributions: Contribution[] = [];
  const rejections: Rejection[] = [];
  const ownDeclaration = declarationOf(ownCluster);
  for (const [cluster, shares] of groupByCluster(input)) {
    const isOwn = cluster === ownCluster;
    if (isOwn && own === undefined) continue;
    const declaration = declarationOf(cluster);
    // Until our own Service ranges are known, nobody's endpoints can be held against them.
    if (!isOwn && (declaration === undefined || ownDeclaration === undefined)) continue;
    const excess = input.excessOf(cluster);
    rejections.push(...excess);
    if (excess.length > 0 && !isOwn) continue;
    const stored = isOwn ? own : readContribution(cluster, shares, rejections);
    if (stored === undefined) continue;
    if (declaration === undefined || ownDeclaration === undefined) {
      contributions.push(stored);
      continue;
    }
    const admission = admitContribution(stored, {
      declaration,
      ownServices: ownDeclaration.services,
      ...(input.limits === undefined ? {} : { limits: input.limits }),
    });
    // At home they are what they are; only, others will not take them.
    contributions.push(isOwn ? stored : admission.contribution);
    rejections.push(...admission.rejections);
  }
  return { contributions, rejections };
}

interface Shares {
  service: PackedShare | undefined;
  readonly endpoints: PackedShare[];
}

function groupByCluster(input: ReadingInput): readonly (readonly [ClusterId, Shares])[] {
  const groups = new Map<ClusterId, Shares>();
  if (input.own !== undefined) {
    groups.set(input.ownCluster, { service: undefined, endpoints: [] });
  }
  for (const service of input.serviceShares) {
    if (service.cluster !== undefined) groups.set(service.cluster, { service, endpoints: [] });
  }
  for (const share of input.endpointShares) {
    // Without a ServiceShare they come too early, or stayed behind.
    if (share.cluster !== undefined) groups.get(share.cluster)?.endpoints.push(share);
  }
  return [...groups].toSorted(([a], [b]) => compareText(a, b));
}

function readContribution(
  cluster: ClusterId,
  shares: Shares,
  rejections: Rejection[],
): Contribution | undefined {
  if (shares.service === undefined) return undefined;
  const tooLarge = [shares.service, ...shares.endpoints].filter(({ text }) => text === undefined);
  if (tooLarge.length > 0) rejections.push(rejectLarge(cluster, tooLarge));
  if (tooLarge.includes(shares.service)) return undefined;
  const decoded = decodeServiceShare(storedOf(cluster, shares.service));
  rejections.push(...decoded.rejections);
  if (!decoded.ok) return undefined;
  const endpoints = shares.endpoints.flatMap((share) => {
    if (share.text === undefined) return [];
    const part = decodeEndpointShare(storedOf(cluster, share));
    rejections.push(...part.rejections);
    return part.ok ? [part.value] : [];
  });
  return {
    share: decoded.value,
    endpoints: endpoints.toSorted((a, b) => compareText(a.slice, b.slice)),
  };
}

function rejectLarge(cluster: ClusterId, shares: readonly PackedShare[]): Rejection {
  const names = shares.map(({ metadata }) => metadata.name ?? "").toSorted(compareText);
  const message = `Cluster "${cluster}" has ${shares.length} shares of more than ${TEXT_MAX_LENGTH} characters, such as ${names[0]}: they are left out. Share fewer endpoints in one slice.`;
  return { cluster, reason: "TooMany", count: shares.length, message };
}

function storedOf(cluster: ClusterId, share: PackedShare) {
  return { cluster, name: share.metadata.name ?? "", spec: unpackSpec(share) };
}
