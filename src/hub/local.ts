// Member side: what a cluster needs so that its agent can run there, out: a namespace, an identity, and what that may do.
// Pure. The credentials for the hub are in credential.ts; examples/rbac.yaml has the same roles, for people to read.

import { NAMESPACE, SERVICE_ACCOUNT } from "../api/builtin.ts";
import { MANAGED_LABEL, SYSTEM_NAMESPACE } from "../api/names.ts";
import { apiVersionOf, type KubeObject, type Resource } from "../api/object.ts";
import {
  CLUSTER_ROLE,
  CLUSTER_ROLE_BINDING,
  type PolicyRule,
  ROLE,
  ROLE_BINDING,
  type Role,
  type RoleBinding,
  roleRef,
} from "../api/rbac.ts";
import { HUB_SECRET } from "./credential.ts";

/** The agent's ServiceAccount and its roles. */
export const AGENT_NAME = "isthmus-agent";
/** By which one of the agent's replicas is elected. */
export const AGENT_LEASE = { namespace: SYSTEM_NAMESPACE, name: AGENT_NAME } as const;

const MARKS = { [MANAGED_LABEL]: "true" } as const;

/** Every verb of it is used, nothing else is. */
const AGENT_RULES: readonly PolicyRule[] = [
  { apiGroups: [""], resources: ["namespaces"], verbs: ["list", "watch"] },
  {
    apiGroups: [""],
    resources: ["services"],
    verbs: ["list", "watch", "create", "patch", "update", "delete"],
  },
  {
    apiGroups: ["discovery.k8s.io"],
    resources: ["endpointslices"],
    verbs: ["list", "watch", "create", "patch", "update", "delete"],
  },
  {
    apiGroups: ["multicluster.x-k8s.io"],
    resources: ["serviceexports"],
    verbs: ["list", "watch"],
  },
  {
    apiGroups: ["multicluster.x-k8s.io"],
    resources: ["serviceexports/status"],
    verbs: ["patch"],
  },
  {
    apiGroups: ["multicluster.x-k8s.io"],
    resources: ["serviceimports"],
    verbs: ["list", "watch", "create", "patch", "update", "delete"],
  },
  {
    apiGroups: ["multicluster.x-k8s.io"],
    resources: ["serviceimports/status"],
    verbs: ["patch", "update"],
  },
  { apiGroups: [""], resources: ["events"], verbs: ["create"] },
  {
    apiGroups: ["about.k8s.io"],
    resources: ["clusterproperties"],
    verbs: ["list"],
  },
];

const SYSTEM_RULES: readonly PolicyRule[] = [
  {
    apiGroups: [""],
    resources: ["secrets"],
    resourceNames: [HUB_SECRET.name],
    verbs: ["get", "update"],
  },
  // RBAC cannot limit a create to certain names.
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create"] },
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    resourceNames: [AGENT_LEASE.name],
    verbs: ["get", "update"],
  },
];

/** In the order in which they can be applied. */
export function renderAgentAccess(): readonly {
  readonly resource: Resource;
  readonly object: KubeObject;
}[] {
  const subject = {
    kind: "ServiceAccount",
    namespace: SYSTEM_NAMESPACE,
    name: AGENT_NAME,
  } as const;
  const within = { namespace: SYSTEM_NAMESPACE };
  const clusterRole: Role = { ...head(CLUSTER_ROLE, AGENT_NAME), rules: AGENT_RULES };
  const clusterBinding: RoleBinding = {
    ...head(CLUSTER_ROLE_BINDING, AGENT_NAME),
    roleRef: roleRef("ClusterRole", AGENT_NAME),
    subjects: [subject],
  };
  const role: Role = { ...head(ROLE, AGENT_NAME, within), rules: SYSTEM_RULES };
  const binding: RoleBinding = {
    ...head(ROLE_BINDING, AGENT_NAME, within),
    roleRef: roleRef("Role", AGENT_NAME),
    subjects: [subject],
  };
  return [
    { resource: NAMESPACE, object: head(NAMESPACE, SYSTEM_NAMESPACE) },
    { resource: SERVICE_ACCOUNT, object: head(SERVICE_ACCOUNT, AGENT_NAME, within) },
    { resource: CLUSTER_ROLE, object: clusterRole },
    { resource: CLUSTER_ROLE_BINDING, object: clusterBinding },
    { resource: ROLE, object: role },
    { resource: ROLE_BINDING, object: binding },
  ];
}

function head(resource: Resource, name: string, where: { readonly namespace?: string } = {}) {
  const { kind } = resource;
  return { apiVersion: apiVersionOf(resource), kind, metadata: { ...where, name, labels: MARKS } };
}
