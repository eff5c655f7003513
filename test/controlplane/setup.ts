// Global set-up of the `real` project: three clusters, east, west and edge, shared by all its test files.
// Files keep apart by namespace; one that stops or breaks a server starts a cluster of its own.

import type { TestProject } from "vitest/node";
import { startCluster } from "./cluster.ts";

export interface SharedCluster {
  readonly name: string;
  readonly kubeconfigPath: string;
  readonly serviceCidrs: readonly [string, string];
  readonly hasControllerManager: boolean;
  /** Of Kubernetes, as in "v1.36.3". */
  readonly version: string;
}

declare module "vitest" {
  export interface ProvidedContext {
    readonly clusters: readonly SharedCluster[];
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const starts = await Promise.allSettled([
    startCluster({ name: "east", serviceCidrs: ["10.101.0.0/16", "fd00:101::/112"] }),
    startCluster({ name: "west", serviceCidrs: ["10.102.0.0/16", "fd00:102::/112"] }),
    startCluster({ name: "edge", serviceCidrs: ["10.103.0.0/16", "fd00:103::/112"] }),
  ]);
  const clusters = starts.flatMap((start) => (start.status === "fulfilled" ? start.value : []));
  const stopAll = async (): Promise<void> => {
    await Promise.all(clusters.map((cluster) => cluster.stop()));
  };
  for (const start of starts) {
    if (start.status === "fulfilled") continue;
    await stopAll();
    throw start.reason;
  }
  project.provide(
    "clusters",
    clusters.map(({ name, kubeconfigPath, serviceCidrs, hasControllerManager, version }) => ({
      name,
      kubeconfigPath,
      serviceCidrs,
      hasControllerManager,
      version,
    })),
  );
  return async () => {
    try {
      await stopAll();
    } catch (error) {
      // The runner prints an error of a teardown and then calls the run green.
      process.exitCode = 1;
      throw error;
    }
  };
}
