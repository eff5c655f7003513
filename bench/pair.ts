// Bench: two real API servers with the CRDs installed, for as long as a measurement lasts, and what a child process needs to
// reach them. Nothing of them is left behind, whatever the measurement does.

import { NAMESPACE } from "../src/api/builtin.ts";
import { MEMBER_CRDS } from "../src/api/crds.ts";
import { installCrds } from "../src/controllers/crd.ts";
import { createClient, type KubeClient } from "../src/kube/client.ts";
import { systemClock } from "../src/kube/clock.ts";
import { type RealCluster, startCluster } from "../test/controlplane/cluster.ts";

/** Plain data, to be handed to a child process. */
export interface Access {
  readonly id: string;
  readonly server: string;
  readonly authority: string;
  readonly token: string;
}

export interface Pair {
  /** Exports. */
  readonly a: KubeClient;
  /** Imports. */
  readonly b: KubeClient;
  readonly both: readonly [KubeClient, KubeClient];
  readonly access: readonly [Access, Access];
}

/** The namespace of all that is measured. */
export const SPACE = "bench";
/** For floors that run at the same time as we do. */
export const FLOOR_SPACES = ["bench-same", "bench-one"] as const;

export async function withPair<T>(measure: (pair: Pair) => Promise<T>): Promise<T> {
  const clusters: RealCluster[] = [];
  const clients: KubeClient[] = [];
  // One after the other: together they would leave one of them running when the other fails.
  try {
    for (const name of ["a", "b"]) {
      // Nothing that is measured needs a controller manager, and its own writes would come in between.
      clusters.push(await startCluster({ name, controllerManager: false }));
    }
    const [accessA, accessB] = clusters.map(accessOf);
    if (accessA === undefined || accessB === undefined)
      throw new Error("two clusters were asked for");
    const a = connect(accessA);
    const b = connect(accessB);
    clients.push(a, b);
    for (const client of clients) await prepare(client);
    return await measure({ a, b, both: [a, b], access: [accessA, accessB] });
  } finally {
    await Promise.all(clients.map((client) => client.close()));
    await Promise.all(clusters.map((cluster) => cluster.stop()));
  }
}

export function connect({ server, authority, token }: Access): KubeClient {
  return createClient(
    {
      server,
      source: { kind: "given" },
      namespace: "default",
      tls: { authority: { data: authority } },
      auth: { kind: "token", token },
      disableCompression: true,
    },
    { clock: systemClock },
  );
}

export function accessOf({ name, url, caPem, adminToken }: RealCluster): Access {
  return { id: name, server: url, authority: caPem, token: adminToken };
}

export async function prepare(client: KubeClient): Promise<void> {
  await installCrds({ store: client, crds: MEMBER_CRDS, clock: systemClock });
  for (const name of [SPACE, ...FLOOR_SPACES]) {
    await client.create(NAMESPACE, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
}
