// Check: the CustomResourceDefinitions that a cluster has in, whether they are all there and recent enough out.

import type { CustomResourceDefinition } from "../../api/builtin.ts";
import { HUB_CRDS, MEMBER_CRDS } from "../../api/crds.ts";
import { list } from "../clusterset/explanation.ts";
import { type CrdPlan, planCrdInstall } from "../crd.ts";
import type { CrdFacts, Unread } from "./inspection.ts";
import { cannotTell, type CheckResult, fail, pass, warn } from "./result.ts";

const INSTALL =
  'Run "isthmus join" or start "isthmus central", which install them, or run "isthmus crds install" alone.';

export function checkCrds(cluster: string, facts: CrdFacts): readonly CheckResult[] {
  const { found } = facts;
  if (!found.isRead) return checkServed(cluster, facts, found);
  const isHub = holdsHub(facts);
  const isOnlyHub = isHubOnly(facts);
  const wanted = [...(isOnlyHub ? [] : MEMBER_CRDS), ...(isHub ? HUB_CRDS : [])];
  const there = wanted.flatMap((crd) => {
    const existing = found.value.get(nameOf(crd));
    return existing === undefined ? [] : [{ crd, existing }];
  });
  const missing = wanted.filter((crd) => !found.value.has(nameOf(crd)));
  const unserved = there.filter(({ existing }) => !isEstablished(existing));
  const unspoken = there.filter(
    (pair) => !unserved.includes(pair) && !servesSpoken(pair.existing, pair.crd),
  );
  const lacks = missing.length > 0 || unspoken.length > 0;
  return [
    lacks || unserved.length > 0
      ? fail("crds/installed", {
          cluster,
          found: describeMissing({
            missing,
            unserved: unserved.map(({ crd }) => crd),
            unspoken: unspoken.map(({ crd }) => crd),
          }),
          next: lacks
            ? `${INSTALL}${isHub ? ' Those of a hub come with "isthmus hub init".' : ""}`
            : 'Wait a moment; if it stays, "kubectl describe crd" says in its conditions what the API server has against it.',
        })
      : pass("crds/installed", {
          cluster,
          found: `${list(kindsOf(wanted))} are installed${isOnlyHub ? ": it is a hub, and no member" : ""}.`,
        }),
    ...(there.length === 0 ? [] : [checkCurrent(cluster, there)]),
  ];
}

export function holdsHub({ found }: CrdFacts): boolean {
  return found.isRead && HUB_CRDS.some((crd) => found.value.has(nameOf(crd)));
}

/** Others meet here; nothing is exported from it or imported into it, so nothing of a member is asked for. */
export function isHubOnly(facts: CrdFacts): boolean {
  const { found } = facts;
  return (
    holdsHub(facts) && found.isRead && !MEMBER_CRDS.some((crd) => found.value.has(nameOf(crd)))
  );
}

function checkCurrent(
  cluster: string,
  there: readonly {
    readonly crd: CustomResourceDefinition;
    readonly existing: CustomResourceDefinition;
  }[],
): CheckResult {
  const plans = there.map(({ crd, existing }) => ({ crd, plan: planCrdInstall(existing, crd) }));
  const of = (action: CrdPlan["action"]): readonly string[] =>
    kindsOf(plans.filter(({ plan }) => plan.action === action).map(({ crd }) => crd));
  const lacking = plans.filter(({ plan }) => plan.action === "keep" && plan.missing.length > 0);
  if (lacking.length > 0) {
    return fail("crds/current", {
      cluster,
      found: `${list(kindsOf(lacking.map(({ crd }) => crd)))} ${are(lacking.length)} newer than this isthmus and no longer ${lacking.length === 1 ? "has" : "have"} the version that it speaks.`,
      next: "Use a newer isthmus here; the definitions are never put back to an older release.",
    });
  }
  const leaving = of("wait");
  if (leaving.length > 0) {
    return fail("crds/current", {
      cluster,
      found: `${list(leaving)} ${are(leaving.length)} being deleted, with all objects of that kind.`,
      next: "Find out who deletes them. When they are gone, install them anew; exports have to be made again.",
    });
  }
  const old = of("update");
  if (old.length > 0) {
    return warn("crds/current", {
      cluster,
      found: `${list(old)} ${are(old.length)} older than what this isthmus (or its agent) brings along.`,
      next: 'Run "isthmus crds install": it only adds, and never goes back to an older release.',
    });
  }
  const newer = of("keep");
  return pass("crds/current", {
    cluster,
    found:
      newer.length > 0
        ? `${list(newer)} ${are(newer.length)} newer than this isthmus, and ${newer.length === 1 ? "has" : "have"} all that it needs.`
        : "They are as this release of isthmus needs them.",
  });
}

/** Who may not read the definitions can still see whether their kinds are answered for. */
function checkServed(
  cluster: string,
  { served, unknown }: CrdFacts,
  found: Unread,
): readonly CheckResult[] {
  const hidden = cannotTell("crds/current", found, { cluster });
  if (unknown.length > 0) {
    const sentence = `The API server does not know ${list(unknown.map((kind) => `${kind}s`))}.`;
    return [fail("crds/installed", { cluster, found: sentence, next: INSTALL })];
  }
  const isKnown = served.length === MEMBER_CRDS.length;
  return isKnown
    ? [pass("crds/installed", { cluster, found: `The API server knows ${list(served)}.` }), hidden]
    : [cannotTell("crds/installed", found, { cluster })];
}

function describeMissing({
  missing,
  unserved,
  unspoken,
}: Readonly<
  Record<"missing" | "unserved" | "unspoken", readonly CustomResourceDefinition[]>
>): string {
  const say = (crds: readonly CustomResourceDefinition[], what: string): readonly string[] =>
    crds.length === 0 ? [] : [`${list(kindsOf(crds))} ${are(crds.length)} ${what}`];
  const versions = [...new Set(unspoken.map(spokenVersion))];
  return `${[
    ...say(missing, "missing"),
    ...say(unserved, "there, but not served"),
    ...say(unspoken, `there, but not served as ${list(versions)}, which isthmus speaks`),
  ].join("; ")}.`;
}

function are(count: number): string {
  return count === 1 ? "is" : "are";
}

/** A definition without conditions is too young to tell; the API server adds them at once. */
function isEstablished({ status }: CustomResourceDefinition): boolean {
  const established = status?.conditions?.find(({ type }) => type === "Established");
  return established === undefined || established.status === "True";
}

/** Newer ones that lost it are told as such. */
function servesSpoken(existing: CustomResourceDefinition, crd: CustomResourceDefinition): boolean {
  const version = spokenVersion(crd);
  const isServed = existing.spec.versions.some(({ name, served }) => served && name === version);
  return isServed || planCrdInstall(existing, crd).action === "keep";
}

/** We read and write the version that we store. */
function spokenVersion({ spec }: CustomResourceDefinition): string {
  return spec.versions.find(({ storage }) => storage)?.name ?? "";
}

export function nameOf({ metadata }: CustomResourceDefinition): string {
  return metadata.name ?? "";
}

function kindsOf(crds: readonly CustomResourceDefinition[]): readonly string[] {
  return crds.map(({ spec }) => spec.names.kind);
}
