// Policy: binds what a member writes to the member. RBAC has already decided that it may write there at all; this says it
// again, independently, and bounds what the schema of a CRD cannot: metadata, keys, Leases. Pure.

import { LEASE } from "../../api/builtin.ts";
import { ENDPOINT_SHARE, SERVICE_SHARE, SHARE_LIMITS } from "../../api/hubshare.ts";
import { CLUSTER_MEMBER } from "../../api/isthmus.ts";
import { HUB_NAMESPACE, ISTHMUS_GROUP, MEMBER_NAMESPACE_PREFIX } from "../../api/names.ts";
import type { KubeObject } from "../../api/object.ts";
import {
  MEMBER_ACCOUNT,
  MEMBER_POLICY,
  MEMBER_TOKEN_SECONDS,
  MEMBER_USER_PREFIX,
} from "../manifest/names.ts";
import { demand, matchRule, renderPolicy, renderPolicyBinding, WHAT_VARIABLE } from "./policy.ts";

const MEMBERS = CLUSTER_MEMBER.plural;
const MEMBER_STATUS = `${MEMBERS}/status`;
const SERVICES = SERVICE_SHARE.plural;
const SHARES = [SERVICES, ENDPOINT_SHARE.plural];
const TOKEN = "serviceaccounts/token";

const HOLDER_MAX_LENGTH = 253;
const MESSAGE_MAX_LENGTH = 1_024;

export function renderMemberPolicies(): readonly KubeObject[] {
  return [
    renderPolicy(MEMBER_POLICY, {
      matchConstraints: {
        resourceRules: [
          matchRule(
            ISTHMUS_GROUP,
            [...SHARES, MEMBERS, MEMBER_STATUS],
            ["CREATE", "UPDATE", "DELETE"],
          ),
          matchRule(LEASE.group, [LEASE.plural], ["CREATE", "UPDATE", "DELETE"]),
          matchRule("", ["namespaces", TOKEN], ["CREATE", "UPDATE", "DELETE"]),
        ],
      },
      matchConditions: [
        {
          name: "member",
          expression: `request.userInfo.username.startsWith('${MEMBER_USER_PREFIX}')`,
        },
      ],
      variables: [
        WHAT_VARIABLE,
        // A username has no other source than the ServiceAccount's own namespace.
        { name: "home", expression: "request.userInfo.username.split(':')[2]" },
        {
          name: "cluster",
          expression: `variables.home.substring(${MEMBER_NAMESPACE_PREFIX.length})`,
        },
        {
          name: "name",
          expression:
            "object != null && has(object.metadata.name) ? object.metadata.name : request.name",
        },
      ],
      validations: [...whereValidations(), ...shareValidations(), ...otherValidations()],
    }),
    renderPolicyBinding(MEMBER_POLICY),
  ];
}

/** Which objects are its own. */
function whereValidations() {
  return [
    demand([...SHARES, MEMBERS, MEMBER_STATUS, TOKEN], {
      expression: "request.namespace == variables.home",
      message: "A member writes in its own namespace only.",
      reason: "Forbidden",
    }),
    demand([MEMBERS, MEMBER_STATUS], {
      expression: "variables.name == variables.cluster",
      message: "A member speaks for itself only.",
      reason: "Forbidden",
    }),
    demand([MEMBERS], {
      expression: "request.operation == 'DELETE'",
      message:
        "What is declared of a cluster is its administrator's: the member writes its status.",
      reason: "Forbidden",
    }),
    demand([LEASE.plural], {
      expression: `request.operation != 'CREATE' && request.namespace == '${HUB_NAMESPACE}' && variables.name == variables.cluster`,
      message: "A member renews its own Lease only.",
      reason: "Forbidden",
    }),
    demand(["namespaces"], {
      expression: "request.operation == 'DELETE' && request.name == variables.home",
      message: "A member may delete its own namespace and touch no other.",
      reason: "Forbidden",
    }),
  ];
}

function shareValidations() {
  // Labels, annotations and owners of a share mean nothing to anybody; a finalizer would keep it for ever.
  const bare = ["labels", "annotations", "finalizers", "ownerReferences"]
    .map((field) => `(!has(object.metadata.${field}) || size(object.metadata.${field}) == 0)`)
    .join(" && ");
  const keys = (field: string) =>
    `!has(object.spec.${field}) || object.spec.${field}.all(key, size(key) <= ${SHARE_LIMITS.labelKeyLength})`;
  const written = (expression: string) => `request.operation == 'DELETE' || (${expression})`;
  return [
    demand(SHARES, {
      expression: written(bare),
      message: "A share carries no labels, annotations, finalizers or owners of its own.",
    }),
    demand([SERVICES], {
      expression: written(`(${keys("labels")}) && (${keys("annotations")})`),
      message: `An exported label or annotation has a key of at most ${SHARE_LIMITS.labelKeyLength} characters.`,
    }),
  ];
}

function otherValidations() {
  const unchanged = ["labels", "annotations", "finalizers", "ownerReferences"]
    .map((field) => `object.metadata.?${field} == oldObject.metadata.?${field}`)
    .join(" && ");
  const short = ["holderIdentity", "preferredHolder", "strategy"]
    .map((field) => `size(object.?spec.?${field}.orValue('')) <= ${HOLDER_MAX_LENGTH}`)
    .join(" && ");
  return [
    demand([MEMBER_STATUS], {
      expression: `object.?status.?conditions.orValue([]).all(each, size(each.message) <= ${MESSAGE_MAX_LENGTH})`,
      message: `A condition's message has at most ${MESSAGE_MAX_LENGTH} characters.`,
    }),
    demand([LEASE.plural], {
      expression: `request.operation != 'UPDATE' || (${unchanged} && ${short})`,
      message: "A member's Lease says who holds it and since when, and nothing else.",
    }),
    demand([TOKEN], {
      expression: `request.name == '${MEMBER_ACCOUNT}' && object.spec.expirationSeconds <= ${MEMBER_TOKEN_SECONDS} && object.spec.?boundObjectRef.orValue(null) == null`,
      message: `A member renews its own credential, for at most ${MEMBER_TOKEN_SECONDS} seconds.`,
      reason: "Forbidden",
    }),
  ];
}
