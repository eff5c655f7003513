// Check: Leases of members on the hub and of agents at home in, whether they are renewed out. Ages prove nothing, because they are
// told by two clocks: what looks old has been watched.

import type { ClusterRecord, Clusterset } from "../clusterset/record.ts";
import { formatAge, parseTimeMs } from "../clusterset/time.ts";
import type { ClusterView, ClustersetView } from "../clusterset/view.ts";
import { holderOf } from "../election.ts";
import type { Answer, LeaseFacts } from "./inspection.ts";
import { cannotTell, type CheckResult, fail, pass, warn } from "./result.ts";

const GONE: ReadonlySet<string> = new Set(["silent", "lost"]);
const DOUBTFUL: ReadonlySet<string> = new Set(["flapping", "unknown"]);

export function checkMemberLeases(set: Clusterset, view: ClustersetView): readonly CheckResult[] {
  const members = new Set(
    set.records.flatMap(({ id, member }) => (member === undefined ? [] : id)),
  );
  return view.clusters.filter(({ id }) => members.has(id as never)).map(checkMemberLease);
}

function checkMemberLease(view: ClusterView): CheckResult {
  const { id: cluster, liveness, livenessWhy: found, livenessNext } = view;
  const next = livenessNext;
  if (GONE.has(liveness)) return fail("leases/member", { cluster, found, next });
  if (DOUBTFUL.has(liveness)) return warn("leases/member", { cluster, found, next });
  return pass("leases/member", { cluster, found });
}

/** A Lease of this age, by whichever clock, is worth a second look: it is renewed every three seconds or so. */
const YOUNG_MS = 15_000;

export function isYoungLease(renewTime: string | undefined, nowMs: number): boolean {
  const renewedMs = parseTimeMs(renewTime);
  return renewedMs !== undefined && Math.abs(nowMs - renewedMs) < YOUNG_MS;
}

export function checkAgentLease(
  { id: cluster }: ClusterRecord,
  answer: Answer<LeaseFacts | undefined>,
  nowMs: number,
): CheckResult {
  const code = "leases/agent";
  if (!answer.isRead) return cannotTell(code, answer, { cluster });
  const next = `Start "isthmus agent" in ${cluster}, or look in its log: it says why it does not work.`;
  if (answer.value === undefined) {
    return fail(code, { cluster, found: "It has joined a hub, but no agent ever ran.", next });
  }
  const { lease, isRenewed, watchedMs } = answer.value;
  const holder = holderOf(lease);
  if (holder === "") {
    return fail(code, { cluster, found: "Its agent has stopped, and no other took over.", next });
  }
  if (isRenewed || isYoungLease(lease.spec?.renewTime, nowMs)) {
    return pass(code, { cluster, found: `The agent ${holder} leads.` });
  }
  const renewedMs = parseTimeMs(lease.spec?.renewTime);
  const last =
    renewedMs === undefined
      ? "it never did"
      : `the last time was ${formatAge(nowMs - renewedMs)} ago by its own clock`;
  return fail(code, {
    cluster,
    found: `The agent ${holder} held the lead, but did not renew its Lease in the ${Math.round(watchedMs / 1_000)} s that this command watched; ${last}.`,
    next,
  });
}
