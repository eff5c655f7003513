// Manifest: the names of what a hub holds about members and join tokens. Constants and pure text.

import {
  type ClusterId,
  HUB_NAMESPACE,
  MEMBER_NAMESPACE_PREFIX,
  memberNamespace,
} from "../../api/names.ts";

/** ClusterRole: reads the shares of all members. */
export const READER_ROLE = "isthmus-member-reader";
/** ClusterRole: writes the shares of one. */
export const MEMBER_ROLE = "isthmus-member";
/** ClusterRole: registers new ones. */
export const JOIN_ROLE = "isthmus-join";

/** Policies and their bindings have the same name, but for the bindings of join tokens. */
export const MEMBER_POLICY = "isthmus-member";
export const JOIN_POLICY = "isthmus-join";
export const USES_POLICY = "isthmus-join-uses";
export const QUOTA_POLICY = "isthmus-member-quota";

/** ServiceAccount in each member's namespace: who the member is on the hub. */
export const MEMBER_ACCOUNT = "agent";
/** RoleBinding and ResourceQuota in each member's namespace. */
export const MEMBER_BINDING = "isthmus-member";

const JOIN_PREFIX = "join-";

/** ServiceAccount, Role and RoleBinding in the hub's namespace. */
export function joinAccount(token: string): string {
  return JOIN_PREFIX + token;
}

/** Cluster-wide binding of a join token: of its role, and of the policy that counts its uses. */
export function joinBinding(token: string): string {
  return `${JOIN_ROLE}-${token}`;
}

/** ClusterRoleBinding, and Role and RoleBinding in the hub's namespace. */
export function memberBinding(cluster: ClusterId): string {
  return memberNamespace(cluster);
}

/** As the API server names them in every request. */
export const MEMBER_USER_PREFIX = `system:serviceaccount:${MEMBER_NAMESPACE_PREFIX}`;
export const JOIN_USER_PREFIX = `system:serviceaccount:${HUB_NAMESPACE}:${JOIN_PREFIX}`;

/** A claim is 32 random bytes in hexadecimal; the first half proves, the second stays secret. */
export const CLAIM_PATTERN = "^[0-9a-f]{64}$";
export const CLAIM_PROOF_LENGTH = 32;

/** Of a member's credential. It renews it long before. */
export const MEMBER_TOKEN_SECONDS = 30 * 24 * 3_600;
