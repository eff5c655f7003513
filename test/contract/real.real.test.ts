// The contract suite on a real kube-apiserver: the one that is right where the two differ.

import { inject } from "vitest";
import { createClient } from "../../src/kube/client.ts";
import { systemClock } from "../../src/kube/clock.ts";
import { loadKubeconfig } from "../../src/kube/config.ts";
import { runContract } from "./contract.ts";

runContract(async () => {
  const cluster = inject("clusters")[0]!;
  const { kubeconfigPath, serviceCidrs, hasControllerManager } = cluster;
  const config = loadKubeconfig({ paths: [kubeconfigPath], env: {}, home: "/nonexistent" });
  const client = createClient(config, { clock: systemClock });
  return {
    client,
    kubeconfigPath,
    serviceCidrs,
    hasControllers: hasControllerManager,
    close: () => client.close(),
  };
});
