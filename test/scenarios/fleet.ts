// Scenario suite: the clusters that scenarios take place in, whoever serves them.

import { MEMBER_CRDS } from "../../src/api/crds.ts";
import { installCrds } from "../../src/controllers/crd.ts";
import { systemClock } from "../../src/kube/clock.ts";
import type { Store } from "../../src/ports/store.ts";

export interface FleetCluster {
  readonly id: string;
  /** As its users and administrators see it. */
  readonly store: Store;
  /** As its agent sees it; absent: the same. */
  readonly agentStore?: Store;
  readonly serviceCidrs: readonly string[];
}

export interface Fleet {
  /** Dual stack, sorted by id: who exports in this order is older or, within one second, first by id. */
  readonly clusters: readonly FleetCluster[];
  /** One that knows IPv4 only, where such a cluster can be had. */
  readonly singleStack?: FleetCluster;
  /** Somebody makes EndpointSlices from Pods and empties namespaces. */
  readonly hasControllers: boolean;
  /** A hub of its own for one world. Absent: central keeps the clusters in step. */
  readonly openHub?: () => Promise<{ readonly store: Store; close(): Promise<void> }>;
  close(): Promise<void>;
}

export async function prepareFleet(fleet: Fleet): Promise<Fleet> {
  const all = [...fleet.clusters, ...(fleet.singleStack === undefined ? [] : [fleet.singleStack])];
  await Promise.all(
    all.map(({ store }) => installCrds({ store, crds: MEMBER_CRDS, clock: systemClock })),
  );
  return fleet;
}
