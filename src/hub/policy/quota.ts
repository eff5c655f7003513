// Policy: a cluster that joined with a token shares nothing before its namespace has the quota. Otherwise whoever joins
// could leave it out. Pure.

import { ENDPOINT_SHARE, SERVICE_SHARE } from "../../api/hubshare.ts";
import { ISTHMUS_GROUP, JOIN_TOKEN_LABEL } from "../../api/names.ts";
import { apiVersionOf, type KubeObject } from "../../api/object.ts";
import { RESOURCE_QUOTA } from "../../api/rbac.ts";
import { MEMBER_BINDING, QUOTA_POLICY } from "../manifest/names.ts";
import { matchRule, renderPolicy, renderPolicyBinding } from "./policy.ts";

export function renderQuotaPolicies(): readonly KubeObject[] {
  return [
    renderPolicy(QUOTA_POLICY, {
      paramKind: { apiVersion: apiVersionOf(RESOURCE_QUOTA), kind: RESOURCE_QUOTA.kind },
      matchConstraints: {
        namespaceSelector: { matchExpressions: [{ key: JOIN_TOKEN_LABEL, operator: "Exists" }] },
        resourceRules: [
          matchRule(ISTHMUS_GROUP, [SERVICE_SHARE.plural, ENDPOINT_SHARE.plural], ["CREATE"]),
        ],
      },
      validations: [
        {
          // That there is one is what counts. policy/join.ts holds a token to its content; administrators may change it.
          expression: "params != null",
          message: "A cluster that joined with a token shares nothing without its ResourceQuota.",
          reason: "Forbidden",
        },
      ],
    }),
    renderPolicyBinding(QUOTA_POLICY, {
      name: MEMBER_BINDING,
      parameterNotFoundAction: "Deny",
    }),
  ];
}
