// CLI: starts an embedded cluster with its kubeconfig on disk, and takes both away again.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EmbeddedCluster } from "../embedded/cluster.ts";
import { serveCluster } from "../embedded/server.ts";
import { createClient, type KubeClient } from "../kube/client.ts";
import { loadKubeconfig } from "../kube/config.ts";
import type { CliContext } from "./context.ts";

export interface RunningCluster {
  readonly name: string;
  readonly url: string;
  readonly kubeconfigPath: string;
  readonly client: KubeClient;
  stop(): Promise<void>;
}

export async function startEmbeddedCluster(
  context: CliContext,
  options: { readonly name: string; readonly port?: number; readonly kubeconfigPath?: string },
): Promise<RunningCluster> {
  const { clock, random } = context;
  const cluster = new EmbeddedCluster({ name: options.name, clock, random });
  const server = await serveCluster(cluster, { port: options.port ?? 0, clock });
  const folder = await mkdtemp(join(tmpdir(), "isthmus-"));
  const kubeconfigPath = options.kubeconfigPath ?? join(folder, `${options.name}.yaml`);
  const stop = async (): Promise<void> => {
    await client?.close();
    await server.close();
    cluster.stop();
    // Its token and certificate end with the server; a file that remained would only mislead.
    await rm(kubeconfigPath, { force: true });
    await rm(folder, { recursive: true, force: true });
  };
  let client: KubeClient | undefined;
  try {
    await writeFile(kubeconfigPath, server.kubeconfig(), { mode: 0o600, flag: "wx" });
    const config = loadKubeconfig({ paths: [kubeconfigPath], env: {}, home: context.home });
    client = createClient(config, { clock, userAgent: "isthmus-demo" });
    return { name: options.name, url: server.url, kubeconfigPath, client, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
