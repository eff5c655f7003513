// Policy: holds a join token to the clusters that it was counted for. Each token has a binding of its own, made with it
// (manifest/jointoken.ts), whose parameter is the token's record: no record, no join. Pure.

import { JOIN_TOKEN } from "../../api/jointoken.ts";
import { CLUSTER_LABEL, ISTHMUS_GROUP, JOIN_TOKEN_LABEL } from "../../api/names.ts";
import { apiVersionOf, type KubeObject } from "../../api/object.ts";
import { JOIN_USER_PREFIX, USES_POLICY } from "../manifest/names.ts";
import { matchRule, renderPolicy } from "./policy.ts";

export function renderUsesPolicies(): readonly KubeObject[] {
  return [
    renderPolicy(USES_POLICY, {
      paramKind: { apiVersion: apiVersionOf(JOIN_TOKEN), kind: JOIN_TOKEN.kind },
      matchConstraints: {
        // Parameters are looked up before conditions: without this, a hub whose JoinTokens cannot be read would refuse
        // every namespace of everybody. policy/join.ts makes sure that a token's objects carry the label.
        objectSelector: { matchExpressions: [{ key: JOIN_TOKEN_LABEL, operator: "Exists" }] },
        resourceRules: [
          matchRule("", ["namespaces", "serviceaccounts", "resourcequotas"], ["CREATE"]),
          matchRule(ISTHMUS_GROUP, ["clustermembers"], ["CREATE"]),
          matchRule("coordination.k8s.io", ["leases"], ["CREATE"]),
          matchRule(
            "rbac.authorization.k8s.io",
            ["roles", "rolebindings", "clusterrolebindings"],
            ["CREATE"],
          ),
        ],
      },
      matchConditions: [
        {
          name: "join-token",
          expression: `request.userInfo.username == '${JOIN_USER_PREFIX}' + params.metadata.name`,
        },
      ],
      validations: [
        {
          // CEL has no clock; the server has just written the time into the object.
          expression:
            "timestamp(object.metadata.creationTimestamp) < timestamp(params.spec.expiresAt)",
          message: "The join token has expired. Ask an administrator of the hub for a new one.",
          reason: "Invalid",
        },
        {
          expression: `object.metadata.labels[?'${CLUSTER_LABEL}'].orValue('') in params.?status.?clusters.orValue([])`,
          message:
            "The join token was not counted for this cluster, or the hub does not know of it yet.",
          // Told from what would be refused again: this may pass a moment later, when the record has spread.
          reason: "Forbidden",
        },
      ],
    }),
  ];
}
