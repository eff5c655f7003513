// Check: address ranges that clusters declare and have in, whether pods can be told apart and will be let in out.

import type { Pod } from "../../api/builtin.ts";
import type { ClusterMember } from "../../api/isthmus.ts";
import type { ClusterId } from "../../api/names.ts";
import { count, list } from "../clusterset/explanation.ts";
import type { Clusterset } from "../clusterset/record.ts";
import { findOverlaps, findStrayPods } from "../topology.ts";
import type { RangeFacts } from "./inspection.ts";
import { cannotTell, type CheckResult, fail, pass, warn } from "./result.ts";

/** What is known of one cluster: what it declares, else what its nodes and its API server show. */
interface Ranges {
  readonly id: ClusterId;
  readonly podCIDRs: readonly string[];
  readonly serviceCIDRs: readonly string[];
}

export function checkOverlaps(
  set: Clusterset,
  facts: ReadonlyMap<ClusterId, RangeFacts>,
): readonly CheckResult[] {
  const code = "cidrs/overlap";
  const all = set.records.map(({ id, member }) => readRanges(id, member, facts.get(id)));
  const unknown = all.filter(({ podCIDRs }) => podCIDRs.length === 0).map(({ id }) => id);
  const sentences = all.flatMap((one, at) =>
    all.slice(at + 1).flatMap((other) => describeOverlaps(one, other)),
  );
  if (sentences.length > 0) {
    return sentences.map((found) =>
      fail(code, {
        found,
        next: "Traffic for one would reach the other. Renumber one of them; if the declaration is wrong, leave and join with the right --pod-cidr.",
      }),
    );
  }
  if (all.length < 2) {
    return [pass(code, { found: "There is no other cluster to compare ranges with." })];
  }
  if (unknown.length > 0) {
    const reasons = unknown.map((id) => facts.get(id)?.podCIDRs);
    const hidden = reasons.find((answer) => answer?.isRead === false);
    const why =
      hidden?.isRead === false
        ? `None was declared, and nodes do not tell: ${hidden.why}`
        : "None was declared, and no node names one.";
    return [
      warn(code, {
        found: `Which ranges the pods of ${list(unknown)} are in cannot be told. ${why}`,
        next: "Compare them by hand: pods of two clusters must never have the same address.",
      }),
    ];
  }
  const apart = `The pod ranges of ${list(all.map(({ id }) => id))} are apart`;
  const unseen = all.filter(({ serviceCIDRs }) => serviceCIDRs.length === 0).map(({ id }) => id);
  if (unseen.length > 0) {
    return [
      warn(code, {
        found: `${apart}, but which ranges the Services of ${list(unseen)} have cannot be told.`,
        next: "Compare them by hand: endpoints with an address out of the service range of a cluster are not let in there.",
      }),
    ];
  }
  return [pass(code, { found: `${apart}.` })];
}

function readRanges(
  id: ClusterId,
  member: ClusterMember | undefined,
  facts: RangeFacts | undefined,
): Ranges {
  const seen = (answer: RangeFacts["podCIDRs"] | undefined): readonly string[] =>
    answer?.isRead === true ? answer.value : [];
  const declared = member?.spec.podCIDRs ?? [];
  const services = member?.spec.serviceCIDRs ?? [];
  return {
    id,
    podCIDRs: declared.length > 0 ? declared : seen(facts?.podCIDRs),
    serviceCIDRs: services.length > 0 ? services : seen(facts?.serviceCIDRs),
  };
}

/** Either way round: a pod range of one inside the service range of the other is as bad. */
function describeOverlaps(one: Ranges, other: Ranges): readonly string[] {
  const say = (from: Ranges, to: Ranges): readonly string[] =>
    findOverlaps(from, [{ metadata: { name: to.id }, spec: to } as unknown as ClusterMember]).map(
      (sentence) => `${from.id}: ${sentence}`,
    );
  const back = say(other, one).filter((sentence) => sentence.includes("service range"));
  return [...say(one, other), ...back];
}

/** What others let in of a member is what was declared of it; the pods that it has now may be elsewhere. */
export function checkDeclared(
  member: ClusterMember,
  cluster: ClusterId,
  { pods }: RangeFacts,
): CheckResult {
  const code = "cidrs/declared";
  const declared = member.spec.podCIDRs ?? [];
  const edit = `Let an administrator of the hub correct it: kubectl -n isthmus-member-${cluster} edit clustermember ${cluster}`;
  if (declared.length === 0) {
    return fail(code, {
      cluster,
      found: "No pod ranges are declared of it, so other clusters let in none of its endpoints.",
      next: edit,
    });
  }
  if (!pods.isRead) return cannotTell(code, pods, { cluster });
  const strays = findStrayPods(pods.value.filter(isAlive), declared);
  if (strays !== undefined) {
    return fail(code, {
      cluster,
      found: `${strays.count} of ${count(strays.of, "pod")} looked at have addresses outside of ${list(declared)}, such as ${strays.example}: other clusters do not let in endpoints there.`,
      next: edit,
    });
  }
  return pass(code, { cluster, found: `Its pods are inside of ${list(declared)}, as declared.` });
}

/** Addresses of pods that are done mean nothing any more. */
function isAlive({ metadata, status }: Pod): boolean {
  const isDone = status?.phase === "Succeeded" || status?.phase === "Failed";
  return !isDone && metadata.deletionTimestamp === undefined;
}
