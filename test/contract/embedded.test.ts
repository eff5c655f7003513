// The contract suite on the embedded server, over HTTPS and with the client that Isthmus uses.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EmbeddedCluster } from "../../src/embedded/cluster.ts";
import { serveCluster } from "../../src/embedded/server.ts";
import { createClient } from "../../src/kube/client.ts";
import { systemClock, systemRandom } from "../../src/kube/clock.ts";
import { loadKubeconfig } from "../../src/kube/config.ts";
import { runContract } from "./contract.ts";

const SERVICE_CIDRS = ["10.103.0.0/16", "fd00:103::/112"] as const;

runContract(async () => {
  const cluster = new EmbeddedCluster({
    name: "contract",
    clock: systemClock,
    random: systemRandom,
    serviceCidrs: SERVICE_CIDRS,
  });
  const server = await serveCluster(cluster, { clock: systemClock });
  const folder = await mkdtemp(join(tmpdir(), "isthmus-contract-"));
  const kubeconfigPath = join(folder, "kubeconfig");
  await writeFile(kubeconfigPath, server.kubeconfig(), { mode: 0o600 });
  const config = loadKubeconfig({ paths: [kubeconfigPath], env: {}, home: folder });
  const client = createClient(config, { clock: systemClock });
  return {
    client,
    kubeconfigPath,
    serviceCidrs: SERVICE_CIDRS,
    hasControllers: true,
    close: async () => {
      await client.close();
      await server.close();
      cluster.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
});
