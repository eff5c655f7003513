// CLI: starts an embedded cluster with its kubeconfig on disk, and takes both away again.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Problem } from "../api/problem.ts";
import { EmbeddedCluster, type EmbeddedClusterOptions } from "../embedded/cluster.ts";
import type { Faults } from "../embedded/fault.ts";
import { serveCluster } from "../embedded/server.ts";
import { createClient, type KubeClient } from "../kube/client.ts";
import { loadKubeconfig } from "../kube/config.ts";
import type { CliContext } from "./context.ts";

export interface RunningCluster {
  readonly name: string;
  readonly url: string;
  readonly kubeconfigPath: string;
  readonly client: KubeClient;
  readonly faults: Faults;
  stop(): Promise<void>;
}

export async function startEmbeddedCluster(
  context: CliContext,
  options: {
    readonly name: string;
    readonly port?: number;
    readonly kubeconfigPath?: string;
    readonly addresses?: Pick<EmbeddedClusterOptions, "serviceCidrs" | "takesLoopback">;
  },
): Promise<RunningCluster> {
  const { clock, random } = context;
  const cluster = new EmbeddedCluster({ name: options.name, clock, random, ...options.addresses });
  const undo: (() => Promise<void> | void)[] = [() => cluster.stop()];
  const stop = async (): Promise<void> => {
    for (const step of undo.toReversed()) await step();
  };
  try {
    const server = await serveCluster(cluster, { port: options.port ?? 0, clock });
    undo.push(() => server.close());
    const kubeconfigPath = options.kubeconfigPath ?? (await makeTemporaryPath(options.name, undo));
    await writeNew(kubeconfigPath, server.kubeconfig());
    // Its token and certificate end with the server; a file that remained would only mislead.
    undo.push(() => rm(kubeconfigPath, { force: true }));
    const config = loadKubeconfig({ paths: [kubeconfigPath], env: {}, home: context.home });
    const client = createClient(config, { clock, userAgent: "isthmus-demo" });
    undo.push(() => client.close());
    const { name } = options;
    return { name, url: server.url, kubeconfigPath, client, faults: cluster.faults, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function makeTemporaryPath(
  name: string,
  undo: (() => Promise<void> | void)[],
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "isthmus-"));
  undo.push(() => rm(folder, { recursive: true, force: true }));
  return join(folder, `${name}.yaml`);
}

/** For the owner's eyes only, and never over a file that is there. */
async function writeNew(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { mode: 0o600, flag: "wx" });
  } catch (cause) {
    const message = `the kubeconfig cannot be written to ${file}`;
    const hint =
      "Name a new file in a folder that you may write to; an existing file is left alone.";
    throw new Problem("FileUnwritable", message, { hint, cause });
  }
}
