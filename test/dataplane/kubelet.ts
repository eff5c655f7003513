// A kubelet without containers: Pods of one node in, processes in network namespaces of their own and the Pods' status
// out. Level-triggered. Never schedules, never pulls.

import type { KubeClient } from "../../src/kube/client.ts";
import type { Images } from "./images.ts";
import type { NodePlan } from "./podnetwork.ts";

/** On a Pod: "false" makes it not ready, whatever its process says. */
export const READY_ANNOTATION = "isthmus.test/ready";

export interface KubeletOptions {
  readonly plan: NodePlan;
  /** With the rights of an administrator. */
  readonly client: KubeClient;
  readonly images: Images;
  /** For the pods' logs: `<namespace>.<pod>.<container>.log`. */
  readonly logsPath: string;
}

export interface Kubelet {
  /** A power cut: every process of its pods is killed on the spot, and nothing is told to the API server. Keeps the namespaces. */
  kill(): Promise<void>;
  /** After `kill`: the same pods at the same addresses, not ready until their processes are. Needs the API server. */
  revive(): Promise<void>;
  /** Kills the pods and removes their namespaces; tells nobody. */
  stop(): Promise<void>;
}

/** Resolves when the Node is registered and the Pods have been listed. */
export async function startKubelet(_options: KubeletOptions): Promise<Kubelet> {
  throw new Error("The kubelet is not there yet.");
}
