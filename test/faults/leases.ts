// Fault tests: time that passes is counted in renewals of Leases, so that a busy machine gets as much as it needs.

import { expect } from "vitest";
import { LEASE } from "../../src/api/builtin.ts";
import { HUB_NAMESPACE } from "../../src/api/names.ts";
import { AGENT_LEASE } from "../../src/hub/local.ts";
import { eventually } from "../scenarios/poll.ts";
import type { Bed, Id } from "./bed.ts";

/** Of the election in that cluster, every three seconds: also while the hub is away. */
export async function electedAt(bed: Bed, id: Id): Promise<string | undefined> {
  return (await bed.member(id).admin.get(LEASE, AGENT_LEASE))?.spec?.renewTime;
}

/** By which the hub knows that the cluster is alive, every five seconds. */
export async function heardAt(bed: Bed, id: Id): Promise<string | undefined> {
  const lease = await bed.hubAdmin.get(LEASE, { namespace: HUB_NAMESPACE, name: id });
  return lease?.spec?.renewTime;
}

export async function renewals(
  times: number,
  read: () => Promise<string | undefined>,
): Promise<void> {
  const seen = new Set<string | undefined>([await read()]);
  await eventually(
    `a Lease is renewed ${times} times`,
    async () => {
      seen.add(await read());
      expect(seen.size).toBeGreaterThan(times);
    },
    times * 60_000,
  );
}
