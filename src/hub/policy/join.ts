// Policy: a join token creates exactly the objects of manifest/member.ts for a cluster, counts its uses, and asks for the
// credential of what it registered itself. The expected objects are rendered, not repeated: two places stand for what is
// only known when the request comes. Which clusters it may do that for is policy/uses.ts. Pure.

import { JOIN_TOKEN } from "../../api/jointoken.ts";
import {
  CLAIM_ANNOTATION,
  CLAIM_PROOF_ANNOTATION,
  CLUSTER_LABEL,
  type ClusterId,
  HUB_NAMESPACE,
  ISTHMUS_GROUP,
  JOIN_TOKEN_LABEL,
  memberNamespace,
} from "../../api/names.ts";
import type { KubeObject } from "../../api/object.ts";
import { renderMember } from "../manifest/member.ts";
import {
  CLAIM_PATTERN,
  CLAIM_PROOF_LENGTH,
  JOIN_POLICY,
  JOIN_USER_PREFIX,
  MEMBER_ACCOUNT,
  MEMBER_TOKEN_SECONDS,
} from "../manifest/names.ts";
import { resourceOf } from "../manifest/resource.ts";
import { type Places, renderCel } from "./cel.ts";
import { demand, matchRule, renderPolicy, renderPolicyBinding, WHAT_VARIABLE } from "./policy.ts";

const TOKEN = "serviceaccounts/token";
const RECORD = `${JOIN_TOKEN.plural}/status`;

const CLUSTER = "<cluster>" as ClusterId;
const PLACES: Places = { [CLUSTER]: "variables.cluster", "<token>": "variables.token" };
const EXPECTED = renderMember({
  cluster: CLUSTER,
  joinToken: "<token>",
  claim: "0".repeat(64),
  spec: {},
});
const KINDS = [...new Set(EXPECTED.map((object) => resourceOf(object).plural))];

const OPERATIONS = ["CREATE", "UPDATE", "DELETE"] as const;

export function renderJoinPolicies(): readonly KubeObject[] {
  return [
    renderPolicy(JOIN_POLICY, {
      matchConstraints: {
        resourceRules: [
          matchRule("", ["namespaces", "serviceaccounts", TOKEN, "resourcequotas"], OPERATIONS),
          matchRule(ISTHMUS_GROUP, ["clustermembers", JOIN_TOKEN.plural, RECORD], OPERATIONS),
          matchRule("coordination.k8s.io", ["leases"], OPERATIONS),
          matchRule(
            "rbac.authorization.k8s.io",
            ["roles", "rolebindings", "clusterrolebindings"],
            OPERATIONS,
          ),
        ],
      },
      matchConditions: [
        {
          name: "join-token",
          expression: `request.userInfo.username.startsWith('${JOIN_USER_PREFIX}')`,
        },
      ],
      variables: [
        WHAT_VARIABLE,
        {
          name: "token",
          expression: `request.userInfo.username.substring(${JOIN_USER_PREFIX.length})`,
        },
        {
          name: "cluster",
          expression: `object == null ? '' : object.metadata.?labels[?'${CLUSTER_LABEL}'].orValue('')`,
        },
      ],
      validations: [
        {
          expression: `variables.what == '${RECORD}' || request.operation == 'CREATE'`,
          message: "A join token creates what a new member needs; it changes and deletes nothing.",
          reason: "Forbidden",
        },
        recordValidation(),
        credentialValidation(),
        ...KINDS.map(shapeValidation),
        ...metadataValidations(),
      ],
    }),
    renderPolicyBinding(JOIN_POLICY),
  ];
}

/** Its uses: ids are added, never taken back, and no more than were allowed. */
function recordValidation() {
  const before = "oldObject.?status.?clusters.orValue([])";
  const after = "object.?status.?clusters.orValue([])";
  return demand([RECORD], {
    expression:
      `request.operation == 'UPDATE' && request.name == variables.token && ${before}.all(id, id in ${after}) && ` +
      `size(${after}) <= oldObject.spec.uses`,
    message:
      "A join token counts the clusters that use it: ids are only added, and no more than spec.uses.",
  });
}

/** The credential of a member goes to who registered it, even among those who share one token. */
function credentialValidation() {
  const claim = (holder: string) =>
    `${holder}.metadata.?annotations[?'${CLAIM_ANNOTATION}'].orValue('')`;
  return demand([TOKEN], {
    expression:
      `request.name == '${MEMBER_ACCOUNT}' && object.spec.expirationSeconds <= ${MEMBER_TOKEN_SECONDS} && ` +
      `object.spec.?boundObjectRef.orValue(null) == null && ${isOwnNamespace()} && ` +
      `${claim("object")}.matches('${CLAIM_PATTERN}') && ${claim("object")} == ${claim("namespaceObject")}`,
    message: "A member's credential is given to who registered the member and shows its claim.",
    reason: "Forbidden",
  });
}

