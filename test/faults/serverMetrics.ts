// Fault tests: how many requests an API server has answered since it was started, by its own count.

import type { RealCluster } from "../controlplane/cluster.ts";
import { openReader } from "../controlplane/request.ts";

export async function countRequests(cluster: RealCluster): Promise<number> {
  const reader = await openReader(cluster.kubeconfigPath);
  try {
    const { status, body } = await reader.get("/metrics");
    if (status !== 200) throw new Error(`/metrics answered ${status}`);
    return body
      .split("\n")
      .filter((line) => line.startsWith("apiserver_request_total{"))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  } finally {
    await reader.close();
  }
}
