// Check: who clusters say they are in, whether everybody can be told apart, and is who the hub takes it for, out.

import type { ClusterId } from "../../api/names.ts";
import { list } from "../clusterset/explanation.ts";
import type { ClusterRecord, Clusterset } from "../clusterset/record.ts";
import type { Checkup, Inspection } from "./inspection.ts";
import { cannotTell, type CheckResult, fail, pass, warn } from "./result.ts";

/** `takenFor`: by the name of its context, which its imports know, for want of anything better. */
export function checkKnown(
  cluster: string,
  { name, identity }: Inspection,
  takenFor: ClusterId | undefined,
): CheckResult {
  const code = "identity/known";
  if (!identity.isRead) return cannotTell(code, identity, { cluster });
  const { value } = identity;
  if (value === undefined && takenFor !== undefined) {
    return warn(code, {
      cluster,
      found: `It does not say who it is. By the name of its context, which its imports know, it is taken for ${takenFor}.`,
      next: `To be sure, name it as ${takenFor}=${name}.`,
    });
  }
  if (value === undefined) {
    return fail(code, {
      cluster,
      found: "It does not say who it is: it has no id.",
      next: `"isthmus join --cluster-id east" would call it east for good. In central mode write east=${name} instead of ${name}, for central and here.`,
    });
  }
  if (value.ok) return pass(code, { cluster, found: `Its id is "${value.value}".` });
  return fail(code, {
    cluster,
    found: value.problem,
    next: "An id is for good: all that others import from the cluster goes by it. Correct the one that is wrong.",
  });
}

/** Of all clusters that were named. */
export function checkUnique(set: Clusterset, checkup: Checkup): readonly CheckResult[] {
  const code = "identity/unique";
  const names = new Map<string, string[]>();
  for (const inspection of checkup.inspections) {
    const uid = inspection?.uid.isRead === true ? inspection.uid.value : undefined;
    if (inspection === undefined || uid === undefined) continue;
    names.set(uid, [...(names.get(uid) ?? []), inspection.name]);
  }
  const twice = [...names.values()].filter((same) => same.length > 1);
  const sames = twice.map((same) =>
    fail(code, {
      found: `${list(same)} are one and the same cluster.`,
      next: "Name each cluster once. If these are meant to be two, their kubeconfigs lead to the same API server.",
    }),
  );
  const doubles = set.doubles
    // Of one cluster that was named twice nothing else is worth saying.
    .filter(({ name }) => !twice.some((same) => same.includes(name)))
    .map(({ name, cluster }) =>
      fail(code, {
        found: `${name} goes by the id "${cluster}", which another cluster named before has, too.`,
        next: "Give each cluster an id of its own: everything imported from one would be taken for the other's.",
      }),
    );
  const isAll = checkup.inspections.every(
    (inspection) => inspection?.identity.isRead === true && inspection.identity.value?.ok === true,
  );
  if (sames.length > 0 || doubles.length > 0 || !isAll || checkup.inspections.length < 2) {
    return [...sames, ...doubles];
  }
  return [pass(code, { found: "Each of the clusters has an id of its own." })];
}

/** Of clusters that say that they have joined the hub that was read. */
export function checkMember(set: Clusterset, record: ClusterRecord): readonly CheckResult[] {
  const { hub } = set.observation;
  const { id: cluster, sighting, member } = record;
  if (hub === undefined || hub.problem !== undefined || sighting?.hub !== hub.server) return [];
  if (member !== undefined) {
    return [pass("identity/member", { cluster, found: `The hub knows it as ${cluster}.` })];
  }
  return [
    fail("identity/member", {
      cluster,
      found:
        "It has joined a hub that does not know it: it was evicted, or the hub has lost its data.",
      next: 'What is imported stays as it is. Join again with "isthmus join", or remove everything with "isthmus leave".',
    }),
  ];
}
