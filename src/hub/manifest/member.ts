// Manifest: one cluster and what is declared of it in, everything that a hub holds about it out, in the order of creation;
// and the way back. Pure. policy/join.ts demands exactly these objects of a join token: change both or neither.

import { LEASE, NAMESPACE, SERVICE_ACCOUNT } from "../../api/builtin.ts";
import { ENDPOINT_SHARE, SERVICE_SHARE } from "../../api/hubshare.ts";
import { CLUSTER_MEMBER, type ClusterMember } from "../../api/isthmus.ts";
import {
  CLAIM_ANNOTATION,
  CLAIM_PROOF_ANNOTATION,
  CLUSTER_LABEL,
  type ClusterId,
  HUB_NAMESPACE,
  JOIN_TOKEN_LABEL,
  memberNamespace,
} from "../../api/names.ts";
import type { KubeObject, ObjectMeta, OwnerReference } from "../../api/object.ts";
import {
  type AccountSubject,
  CLUSTER_ROLE_BINDING,
  type PolicyRule,
  RESOURCE_QUOTA,
  ROLE,
  ROLE_BINDING,
  roleRef,
} from "../../api/rbac.ts";
import {
  CLAIM_PATTERN,
  CLAIM_PROOF_LENGTH,
  MEMBER_ACCOUNT,
  MEMBER_BINDING,
  MEMBER_ROLE,
  memberBinding,
  READER_ROLE,
} from "./names.ts";
import { anObject, type Removal } from "./resource.ts";

export interface Registration {
  readonly cluster: ClusterId;
  /** 32 random bytes in hexadecimal: whoever knows it may ask for the member's credential. */
  readonly claim: string;
  readonly spec: ClusterMember["spec"];
  /** Name of the join token; absent when an administrator of the hub registers the cluster. */
  readonly joinToken?: string;
  /** Of the member's namespace, once it exists: what lies outside of it is then collected with it. */
  readonly namespaceUid?: string;
}

/** Spelled as the API server answers. */
export const MEMBER_QUOTA: Readonly<Record<string, string>> = {
  [`count/${SERVICE_SHARE.plural}.${SERVICE_SHARE.group}`]: "5k",
  [`count/${ENDPOINT_SHARE.plural}.${ENDPOINT_SHARE.group}`]: "10k",
};

/** The Namespace is the first, and the only one whose name can be taken: that it could be created is the registration. */
export function renderMember(registration: Registration): readonly KubeObject[] {
  const { cluster, claim, joinToken, namespaceUid } = registration;
  if (!new RegExp(CLAIM_PATTERN).test(claim)) {
    throw new Error("a claim is 32 random bytes in hexadecimal");
  }
  const namespace = memberNamespace(cluster);
  const labels = {
    [CLUSTER_LABEL]: cluster,
    ...(joinToken !== undefined && { [JOIN_TOKEN_LABEL]: joinToken }),
  };
  const inside = (name: string, metadata: ObjectMeta = {}): ObjectMeta => ({
    namespace,
    name,
    labels,
    ...metadata,
  });
  const outside = (metadata: ObjectMeta): ObjectMeta => ({
    ...metadata,
    labels,
    ...(namespaceUid !== undefined && {
      ownerReferences: [namespaceOwner(namespace, namespaceUid)],
    }),
  });
  const inHub = (name: string): ObjectMeta => outside({ namespace: HUB_NAMESPACE, name });
  const subjects: readonly AccountSubject[] = [
    { kind: "ServiceAccount", namespace, name: MEMBER_ACCOUNT },
  ];
  const binding = memberBinding(cluster);
  const proof = { [CLAIM_PROOF_ANNOTATION]: claim.slice(0, CLAIM_PROOF_LENGTH) };
  return [
    anObject(
      NAMESPACE,
      { name: namespace, labels, annotations: { [CLAIM_ANNOTATION]: claim } },
      {},
    ),
    anObject(RESOURCE_QUOTA, inside(MEMBER_BINDING), { spec: { hard: MEMBER_QUOTA } }),
    anObject(SERVICE_ACCOUNT, inside(MEMBER_ACCOUNT), {}),
    anObject(ROLE_BINDING, inside(MEMBER_BINDING), {
      roleRef: roleRef("ClusterRole", MEMBER_ROLE),
      subjects,
    }),
    anObject(CLUSTER_ROLE_BINDING, outside({ name: binding }), {
      roleRef: roleRef("ClusterRole", READER_ROLE),
      subjects,
    }),
    anObject(ROLE, inHub(binding), { rules: leaseRules(cluster) }),
    anObject(ROLE_BINDING, inHub(binding), { roleRef: roleRef("Role", binding), subjects }),
    anObject(LEASE, inHub(cluster), { spec: {} }),
    anObject(CLUSTER_MEMBER, inside(cluster, { annotations: proof }), { spec: registration.spec }),
  ];
}

function leaseRules(cluster: ClusterId): readonly PolicyRule[] {
  const leases = { apiGroups: [LEASE.group], resources: [LEASE.plural] };
  return [
    // Hear the others.
    { ...leases, verbs: ["list", "watch"] },
    // Be heard, and say farewell. It is made at join: RBAC cannot bind `create` to a name.
    { ...leases, resourceNames: [cluster], verbs: ["get", "update", "patch", "delete"] },
  ];
}

function namespaceOwner(name: string, uid: string): OwnerReference {
  return { apiVersion: "v1", kind: NAMESPACE.kind, name, uid };
}

/**
 * What eviction deletes, in order: first what importers look at, then the credential, then the rest. Whoever runs it
 * deletes the shares before the namespace where no controller manager empties namespaces.
 */
export function renderRemoval(cluster: ClusterId): readonly Removal[] {
  const namespace = memberNamespace(cluster);
  const binding = memberBinding(cluster);
  return [
    { resource: CLUSTER_MEMBER, ref: { namespace, name: cluster } },
    { resource: SERVICE_ACCOUNT, ref: { namespace, name: MEMBER_ACCOUNT } },
    { resource: ROLE_BINDING, ref: { namespace, name: MEMBER_BINDING } },
    { resource: CLUSTER_ROLE_BINDING, ref: { name: binding } },
    { resource: ROLE_BINDING, ref: { namespace: HUB_NAMESPACE, name: binding } },
    { resource: ROLE, ref: { namespace: HUB_NAMESPACE, name: binding } },
    { resource: LEASE, ref: { namespace: HUB_NAMESPACE, name: cluster } },
    { resource: RESOURCE_QUOTA, ref: { namespace, name: MEMBER_BINDING } },
    { resource: NAMESPACE, ref: { name: namespace } },
  ];
}

/** What a member that leaves deletes with its own credential, after its shares. The rest is collected, or evicted. */
export function renderDeparture(cluster: ClusterId): readonly Removal[] {
  const namespace = memberNamespace(cluster);
  return [
    { resource: CLUSTER_MEMBER, ref: { namespace, name: cluster } },
    { resource: LEASE, ref: { namespace: HUB_NAMESPACE, name: cluster } },
    { resource: NAMESPACE, ref: { name: namespace } },
  ];
}