function isOwnNamespace(): string {
  return `namespaceObject.metadata.?labels[?'${JOIN_TOKEN_LABEL}'].orValue('') == variables.token`;
}

/** Name, place, permissions and limits are exactly those that are expected. */
function shapeValidation(kind: string) {
  const shapes = EXPECTED.filter((object) => resourceOf(object).plural === kind);
  const expressions = shapes.map((object) => {
    const { apiVersion: _, kind: __, metadata, ...content } = object;
    const conditions = [`object.metadata.name == ${renderCel(metadata.name, PLACES)}`];
    if (metadata.namespace !== undefined) {
      conditions.push(`request.namespace == ${renderCel(metadata.namespace, PLACES)}`);
      if (metadata.namespace !== HUB_NAMESPACE) conditions.push(isOwnNamespace());
    }
    // What is declared of a cluster is free: it comes from the cluster's administrator.
    if (kind !== "clustermembers") {
      for (const [field, value] of Object.entries(content)) {
        conditions.push(`object.${field} == ${renderCel(value, PLACES)}`);
      }
    }
    // Fields of which we set none.
    if (kind === "namespaces") conditions.push("object.spec.finalizers == ['kubernetes']");
    if (kind === "serviceaccounts") {
      conditions.push("!has(object.secrets)", "!has(object.imagePullSecrets)");
    }
    return conditions.join(" && ");
  });
  return demand([kind], {
    expression: expressions.map((each) => `(${each})`).join(" || "),
    message: `A join token creates ${kind} only as isthmus join does: with that name, in that place, with that content.`,
  });
}

function metadataValidations() {
  const labels = (more: Readonly<Record<string, string>> = {}) =>
    `object.metadata.?labels.orValue({}) == ${renderCel({ ...EXPECTED[0]?.metadata.labels, ...more }, PLACES)}`;
  const named = ["namespaces"];
  const others = KINDS.filter((kind) => !named.includes(kind));
  const annotations = "object.metadata.?annotations.orValue({})";
  const owners = "object.metadata.?ownerReferences.orValue([])";
  const owned = ["clusterrolebindings", "roles", "rolebindings", "leases"];
  const owner = renderCel({ kind: "Namespace", name: memberNamespace(CLUSTER) }, PLACES);
  return [
    demand(others, {
      expression: labels(),
      message: "The labels name the cluster and the join token, and nothing else.",
    }),
    demand(named, {
      expression: labels({ "kubernetes.io/metadata.name": memberNamespace(CLUSTER) }),
      message: "The labels name the cluster and the join token, and nothing else.",
    }),
    demand(KINDS, {
      expression: "!has(object.metadata.finalizers)",
      message: "What a join token creates has no finalizers.",
    }),
    demand(named, {
      expression:
        `size(${annotations}) == 1 && ` +
        `${annotations}[?'${CLAIM_ANNOTATION}'].orValue('').matches('${CLAIM_PATTERN}')`,
      message:
        "A member's namespace carries the claim of who registers it, and no other annotation.",
    }),
    demand(["clustermembers"], {
      expression:
        `size(${annotations}) == 1 && ` +
        `size(${annotations}[?'${CLAIM_PROOF_ANNOTATION}'].orValue('')) == ${CLAIM_PROOF_LENGTH} && ` +
        `namespaceObject.metadata.?annotations[?'${CLAIM_ANNOTATION}'].orValue('').startsWith(${annotations}['${CLAIM_PROOF_ANNOTATION}'])`,
      message:
        "A ClusterMember is declared by who registered its namespace and shows half its claim.",
      reason: "Forbidden",
    }),
    demand(
      KINDS.filter((kind) => kind !== "namespaces" && kind !== "clustermembers"),
      { expression: `size(${annotations}) == 0`, message: "This object has no annotations." },
    ),
    demand(
      KINDS.filter((kind) => !owned.includes(kind)),
      { expression: `size(${owners}) == 0`, message: "This object has no owner." },
    ),
    demand(owned, {
      expression:
        `size(${owners}) <= 1 && ` +
        `${owners}.all(each, {'kind': each.kind, 'name': each.name} == ${owner} && !has(each.controller) && !has(each.blockOwnerDeletion))`,
      message: "The owner is the member's namespace.",
    }),
  ];
}
