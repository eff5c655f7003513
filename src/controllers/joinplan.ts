// Join: a cluster, a hub and what the administrator says in; everything that is to be written, in both, out. Reads only.

import { CLUSTER_PROPERTY, type ClusterProperty } from "../api/about.ts";
import { CLUSTER_MEMBER, type ClusterMember } from "../api/isthmus.ts";
import {
  CLUSTER_ID_PROPERTY,
  type ClusterId,
  CLUSTERSET_PROPERTY,
  MANAGED_LABEL,
  memberNamespace,
} from "../api/names.ts";
import { apiVersionOf } from "../api/object.ts";
import { Problem } from "../api/problem.ts";
import { findOverlaps } from "../core/topology.ts";
import type { HubCredential } from "../hub/credential.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import { chooseId, type Membership, readMembership } from "./membership.ts";
import { listAll } from "./list.ts";
import { type Given, type Survey, surveyCluster } from "./survey.ts";

export interface JoinRequest {
  /** The cluster that joins. */
  readonly store: Store;
  readonly hub: { readonly server: string; readonly ca?: string };
  /** Of an administrator of the hub; absent with a join token, which cannot read. */
  readonly admin?: Store;
  /** The hub, as the cluster itself sees it. */
  readonly connect: (credential: HubCredential) => Store;
  readonly clusterId?: string;
  readonly clusterset?: string;
  readonly given: Given;
  readonly allowOverlap: boolean;
  /** 32 random bytes in hexadecimal. */
  readonly newClaim: () => string;
  readonly signal: AbortSignal;
}

export interface JoinPlan {
  readonly cluster: ClusterId;
  readonly found: Membership;
  /** The claim at least; with a token when the cluster is a member already. */
  readonly credential: HubCredential;
  readonly isMember: boolean;
  readonly spec: ClusterMember["spec"];
  /** To be created. */
  readonly properties: readonly ClusterProperty[];
  /** Sentences. */
  readonly doubts: readonly string[];
}

const DEFAULT_CLUSTERSET = "isthmus";

export async function planJoin(request: JoinRequest): Promise<JoinPlan> {
  const { store, hub, signal } = request;
  const found = await readMembership(store, signal);
  const doubts: string[] = [];
  refuseMember(found.credential, { cluster: request.clusterId, server: hub.server });
  const cluster = chooseId(found, request.clusterId);
  const properties = planProperties(found, cluster, request.clusterset);
  const before = chooseBefore(found.credential, { cluster, server: hub.server, doubts });
  const member = before?.token === undefined ? undefined : await findMember(request, before);
  const given = member === undefined ? request.given : keepDeclared(request.given, member.spec);
  const survey = await surveyCluster(store, given, signal);
  const spec = renderSpec(requireRanges(survey));
  doubts.push(...survey.doubts);
  if (request.admin !== undefined) await refuseOverlaps(request, request.admin, { cluster, spec });
  return {
    cluster,
    found,
    credential: before ?? { cluster, ...hub, claim: request.newClaim() },
    isMember: member !== undefined,
    spec,
    properties,
    doubts,
  };
}

function refuseMember(
  before: HubCredential | undefined,
  wanted: { readonly cluster: string | undefined; readonly server: string },
): void {
  if (before?.token === undefined) return;
  const isSameId = wanted.cluster === undefined || wanted.cluster === before.cluster;
  if (isSameId && wanted.server === before.server) return;
  const message = `the cluster is already a member, as "${before.cluster}" of the hub at ${before.server}`;
  throw new Problem("AlreadyMember", message, {
    hint: "Run isthmus leave first; with --hub-kubeconfig if the hub is not at that address any more.",
  });
}

/** The credential of an earlier attempt, finished or not, that this one goes on with. */
function chooseBefore(
  before: HubCredential | undefined,
  wanted: { readonly cluster: ClusterId; readonly server: string; readonly doubts: string[] },
): HubCredential | undefined {
  if (before === undefined) return undefined;
  const { cluster, server, doubts } = wanted;
  if (before.cluster === cluster && before.server === server && before.claim !== "") return before;
  doubts.push(
    `An earlier attempt to join as "${before.cluster}" was not finished. Should the hub at ${before.server} list it, remove it there: isthmus hub evict ${before.cluster}.`,
  );
  return undefined;
}

