// Bench: a hub and two clusters, real API servers with the definitions installed and both clusters joined, for as long as a
// measurement lasts, and what a child process needs to reach them. Nothing of them is left behind, whatever the measurement
// does.

import { NAMESPACE } from "../src/api/builtin.ts";
import { HUB_CRDS, MEMBER_CRDS } from "../src/api/crds.ts";
import type { ClusterId } from "../src/api/names.ts";
import { installCrds } from "../src/controllers/crd.ts";
import type { KubeClient } from "../src/kube/client.ts";
import { systemClock } from "../src/kube/clock.ts";
import { type RealCluster, startCluster } from "../test/controlplane/cluster.ts";
import { registerMember } from "../test/hubMember.ts";
import { type Access, connect, SPACE } from "./access.ts";

export interface Fleet {
  readonly hub: KubeClient;
  /** Exports, and imports what it exports. */
  readonly a: KubeClient;
  /** Imports. */
  readonly b: KubeClient;
  readonly both: readonly [KubeClient, KubeClient];
  /** What an agent of that cluster needs: the hub and its cluster. */
  readonly access: Readonly<Record<Cluster, readonly [Access, Access]>>;
}

export const CLUSTERS = ["a", "b"] as const;
export type Cluster = (typeof CLUSTERS)[number];

const POD_CIDRS = ["10.32.0.0/16", "10.64.0.0/10"];

export async function withFleet<T>(measure: (fleet: Fleet) => Promise<T>): Promise<T> {
  const servers: RealCluster[] = [];
  const clients: KubeClient[] = [];
  // One after the other: together they would leave one of them running when another fails.
  try {
    const start = async (name: string): Promise<[Access, KubeClient]> => {
      // Nothing that is measured needs a controller manager, and its own writes would come in between.
      const server = await startCluster({ name, controllerManager: false });
      servers.push(server);
      const access = accessOf(server);
      const client = connect(access);
      clients.push(client);
      return [access, client];
    };
    const [hubAccess, hub] = await start("hub");
    const [accessA, a] = await start("a");
    const [accessB, b] = await start("b");
    for (const client of [a, b]) await prepare(client);
    await prepareHub(hub);
    const access = { a: [hubAccess, accessA], b: [hubAccess, accessB] } as const;
    return await measure({ hub, a, b, both: [a, b], access });
  } finally {
    await Promise.all(clients.map((client) => client.close()));
    await Promise.all(servers.map((server) => server.stop()));
  }
}

export function accessOf({ name, url, caPem, adminToken }: RealCluster): Access {
  return { id: name, server: url, authority: caPem, token: adminToken };
}

export async function prepare(client: KubeClient): Promise<void> {
  await installCrds({ store: client, crds: MEMBER_CRDS, clock: systemClock });
  await client.create(NAMESPACE, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: SPACE },
  });
}

async function prepareHub(hub: KubeClient): Promise<void> {
  await installCrds({ store: hub, crds: HUB_CRDS, clock: systemClock });
  for (const cluster of CLUSTERS) {
    await registerMember(hub, cluster as ClusterId, { podCIDRs: POD_CIDRS, serviceCIDRs: [] });
  }
}
