// Scenario suite: the real clusters of the set-up to tell scenarios in; one more is the hub.

import { inject } from "vitest";
import { HUB_CRDS } from "../../src/api/crds.ts";
import { installCrds } from "../../src/controllers/crd.ts";
import { createClient, type KubeClient } from "../../src/kube/client.ts";
import { systemClock } from "../../src/kube/clock.ts";
import { loadKubeconfig } from "../../src/kube/config.ts";
import { unique } from "../contract/objects.ts";
import { startCluster } from "../controlplane/cluster.ts";
import type { Fleet } from "./fleet.ts";
import { scopeHub } from "./hubscope.ts";
import type { Mode } from "./suite.ts";

export async function openRealFleet(mode: Mode): Promise<Fleet> {
  const shared = inject("clusters");
  const clusters = shared
    .map(({ name, kubeconfigPath, serviceCidrs }) => ({
      id: name,
      serviceCidrs,
      store: connect(kubeconfigPath),
    }))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const hub = mode === "agents" ? await openHub() : undefined;
  return {
    clusters,
    hasControllers: shared.every(({ hasControllerManager }) => hasControllerManager),
    ...(hub && { openHub: async () => scopeHub(hub.store, unique("scene-")) }),
    close: async () => {
      await Promise.all(clusters.map(({ store }) => store.close()));
      await hub?.close();
    },
  };
}

async function openHub() {
  const cluster = await startCluster({ name: "hub" });
  const store = connect(cluster.kubeconfigPath);
  await installCrds({ store, crds: HUB_CRDS, clock: systemClock });
  return {
    store,
    async close() {
      await store.close();
      await cluster.stop();
    },
  };
}

function connect(kubeconfigPath: string): KubeClient {
  const config = loadKubeconfig({ paths: [kubeconfigPath], env: {}, home: "/nonexistent" });
  return createClient(config, { clock: systemClock });
}
