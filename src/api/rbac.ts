// What an identity may do and how much it may store: roles, bindings, quotas, and the request for its token. Only the
// fields that Isthmus writes.

import { defineResource, type KubeObject } from "./object.ts";

const RBAC_GROUP = "rbac.authorization.k8s.io";
const RBAC_VERSION = `${RBAC_GROUP}/v1`;

export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

export interface RoleRef {
  readonly apiGroup: typeof RBAC_GROUP;
  readonly kind: "Role" | "ClusterRole";
  readonly name: string;
}

export function roleRef(kind: RoleRef["kind"], name: string): RoleRef {
  return { apiGroup: RBAC_GROUP, kind, name };
}

export interface AccountSubject {
  readonly kind: "ServiceAccount";
  readonly namespace: string;
  readonly name: string;
}

export interface Role extends KubeObject {
  readonly rules: readonly PolicyRule[];
}
export const ROLE = defineResource<Role>({
  apiVersion: RBAC_VERSION,
  kind: "Role",
  plural: "roles",
  namespaced: true,
});
export const CLUSTER_ROLE = defineResource<Role>({
  apiVersion: RBAC_VERSION,
  kind: "ClusterRole",
  plural: "clusterroles",
  namespaced: false,
});

export interface RoleBinding extends KubeObject {
  readonly roleRef: RoleRef;
  readonly subjects: readonly AccountSubject[];
}
export const ROLE_BINDING = defineResource<RoleBinding>({
  apiVersion: RBAC_VERSION,
  kind: "RoleBinding",
  plural: "rolebindings",
  namespaced: true,
});
export const CLUSTER_ROLE_BINDING = defineResource<RoleBinding>({
  apiVersion: RBAC_VERSION,
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  namespaced: false,
});

export interface ResourceQuota extends KubeObject {
  readonly spec: { readonly hard: Readonly<Record<string, string>> };
}
export const RESOURCE_QUOTA = defineResource<ResourceQuota>({
  apiVersion: "v1",
  kind: "ResourceQuota",
  plural: "resourcequotas",
  namespaced: true,
});

/** Sent to the subresource `token` of a ServiceAccount; never stored. */
export interface TokenRequest extends KubeObject {
  readonly spec: { readonly expirationSeconds: number };
  readonly status?: { readonly token?: string; readonly expirationTimestamp?: string };
}
