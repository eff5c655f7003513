// Clusterset: what was read of clusters and of their hub, as plain data: all that the view and the explanations start from.
// What could not be read is said, because unread is not absent.

import type { ClusterProperty } from "../../api/about.ts";
import type { EndpointSlice, Lease, Namespace, Service } from "../../api/builtin.ts";
import type { EndpointShareObject, ServiceShareObject } from "../../api/hubshare.ts";
import type { ClusterMember } from "../../api/isthmus.ts";
import type { ServiceExport, ServiceImport } from "../../api/mcs.ts";
import type { ClusterId } from "../../api/names.ts";

export const SIGHTED_KINDS = [
  "serviceExports",
  "serviceImports",
  "services",
  "slices",
  "namespaces",
] as const;
export type SightedKind = (typeof SIGHTED_KINDS)[number];

/** What was seen of one cluster. */
export interface Sighting {
  /** What whoever asked calls it: a context or a kubeconfig. */
  readonly name: string;
  /** Undefined: it has no id, or did not answer. */
  readonly cluster: ClusterId | undefined;
  /** Sentences about what could not be read, and about who the cluster is. */
  readonly problems: readonly string[];
  readonly unread: readonly SightedKind[];
  /** Kinds of object that the cluster does not know, such as "ServiceExport": what is kept in step has no place there. */
  readonly lacking?: readonly string[];
  /** It did not answer, or not to the end: what is unread was not refused. */
  readonly isSilent?: boolean;
  /** The hub that it says it has joined: an address. */
  readonly hub?: string;
  /** It has joined a hub, but how it did cannot be understood. */
  readonly hubProblem?: string;
  readonly serviceExports: readonly ServiceExport[];
  readonly serviceImports: readonly ServiceImport[];
  /** The exported ones and those that carry virtual IPs; more does no harm. */
  readonly services: readonly Service[];
  /** The imported ones and those of exported Services; more does no harm. */
  readonly slices: readonly EndpointSlice[];
  readonly namespaces: readonly Namespace[];
  readonly properties: readonly ClusterProperty[];
}

/** What was seen of the hub, as one of its members may see it. */
export interface HubSighting {
  readonly server: string;
  /** The member whose credential it was read with. */
  readonly reader: ClusterId;
  /** Nothing of it could be read, and why. */
  readonly problem?: string;
  readonly members: readonly ClusterMember[];
  readonly leases: readonly Lease[];
  /** The same Leases some time before: whether one is renewed shows only in its changing. */
  readonly before?: { readonly leases: readonly Lease[]; readonly elapsedMs: number };
  /** False: shares were not asked for, or are too many to be read, so what is not among them is not known. */
  readonly hasShares: boolean;
  readonly serviceShares: readonly ServiceShareObject[];
  readonly endpointShares: readonly EndpointShareObject[];
}

export interface Observation {
  readonly sightings: readonly Sighting[];
  readonly hub?: HubSighting;
  /** Namespace that the sightings are limited to; absent: all. */
  readonly namespace?: string;
  /** Wall clock of the machine that looked. */
  readonly nowMs: number;
}

/** Nothing of the cluster could be read: it did not answer, or all was refused. */
export function isBlind({ unread }: Sighting): boolean {
  return unread.length === SIGHTED_KINDS.length;
}

/** A member of another hub than the one that was asked: nothing here is told of it by a hub. */
export function hasOtherHub({ hub }: Sighting, asked: HubSighting | undefined): boolean {
  return asked !== undefined && hub !== undefined && hub !== "" && hub !== asked.server;
}

/** One of the problems of a cluster that lacks the kind. */
export function describeLack(kind: string): string {
  return `The cluster does not know ${kind}s. "isthmus central" and "isthmus join" install what is missing, and so does "isthmus crds install".`;
}

/** Its id, else what it is called here: an export has to be somebody's. */
export function idOf({ cluster, name }: Sighting): ClusterId {
  return cluster ?? (name as ClusterId);
}

/** Of a cluster that showed nothing. */
export const NOTHING_SEEN = {
  serviceExports: [],
  serviceImports: [],
  services: [],
  slices: [],
  namespaces: [],
  properties: [],
} as const;
