// Check: the shape of a result, and the registry of all checks: a stable code each, which is also the anchor of its section in
// docs/check.md. A test holds the two equal.

import type { Unread } from "./inspection.ts";

export const CHECKS = {
  "api/answers": "the API server answers",
  "api/hub": "the hub answers",
  "crds/installed": "the CustomResourceDefinitions are there and served",
  "crds/current": "they are of this release, or newer",
  "rbac/reader": "you may read services, and what leads to the hub",
  "rbac/central": "isthmus central could work with your identity",
  "rbac/agent": "the agent may do all that it does",
  "identity/known": "the cluster says who it is",
  "identity/unique": "nobody else goes by its id, and no cluster is named twice",
  "identity/member": "the hub knows it as a member",
  "leases/member": "its Lease on the hub is renewed",
  "leases/agent": "one of its agents leads",
  "clock/skew": "its clock agrees with the one here",
  "cidrs/overlap": "no two clusters have pods in the same ranges",
  "cidrs/declared": "its pods are in the ranges that were declared of it",
  "dns/zone": "the cluster's DNS answers clusterset.local",
  "dns/coredns": "CoreDNS is able to, and may",
  "dns/service": "the DNS Service has somebody behind it",
  "proxy/running": "kube-proxy, or what replaces it, runs on every node",
  "proxy/services": "nothing keeps it from serving virtual IPs",
  "orphans/imports": "every import is exported by somebody",
  "orphans/services": "every derived Service belongs to an import",
  "orphans/slices":
    "every imported EndpointSlice belongs to an import and to a cluster that takes part",
  "orphans/hub": "the hub holds nothing of clusters that are gone",
  "versions/kubernetes": "the API server is of a version that Isthmus works with",
  "versions/agents": "agents are at most one minor version apart",
} as const satisfies Readonly<Record<string, string>>;

export type CheckCode = keyof typeof CHECKS;

export type CheckState = "pass" | "warn" | "fail";

export interface CheckResult {
  readonly code: CheckCode;
  /** Id or name of the cluster; absent: it is about all of them, or about the hub. */
  readonly cluster?: string;
  readonly state: CheckState;
  /** A sentence: what was found. */
  readonly found: string;
  /** A sentence: what to do. */
  readonly next?: string;
  readonly doc: string;
}

interface Words {
  readonly cluster?: string | undefined;
  readonly found: string;
  readonly next?: string | undefined;
}

function conclude(code: CheckCode, state: CheckState, words: Words): CheckResult {
  const { cluster, found, next } = words;
  return {
    code,
    ...(cluster === undefined ? {} : { cluster }),
    state,
    found,
    ...(next === undefined ? {} : { next }),
    doc: `docs/check.md#${anchorOf(code)}`,
  };
}

export function pass(code: CheckCode, words: Words): CheckResult {
  return conclude(code, "pass", words);
}

export function warn(code: CheckCode, words: Words): CheckResult {
  return conclude(code, "warn", words);
}

export function fail(code: CheckCode, words: Words): CheckResult {
  return conclude(code, "fail", words);
}

/** What could not be read is not bad, but nobody may take it for good. */
export function cannotTell(
  code: CheckCode,
  answer: Unread,
  words: { readonly cluster?: string | undefined; readonly next?: string },
): CheckResult {
  return warn(code, { ...words, found: `It cannot be told: ${answer.why}` });
}

/** The heading of its section. */
function anchorOf(code: CheckCode): string {
  return code.replace("/", "-");
}

/** What comes before the slash: results are shown together that share it. */
export function groupOf(code: CheckCode): string {
  return code.slice(0, code.indexOf("/"));
}
