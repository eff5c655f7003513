// Data-plane bed: a real kube-proxy on a node: a mode in, rules in the node's namespace that follow Services and EndpointSlices out.

import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { request } from "undici";
import { requireBinaries } from "../controlplane/binaries.ts";
import type { RealCluster } from "../controlplane/cluster.ts";
import { type NodeProgram, runProgram, startProgram } from "./node.ts";
import type { ClusterPlan } from "./plan.ts";

export type ProxyMode = "iptables" | "nftables";

const HEALTH_PORT = 10_256;
const READY_MS = 180_000;
const POLL_MS = 50;

/** Resolves when it has written its rules of both families for the first time. Needs the Node, whose addresses it goes by. */
export async function startKubeProxy(options: {
  readonly mode: ProxyMode;
  readonly plan: ClusterPlan;
  readonly control: RealCluster;
}): Promise<NodeProgram> {
  const { mode, plan, control } = options;
  const { kubeProxy } = await requireBinaries();
  if (kubeProxy === undefined) throw new Error("There is no kube-proxy among the binaries.");
  const { daemons, kubeconfigPath, logsPath } = control;
  const config = {
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode,
    hostnameOverride: plan.name,
    clusterCIDR: `${plan.pods4},${plan.pods6}`,
    healthzBindAddress: `0.0.0.0:${HEALTH_PORT}`,
    clientConnection: { kubeconfig: kubeconfigPath },
    // Limits of the whole machine, which a namespace may not set.
    conntrack: { maxPerCore: 0, min: 0 },
    oomScoreAdj: 0,
    // Why it does not go by the zones of a Service.
    logging: { vmodule: [{ filePattern: "topology", verbosity: 2 }] },
  };
  const path = join(daemons.folder, "kube-proxy.json");
  writeFileSync(path, JSON.stringify(config));
  // As after a reboot: no rule is older than the kube-proxy.
  await runProgram(plan.name, { file: "nft", args: ["flush", "ruleset"] });
  const program = await startProgram(
    { name: "kube-proxy", file: kubeProxy, args: [`--config=${path}`] },
    { daemons, logsPath, netns: plan.name },
  );
  const url = `http://${plan.address4}:${HEALTH_PORT}/healthz`;
  const giveUpAt = performance.now() + READY_MS;
  while (program.isRunning() && performance.now() < giveUpAt) {
    if (await hasRules(url)) return program;
    await pause(POLL_MS);
  }
  const said = await readFile(program.logPath, "utf8").catch(() => "(no log)");
  const what = program.isRunning() ? "was not ready in time" : "ended as it started";
  throw new Error(
    `kube-proxy of ${plan.name} ${what}; its last words:\n${said.trimEnd().split("\n").slice(-15).join("\n")}`,
  );
}

/** It says that it is well as soon as it can be asked, and of each family when that has its rules. */
async function hasRules(url: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(url, { headersTimeout: 2_000 });
    const { status = {} } = (await body.json()) as { readonly status?: object };
    return statusCode === 200 && "IPv4" in status && "IPv6" in status;
  } catch {
    return false;
  }
}
