// Manifest: a join token's name and limits in, its record, its identity and what confines it out, in the order of creation;
// and the way back. Pure. The secret itself is asked for afterwards (tokenrequest.ts).

import { VALIDATING_ADMISSION_POLICY_BINDING } from "../../api/admissionpolicy.ts";
import { LEASE, NAMESPACE, SERVICE_ACCOUNT } from "../../api/builtin.ts";
import { JOIN_TOKEN } from "../../api/jointoken.ts";
import {
  type ClusterId,
  HUB_NAMESPACE,
  ISTHMUS_GROUP,
  JOIN_TOKEN_LABEL,
  memberNamespace,
} from "../../api/names.ts";
import type { KubeObject } from "../../api/object.ts";
import {
  type AccountSubject,
  CLUSTER_ROLE_BINDING,
  ROLE,
  ROLE_BINDING,
  type Role,
  roleRef,
} from "../../api/rbac.ts";
import { renderMember } from "./member.ts";
import { JOIN_ROLE, joinAccount, joinBinding, USES_POLICY } from "./names.ts";
import { anObject, type Removal } from "./resource.ts";

export interface JoinTokenOptions {
  /** One DNS label of at most 50 characters. */
  readonly name: string;
  readonly uses: number;
  /** As in "2026-01-02T03:04:05Z". */
  readonly expiresAt: string;
}

/** The account comes last: there is nobody to confine before. */
export function renderJoinToken(options: JoinTokenOptions): readonly KubeObject[] {
  const { name, uses, expiresAt } = options;
  const labels = { [JOIN_TOKEN_LABEL]: name };
  const account = { namespace: HUB_NAMESPACE, name: joinAccount(name), labels };
  const subjects: readonly AccountSubject[] = [
    { kind: "ServiceAccount", namespace: account.namespace, name: account.name },
  ];
  const binding = { name: joinBinding(name), labels };
  return [
    anObject(JOIN_TOKEN, { namespace: HUB_NAMESPACE, name, labels }, { spec: { uses, expiresAt } }),
    // Named one by one: a token whose record is gone is refused. A selector would let it through, having nothing to check.
    anObject(VALIDATING_ADMISSION_POLICY_BINDING, binding, {
      spec: {
        policyName: USES_POLICY,
        validationActions: ["Deny"],
        paramRef: { name, namespace: HUB_NAMESPACE, parameterNotFoundAction: "Deny" },
        matchResources: { objectSelector: { matchLabels: labels } },
      },
    }),
    anObject(ROLE, account, { rules: renderRules(name) }),
    anObject(ROLE_BINDING, account, { roleRef: roleRef("Role", account.name), subjects }),
    anObject(CLUSTER_ROLE_BINDING, binding, {
      roleRef: roleRef("ClusterRole", JOIN_ROLE),
      subjects,
    }),
    anObject(SERVICE_ACCOUNT, account, {}),
  ];
}

/**
 * What the new token must be refused, tried with `dryRun`, before it is handed out: a policy binds a moment after it was
 * created, and until then a token could do all that its role says.
 */
export function renderJoinProbes(name: string): readonly KubeObject[] {
  const uncounted = renderMember({
    cluster: PROBE,
    joinToken: name,
    claim: "0".repeat(64),
    spec: {},
  });
  const stray = anObject(NAMESPACE, { name: memberNamespace(PROBE) }, {});
  return [stray, ...uncounted.slice(0, 1)];
}

const PROBE = "isthmus-probe" as ClusterId;

/** In the hub's namespace. */
function renderRules(name: string): Role["rules"] {
  return [
    // Which clusters it was used for …
    {
      apiGroups: [ISTHMUS_GROUP],
      resources: [JOIN_TOKEN.plural],
      resourceNames: [name],
      verbs: ["get"],
    },
    // … and one more.
    {
      apiGroups: [ISTHMUS_GROUP],
      resources: [`${JOIN_TOKEN.plural}/status`],
      resourceNames: [name],
      verbs: ["update"],
    },
    // A member's Lease, and its permission to it.
    {
      apiGroups: ["rbac.authorization.k8s.io"],
      resources: [ROLE.plural, ROLE_BINDING.plural],
      verbs: ["create"],
    },
    // All verbs but the first are there because nobody can hand on what he does not have; policy/join.ts refuses their use.
    {
      apiGroups: [LEASE.group],
      resources: [LEASE.plural],
      verbs: ["create", "get", "list", "watch", "update", "patch", "delete"],
    },
  ];
}

/** The account first, which ends the credential. */
export function renderJoinTokenRemoval(name: string): readonly Removal[] {
  const account = { namespace: HUB_NAMESPACE, name: joinAccount(name) };
  const binding = { name: joinBinding(name) };
  return [
    { resource: SERVICE_ACCOUNT, ref: account },
    { resource: CLUSTER_ROLE_BINDING, ref: binding },
    { resource: ROLE_BINDING, ref: account },
    { resource: ROLE, ref: account },
    { resource: JOIN_TOKEN, ref: { namespace: HUB_NAMESPACE, name } },
    { resource: VALIDATING_ADMISSION_POLICY_BINDING, ref: binding },
  ];
}
