// Demo: three clusters on loopback and the real controllers between them, from nothing to running and back to nothing.

import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Central, startCentral } from "../../controllers/central.ts";
import { DEFAULT_LIVENESS, type LivenessPolicy } from "../../core/liveness.ts";
import { createPolicy } from "../../core/policy.ts";
import type { CliContext } from "../context.ts";
import { createLog } from "../log.ts";
import { type DemoCluster, startDemoCluster } from "./cluster.ts";
import { openFolder } from "./folder.ts";
import { type Network, openNetwork } from "./network.ts";
import { nameCluster } from "./shop.ts";

export const CLUSTERS = ["east", "west", "edge"] as const;
export type ClusterName = (typeof CLUSTERS)[number];

export interface World {
  readonly clusters: Readonly<Record<ClusterName, DemoCluster>>;
  readonly network: Network;
  /** Of kubeconfigs and manifests to try things with. */
  readonly folder: string;
  /** All clusters are members. */
  isJoined(): boolean;
  /** Nothing of it is left: no port, no file. */
  stop(): Promise<void>;
}

/** A loss is noticed that many times faster than by default, so that nobody has to watch half a minute go by. */
export const HASTE = 5;
export const DEMO_LIVENESS: LivenessPolicy = {
  unreadyAfterMs: DEFAULT_LIVENESS.unreadyAfterMs / HASTE,
  withdrawAfterMs: DEFAULT_LIVENESS.withdrawAfterMs / HASTE,
};
export const HEARTBEAT_MS = 5_000 / HASTE;

export async function openWorld(
  context: CliContext,
  options: { readonly isWhole?: boolean } = {},
): Promise<World> {
  const { clock, random } = context;
  const log = createLog("error", context.error);
  const undo: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const step of undo.splice(0).toReversed()) await step();
  };
  try {
    const folder = await openFolder(tmpdir());
    undo.push(() => folder.remove());
    const network = await openNetwork(options);
    undo.push(() => network.close());
    const open = async (name: ClusterName): Promise<DemoCluster> => {
      const cluster = await startDemoCluster(context, {
        name,
        kubeconfigPath: join(folder.path, `${name}.yaml`),
        network,
        ranges: network.rangesOf(CLUSTERS.indexOf(name)),
        log,
      });
      undo.push(() => cluster.stop());
      await nameCluster(cluster);
      return cluster;
    };
    const clusters = {
      east: await open("east"),
      west: await open("west"),
      edge: await open("edge"),
    };
    const central: Central = startCentral({
      members: CLUSTERS.map((name) => ({ name, store: clusters[name].client })),
      policy: createPolicy({}),
      liveness: DEMO_LIVENESS,
      heartbeatMs: HEARTBEAT_MS,
      clock,
      random,
      log,
    });
    undo.push(() => central.stop());
    const isJoined = (): boolean => central.joined().length === CLUSTERS.length;
    return { clusters, network, folder: folder.path, isJoined, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
