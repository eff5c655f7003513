// Observe: an API server in, what somebody may not do there out, as the API server itself judges it. Reviews are sent, nothing is
// stored.

import { defineResource, type KubeObject, type ObjectRef } from "../api/object.ts";
import { CLUSTER_ROLE, type PolicyRule, ROLE, type Role } from "../api/rbac.ts";
import { MCS_GROUP, SYSTEM_NAMESPACE } from "../api/names.ts";
import { HUB_SECRET } from "../hub/credential.ts";
import { AGENT_NAME, renderAgentAccess } from "../hub/local.ts";
import type { Store } from "../ports/store.ts";

interface Review extends KubeObject {
  readonly spec: {
    readonly resourceAttributes: Attributes;
    readonly user?: string;
    readonly groups?: readonly string[];
  };
  readonly status?: { readonly allowed?: boolean };
}

interface Attributes {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly name?: string;
  readonly namespace?: string;
}

const AUTHORIZATION = "authorization.k8s.io/v1";
const SELF_REVIEW = defineResource<Review>({
  apiVersion: AUTHORIZATION,
  kind: "SelfSubjectAccessReview",
  plural: "selfsubjectaccessreviews",
  namespaced: false,
});
const REVIEW = defineResource<Review>({
  apiVersion: AUTHORIZATION,
  kind: "SubjectAccessReview",
  plural: "subjectaccessreviews",
  namespaced: false,
});

/** How many questions are on their way at once. */
const AT_ONCE = 8;

/** What the reading commands ask for. */
const READER_ATTRIBUTES: readonly Attributes[] = [
  { verb: "list", group: MCS_GROUP, resource: "serviceexports" },
  { verb: "list", group: MCS_GROUP, resource: "serviceimports" },
  { verb: "list", group: "", resource: "services" },
  { verb: "list", group: "discovery.k8s.io", resource: "endpointslices" },
  { verb: "list", group: "", resource: "namespaces" },
  {
    verb: "get",
    group: "",
    resource: "secrets",
    name: HUB_SECRET.name,
    namespace: HUB_SECRET.namespace,
  },
];

/** The same as the agent's in its own cluster. */
function centralAttributes(): readonly Attributes[] {
  return rulesOf(CLUSTER_ROLE.kind).flatMap((rule) => expandRule(rule));
}

function agentAttributes(): readonly Attributes[] {
  const within = { namespace: SYSTEM_NAMESPACE };
  return [
    ...centralAttributes(),
    ...rulesOf(ROLE.kind).flatMap((rule) => expandRule(rule, within)),
  ];
}

function rulesOf(kind: string): readonly PolicyRule[] {
  return renderAgentAccess().flatMap(({ object }) =>
    object.kind === kind ? (object as Role).rules : [],
  );
}

function expandRule(rule: PolicyRule, within: { readonly namespace?: string } = {}): Attributes[] {
  return rule.apiGroups.flatMap((group) =>
    rule.resources.flatMap((path) => {
      const [resource = "", subresource] = path.split("/");
      const [name] = rule.resourceNames ?? [];
      return rule.verbs.map((verb) => ({
        verb,
        group,
        resource,
        ...(subresource === undefined ? {} : { subresource }),
        ...(name === undefined ? {} : { name }),
        ...within,
      }));
    }),
  );
}

export function findReaderDenials(store: Store, signal: AbortSignal): Promise<readonly string[]> {
  return findDenials(store, READER_ATTRIBUTES, { signal });
}

export function findCentralDenials(store: Store, signal: AbortSignal): Promise<readonly string[]> {
  return findDenials(store, centralAttributes(), { signal });
}

export function findAgentDenials(store: Store, signal: AbortSignal): Promise<readonly string[]> {
  const account = { namespace: SYSTEM_NAMESPACE, name: AGENT_NAME };
  return findDenials(store, agentAttributes(), { account, signal });
}

/** R71: what CoreDNS needs beyond what it has anyway. */
export function findCoreDnsDenials(
  store: Store,
  account: Required<ObjectRef>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const imports = { group: MCS_GROUP, resource: "serviceimports" };
  const wanted = ["list", "watch"].map((verb) => ({ verb, ...imports }));
  return findDenials(store, wanted, { account, signal });
}

/** Without an account: of whoever asks. */
async function findDenials(
  store: Store,
  wanted: readonly Attributes[],
  asking: { readonly account?: Required<ObjectRef>; readonly signal: AbortSignal },
): Promise<readonly string[]> {
  const { account, signal } = asking;
  const ask = async (resourceAttributes: Attributes): Promise<boolean> => {
    const resource = account === undefined ? SELF_REVIEW : REVIEW;
    const review: Review = {
      apiVersion: AUTHORIZATION,
      kind: resource.kind,
      metadata: {},
      spec: { resourceAttributes, ...(account === undefined ? {} : subjectOf(account)) },
    };
    return (await store.create(resource, review, { signal })).status?.allowed === true;
  };
  // An administrator may do everything: one question instead of thirty.
  if (await ask({ verb: "*", group: "*", resource: "*" })) return [];
  const denied: string[] = [];
  for (let at = 0; at < wanted.length; at += AT_ONCE) {
    const some = wanted.slice(at, at + AT_ONCE);
    const answers = await Promise.all(some.map(ask));
    denied.push(...some.filter((_, index) => answers[index] === false).map(spell));
  }
  return denied;
}

function subjectOf({
  namespace,
  name,
}: Required<ObjectRef>): Pick<Review["spec"], "user" | "groups"> {
  return {
    user: `system:serviceaccount:${namespace}:${name}`,
    groups: [
      "system:serviceaccounts",
      `system:serviceaccounts:${namespace}`,
      "system:authenticated",
    ],
  };
}

/** "patch serviceexports/status", "get secrets isthmus-hub in isthmus-system". */
function spell({ verb, resource, subresource, name, namespace }: Attributes): string {
  const what = subresource === undefined ? resource : `${resource}/${subresource}`;
  const which = name === undefined ? "" : ` ${name}`;
  return `${verb} ${what}${which}${namespace === undefined ? "" : ` in ${namespace}`}`;
}
