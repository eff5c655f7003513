// Check: everything that was read in, one result for each check and cluster out, group by group. Says what was found; prints and
// reads nothing.

import type { ClusterId } from "../../api/names.ts";
import {
  type ClusterRecord,
  type Clusterset,
  hasRead,
  indexClusterset,
} from "../clusterset/record.ts";
import { hasOtherHub, idOf, type Observation, type Sighting } from "../clusterset/sighting.ts";
import { viewClusterset } from "../clusterset/view.ts";
import { checkAccess } from "./access.ts";
import { checkCrds, holdsHub, isHubOnly } from "./crd.ts";
import { checkDns } from "./dns.ts";
import { checkKnown, checkMember, checkUnique } from "./identity.ts";
import type { Checkup, Inspection, RangeFacts } from "./inspection.ts";
import { checkAgentLease, checkMemberLeases } from "./lease.ts";
import { checkHubOrphans, checkOrphans, sayUnread } from "./orphan.ts";
import { checkDerivedLabels, checkProxy } from "./proxy.ts";
import { checkDeclared, checkOverlaps } from "./range.ts";
import {
  cannotTell,
  CHECKS,
  type CheckResult,
  type CheckState,
  fail,
  pass,
  warn,
} from "./result.ts";
import { checkSkew } from "./skew.ts";
import { checkAgents, checkKubernetes } from "./version.ts";

export interface CheckReport {
  /** Nothing fails. Warnings are for a person to judge. */
  readonly well: boolean;
  readonly counts: Readonly<Record<CheckState, number>>;
  readonly checks: readonly CheckResult[];
}

export function runChecks(checkup: Checkup): CheckReport {
  const { observation, inspections } = checkup;
  const members = withoutHubs(checkup);
  const set = indexClusterset(members.observation);
  const view = viewClusterset(members.observation);
  const inspected = new Map<ClusterId, Inspection>();
  const single: CheckResult[] = [];
  for (const [at, sighting] of observation.sightings.entries()) {
    const inspection = inspections[at];
    const id = idOf(sighting);
    if (inspection === undefined) {
      single.push(checkAnswer(id, sighting.problems[0] ?? "It did not answer."));
      continue;
    }
    single.push(checkAnswer(id, undefined), ...checkOne(id, inspection, sighting.cluster));
    if (!inspected.has(id)) inspected.set(id, inspection);
  }
  const ranges = new Map<ClusterId, RangeFacts>(
    [...inspected].map(([id, { ranges: facts }]) => [id, facts]),
  );
  const checks = [
    ...single,
    ...checkHub(set),
    ...observation.sightings.flatMap((sighting) => checkOwnHub(sighting, observation)),
    ...set.records.flatMap((record) => checkRecord(set, record, inspected.get(record.id))),
    ...checkUnique(set, members),
    ...checkMemberLeases(set, view),
    ...checkOverlaps(set, ranges),
    ...checkHubOrphans(set),
    ...checkAgents(view),
  ];
  const order = Object.keys(CHECKS);
  const sorted = checks.toSorted((a, b) => order.indexOf(a.code) - order.indexOf(b.code));
  const countOf = (state: CheckState): number =>
    sorted.filter((result) => result.state === state).length;
  const counts = { pass: countOf("pass"), warn: countOf("warn"), fail: countOf("fail") };
  return { well: counts.fail === 0, counts, checks: sorted };
}

/** A cluster that is only a hub takes part in nothing. */
function withoutHubs({ observation, inspections }: Checkup): Checkup {
  const isMember = (_: unknown, at: number): boolean => {
    const inspection = inspections[at];
    return inspection === undefined || !isHubOnly(inspection.crds);
  };
  return {
    observation: { ...observation, sightings: observation.sightings.filter(isMember) },
    inspections: inspections.filter(isMember),
  };
}

function checkAnswer(cluster: string, problem: string | undefined): CheckResult {
  return problem === undefined
    ? pass("api/answers", { cluster, found: "Its API server answers." })
    : fail("api/answers", {
        cluster,
        found: problem,
        next: "Nothing else of it could be checked. Traffic does not pass this machine: services may be well all the same.",
      });
}

function checkHub({ observation: { hub } }: Clusterset): readonly CheckResult[] {
  if (hub === undefined) return [];
  if (hub.problem === undefined) {
    return [pass("api/hub", { found: `The hub ${hub.server} answers.` })];
  }
  return [
    fail("api/hub", {
      found: hub.problem,
      next: "What was imported stays as it is and traffic goes on, but nothing new is shared while agents do not reach it either.",
    }),
  ];
}

/** One hub is asked; whoever has another, or cannot say which, would pass for one that has none. */
function checkOwnHub(sighting: Sighting, { hub }: Observation): readonly CheckResult[] {
  const cluster = idOf(sighting);
  if (sighting.hubProblem !== undefined) {
    return [
      fail("api/hub", {
        cluster,
        found: sighting.hubProblem,
        next: 'Its agent cannot reach the hub with that. Join it again with "isthmus join".',
      }),
    ];
  }
  if (!hasOtherHub(sighting, hub)) return [];
  return [
    warn("api/hub", {
      cluster,
      found: `It has joined another hub, ${sighting.hub}, which was not asked: nothing is told of its membership and Leases.`,
      next: "Check the members of each hub by themselves.",
    }),
  ];
}

/** What a cluster shows by itself. */
function checkOne(
  cluster: string,
  inspection: Inspection,
  takenFor: ClusterId | undefined,
): readonly CheckResult[] {
  const { crds, access, aheadMs, dns, proxy, version } = inspection;
  if (isHubOnly(crds)) {
    return [
      ...checkCrds(cluster, crds),
      checkSkew(cluster, aheadMs),
      checkKubernetes(cluster, version, true),
    ];
  }
  return [
    ...checkCrds(cluster, crds),
    ...checkAccess(cluster, access),
    checkKnown(cluster, inspection, takenFor),
    checkSkew(cluster, aheadMs),
    ...checkDns(cluster, dns),
    checkProxy(cluster, proxy),
    checkKubernetes(cluster, version, holdsHub(crds)),
  ];
}

/** What shows only beside what the others and the hub say. */
function checkRecord(
  set: Clusterset,
  record: ClusterRecord,
  inspection: Inspection | undefined,
): readonly CheckResult[] {
  const { id, sighting, member, services } = record;
  if (sighting === undefined || inspection === undefined) return [];
  const isJoined = sighting.hub !== undefined;
  return [
    ...checkMember(set, record),
    ...(isJoined ? [checkAgentLease(record, inspection.agentLease, set.observation.nowMs)] : []),
    ...(member === undefined ? [] : [checkDeclared(member, id, inspection.ranges)]),
    hasRead(record, "services")
      ? checkDerivedLabels(id, [...services.values()].filter(isDerivedName))
      : cannotTell("proxy/services", sayUnread(record), { cluster: id }),
    ...checkOrphans(set, record),
  ];
}

function isDerivedName({ metadata }: { readonly metadata: { readonly name?: string } }): boolean {
  return metadata.name?.startsWith("derived-") === true;
}