/** What is declared already is not looked for again: who joins a second time need not repeat what he said the first time. */
function keepDeclared(given: Given, declared: ClusterMember["spec"]): Given {
  const { podCIDRs = [], serviceCIDRs = [], topology = {} } = declared;
  const region = given.region ?? topology.region;
  return {
    podCIDRs: given.podCIDRs.length > 0 ? given.podCIDRs : podCIDRs,
    serviceCIDRs: given.serviceCIDRs.length > 0 ? given.serviceCIDRs : serviceCIDRs,
    ...(region !== undefined && { region }),
    zones: given.zones.length > 0 ? given.zones : (topology.zones ?? []),
  };
}

/** Undefined when the hub does not know the cluster, or not under this credential: it was evicted, or never got so far. */
async function findMember(
  { connect, signal }: JoinRequest,
  credential: HubCredential,
): Promise<ClusterMember | undefined> {
  const { cluster } = credential;
  const ref = { namespace: memberNamespace(cluster), name: cluster };
  try {
    return await connect(credential).get(CLUSTER_MEMBER, ref, { signal });
  } catch (error) {
    if (isStoreError(error, "Unauthorized", "Forbidden", "NotFound")) return undefined;
    throw error;
  }
}

function requireRanges(survey: Survey): Survey {
  const missing = survey.podCIDRs.length === 0 ? "pods" : "Services";
  if (survey.podCIDRs.length > 0 && survey.serviceCIDRs.length > 0) return survey;
  const flag = missing === "pods" ? "--pod-cidr 10.1.0.0/16" : "--service-cidr 10.96.0.0/16";
  const message = `the address ranges of the cluster's ${missing} cannot be found out`;
  throw new Problem("AddressRangesUnknown", message, { hint: `Name them, such as ${flag}.` });
}

function renderSpec(survey: Survey): ClusterMember["spec"] {
  const { podCIDRs, serviceCIDRs, region, zones } = survey;
  const topology = {
    ...(region !== undefined && { region }),
    ...(zones.length > 0 && { zones }),
  };
  return {
    ...(Object.keys(topology).length > 0 && { topology }),
    podCIDRs,
    serviceCIDRs,
  };
}

async function refuseOverlaps(
  request: JoinRequest,
  admin: Store,
  own: { readonly cluster: ClusterId; readonly spec: ClusterMember["spec"] },
): Promise<void> {
  if (request.allowOverlap) return;
  const [first] = await findMemberOverlaps(admin, own, request.signal);
  if (first === undefined) return;
  throw new Problem("AddressRangesOverlap", first, {
    hint: "Name other ranges with --pod-cidr, or join all the same with --allow-overlap.",
  });
}

export async function findMemberOverlaps(
  hub: Store,
  own: { readonly cluster: ClusterId; readonly spec: ClusterMember["spec"] },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const members = await listAll(hub, CLUSTER_MEMBER, { signal });
  const others = members.filter(({ metadata }) => metadata.name !== own.cluster);
  return findOverlaps(own.spec, others);
}

/** What is there stays; what is missing is made, and taken away again when the cluster leaves. */
function planProperties(
  found: Membership,
  cluster: ClusterId,
  clusterset: string | undefined,
): readonly ClusterProperty[] {
  const written = found.setProperty?.spec?.value;
  if (clusterset !== undefined && written !== undefined && clusterset !== written) {
    const message = `the clusterset is to be "${clusterset}", but the ClusterProperty ${CLUSTERSET_PROPERTY} says "${written}"`;
    throw new Problem("ClusterIdInvalid", message, {
      hint: "Use that name, or change or delete the ClusterProperty.",
    });
  }
  return [
    ...(found.idProperty === undefined ? [aProperty(CLUSTER_ID_PROPERTY, cluster)] : []),
    ...(found.setProperty === undefined
      ? [aProperty(CLUSTERSET_PROPERTY, clusterset ?? DEFAULT_CLUSTERSET)]
      : []),
  ];
}

function aProperty(name: string, value: string): ClusterProperty {
  return {
    apiVersion: apiVersionOf(CLUSTER_PROPERTY),
    kind: CLUSTER_PROPERTY.kind,
    metadata: { name, labels: { [MANAGED_LABEL]: "true" } },
    spec: { value },
  };
}
