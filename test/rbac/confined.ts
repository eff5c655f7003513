// Permission suite: a fleet of real clusters and rules in, the same fleet out, whose agents may do what the rules say and nothing
// else, and what they asked for.

import { inject } from "vitest";
import { SERVICE_IMPORT } from "../../src/api/mcs.ts";
import type { Fleet, FleetCluster } from "../scenarios/fleet.ts";
import { eventually } from "../scenarios/poll.ts";
import { Access, type ClusterRole } from "./access.ts";
import { createRecorder, type Recorder } from "./recorder.ts";
import type { Account } from "./story.ts";

export interface Confined {
  readonly fleet: Fleet;
  /** Of all agents together. */
  account(): Account;
}

export async function confineAgents(fleet: Fleet, rules: ClusterRole["rules"]): Promise<Confined> {
  const accesses: Access[] = [];
  const recorders: Recorder[] = [];

  async function confine(cluster: FleetCluster): Promise<FleetCluster> {
    const { kubeconfigPath } = inject("clusters").find(({ name }) => name === cluster.id)!;
    const access = new Access(kubeconfigPath);
    accesses.push(access);
    const client = await access.becomeOne(rules);
    await eventually("the rules are in force", () => client.list(SERVICE_IMPORT, { limit: 1 }));
    const recorder = createRecorder(client);
    recorders.push(recorder);
    return { ...cluster, agentStore: recorder.store };
  }

  return {
    fleet: {
      ...fleet,
      clusters: await Promise.all(fleet.clusters.map(confine)),
      async close() {
        for (const access of accesses) await access.close();
        await fleet.close();
      },
    },
    account: () => ({
      used: [...new Set(recorders.flatMap((recorder) => recorder.used()))].toSorted(),
      refusals: recorders.flatMap((recorder) => recorder.refusals()),
    }),
  };
}
