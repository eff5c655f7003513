// The contract suite on a real kube-apiserver: the one that is right where the two differ. It has one of its own: emptying
// hundreds of namespaces would keep the controller manager from other tests' for minutes.

import { createClient } from "../../src/kube/client.ts";
import { systemClock } from "../../src/kube/clock.ts";
import { loadKubeconfig } from "../../src/kube/config.ts";
import { startCluster } from "../controlplane/cluster.ts";
import { runContract } from "./contract.ts";

runContract(async () => {
  const cluster = await startCluster({ name: "contract" });
  const { kubeconfigPath, serviceCidrs, hasControllerManager } = cluster;
  const config = loadKubeconfig({ paths: [kubeconfigPath], env: {}, home: "/nonexistent" });
  const client = createClient(config, { clock: systemClock });
  return {
    client,
    kubeconfigPath,
    serviceCidrs,
    hasControllers: hasControllerManager,
    close: async () => {
      await client.close();
      await cluster.stop();
    },
  };
});
