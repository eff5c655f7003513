// Manifest: nothing in, what `isthmus hub init` puts on a hub beside the CRDs out: a namespace, the roles that members and
// join tokens are bound to, the policies that bind what they write. Pure; the order is the order of creation.

import { NAMESPACE } from "../../api/builtin.ts";
import { ENDPOINT_SHARE, SERVICE_SHARE } from "../../api/hubshare.ts";
import { CLUSTER_MEMBER } from "../../api/isthmus.ts";
import { HUB_NAMESPACE, ISTHMUS_GROUP } from "../../api/names.ts";
import type { KubeObject } from "../../api/object.ts";
import { CLUSTER_ROLE, type Role } from "../../api/rbac.ts";
import { renderJoinPolicies } from "../policy/join.ts";
import { renderMemberPolicies } from "../policy/member.ts";
import { renderQuotaPolicies } from "../policy/quota.ts";
import { renderUsesPolicies } from "../policy/uses.ts";
import { JOIN_ROLE, MEMBER_ACCOUNT, MEMBER_ROLE, READER_ROLE } from "./names.ts";
import { anObject } from "./resource.ts";

/** Policies come before roles: nobody is bound to a role on a hub that does not yet hold them to their own. */
export function renderHub(): readonly KubeObject[] {
  return [
    anObject(NAMESPACE, { name: HUB_NAMESPACE }, {}),
    ...renderMemberPolicies(),
    ...renderJoinPolicies(),
    ...renderUsesPolicies(),
    ...renderQuotaPolicies(),
    renderReaderRole(),
    renderMemberRole(),
    renderJoinRole(),
  ];
}

/** Bound cluster-wide: what every member may know of the others. */
function renderReaderRole(): Role {
  return anObject(
    CLUSTER_ROLE,
    { name: READER_ROLE },
    {
      rules: [
        {
          // The informers of an agent; `get` for people who look with a member's credential.
          apiGroups: [ISTHMUS_GROUP],
          resources: [CLUSTER_MEMBER.plural, SERVICE_SHARE.plural, ENDPOINT_SHARE.plural],
          verbs: ["get", "list", "watch"],
        },
      ],
    },
  );
}

/** Bound in the member's own namespace only. */
function renderMemberRole(): Role {
  return anObject(
    CLUSTER_ROLE,
    { name: MEMBER_ROLE },
    {
      rules: [
        {
          // Publish and withdraw.
          apiGroups: [ISTHMUS_GROUP],
          resources: [SERVICE_SHARE.plural, ENDPOINT_SHARE.plural],
          verbs: ["create", "update", "delete"],
        },
        {
          // Report its version and that it is complete. Its spec is the administrator's.
          apiGroups: [ISTHMUS_GROUP],
          resources: [`${CLUSTER_MEMBER.plural}/status`],
          verbs: ["update", "patch"],
        },
        {
          // Leave: the member first, so that importers let go of its shares; the namespace last, with whatever is left in it.
          apiGroups: [ISTHMUS_GROUP],
          resources: [CLUSTER_MEMBER.plural],
          verbs: ["delete"],
        },
        { apiGroups: [""], resources: ["namespaces"], verbs: ["delete"] },
        {
          // Renew its own credential.
          apiGroups: [""],
          resources: ["serviceaccounts/token"],
          resourceNames: [MEMBER_ACCOUNT],
          verbs: ["create"],
        },
      ],
    },
  );
}

/**
 * Bound cluster-wide to every join token, because the namespaces do not exist yet. RBAC cannot say which names may be
 * created: policy/join.ts does. Nothing can be read, changed or deleted with it.
 */
function renderJoinRole(): Role {
  return anObject(
    CLUSTER_ROLE,
    { name: JOIN_ROLE },
    {
      rules: [
        {
          apiGroups: [""],
          resources: ["namespaces", "serviceaccounts", "resourcequotas"],
          verbs: ["create"],
        },
        {
          // The credential of the new member. Never of any other account: some of them administrate the cluster.
          apiGroups: [""],
          resources: ["serviceaccounts/token"],
          resourceNames: [MEMBER_ACCOUNT],
          verbs: ["create"],
        },
        { apiGroups: [ISTHMUS_GROUP], resources: [CLUSTER_MEMBER.plural], verbs: ["create"] },
        {
          apiGroups: ["rbac.authorization.k8s.io"],
          resources: ["rolebindings", "clusterrolebindings"],
          verbs: ["create"],
        },
        {
          // Without it the API server refuses to hand out permissions that the token itself does not have.
          apiGroups: ["rbac.authorization.k8s.io"],
          resources: ["clusterroles"],
          resourceNames: [MEMBER_ROLE, READER_ROLE],
          verbs: ["bind"],
        },
      ],
    },
  );
}
