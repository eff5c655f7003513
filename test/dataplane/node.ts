// Data-plane bed: what a node is to those who run something on it: the contract between the bed and its little kubelet, and how
// a program gets into a network namespace. Starts nothing itself.

import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { Daemons } from "../controlplane/daemons.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import type { ClusterPlan } from "./plan.ts";

/** What an image stands for; a container's args come after these, its env is added. */
export interface ImageCommand {
  readonly file: string;
  readonly args: readonly string[];
}

/** All that a kubelet gets. */
export interface NodeContext {
  readonly plan: ClusterPlan;
  /** As administrator. */
  readonly store: KubeClient;
  /** The cluster's supervisor: whatever it starts ends with the cluster. Names of its own: "pod/…". */
  readonly daemons: Daemons;
  readonly logsPath: string;
  /** By the image's last path segment without its tag: "registry.k8s.io/coredns/coredns:v1.15.0" is "coredns". */
  readonly images: Readonly<Record<string, ImageCommand>>;
}

/** `startKubelet(context: NodeContext): Promise<Kubelet>` resolves when the Node is registered. */
export interface Kubelet {
  /** A power cut: every process of every pod is gone on the spot, their namespaces too; nothing is written to the API any more. */
  kill(): Promise<void>;
  /** The API server is back: the same pods start again, as after a reboot of the node. */
  revive(): Promise<void>;
  /** Ends the pods' processes and namespaces without a word to the API. */
  stop(): Promise<void>;
}

export interface Program {
  readonly file: string;
  readonly args: readonly string[];
  /** All of it: nothing is inherited but PATH. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The program's command line inside a network namespace. Each step replaces itself by the next, so the pid is the program's. */
export function inNamespace(netns: string, { file, args, env }: Program): Program {
  const variables = { PATH: process.env["PATH"] ?? "/usr/bin:/bin", ...env };
  const clean = [
    "env",
    "-i",
    ...Object.entries(variables).map(([key, value]) => `${key}=${value}`),
  ];
  return {
    file: "nsenter",
    args: [`--net=/run/netns/${netns}`, "--", ...(env === undefined ? [] : clean), file, ...args],
  };
}

export interface NodeProgram {
  readonly name: string;
  readonly logPath: string;
  isRunning(): boolean;
  signal(signal: NodeJS.Signals): Promise<void>;
  /** Resolves when it has ended; after five seconds it is killed whatever the signal was. */
  stop(signal: NodeJS.Signals): Promise<void>;
}

export async function startProgram(
  daemons: Daemons,
  options: Program & { readonly name: string; readonly netns: string; readonly logPath: string },
): Promise<NodeProgram> {
  const { name, netns, logPath } = options;
  mkdirSync(dirname(logPath), { recursive: true });
  await daemons.start({ name, ...inNamespace(netns, options), log: logPath });
  return {
    name,
    logPath,
    isRunning: () => daemons.isRunning(name),
    signal: (signal) => daemons.signal(name, signal),
    stop: (signal) => daemons.stop(name, signal),
  };
}
