// Fixture: starts a cluster, says where its kubeconfig is, and holds it until somebody kills this process.

import { startCluster } from "./cluster.ts";

const cluster = await startCluster({ name: "held" });
process.stdout.write(`${cluster.kubeconfigPath}\n`);
process.stdin.resume();
