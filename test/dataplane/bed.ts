// Data-plane bed: a kube-proxy mode in, three clusters with nodes, pods and names on one network out, and a hub when one is
// needed. Only inside the namespaces that `npm run test:dataplane` makes; all of it is gone after stop, or when they end.

import type { KubeClient } from "../../src/kube/client.ts";
import type { RealCluster } from "../controlplane/cluster.ts";
import type { Isthmus } from "../faults/command.ts";
import type { Kubelet } from "./kubelet.ts";
import type { Program, NodeProgram } from "./node.ts";
import type { ClusterPlan, MemberName } from "./plan.ts";

export type ProxyMode = "iptables" | "nftables";

/** A control plane on a node of its own. */
export interface BedControl {
  readonly plan: ClusterPlan;
  readonly control: RealCluster;
  /** As administrator. */
  readonly store: KubeClient;
  /** Of the administrator; good in the fabric, in every node and in every pod. */
  readonly kubeconfigPath: string;
  /** On the node, beside its pods; ends with the cluster. */
  runInNode(program: Program): Promise<NodeProgram>;
  /** A power cut: SIGKILL to every process of it, pods included, then its cable is pulled, so that packets vanish. */
  kill(): Promise<void>;
  /** Power is back: same data, same pods, kube-proxy too; not what `runInNode` started. Resolves when the API server and the
   *  controllers serve; pods become ready later. */
  revive(): Promise<void>;
  /** Only the cable: packets from and to it vanish, inside all goes on. */
  unplug(): Promise<void>;
  plugIn(): Promise<void>;
}

export interface BedCluster extends BedControl {
  readonly kubelet: Kubelet;
}

export interface Bed {
  readonly proxy: ProxyMode;
  readonly clusters: Readonly<Record<MemberName, BedCluster>>;
  readonly hub?: BedControl;
  /** The bundled command, for `node <isthmusPath> agent …`. */
  readonly isthmusPath: string;
  /** Runs the bundled command in the fabric, to its end. */
  readonly isthmus: Isthmus;
  /** For files of the bed's users; goes with the bed. */
  readonly folder: string;
  /** In the fabric itself, where no cluster's death reaches it. */
  runInFabric(program: Program): Promise<NodeProgram>;
  stop(): Promise<void>;
}

export interface BedOptions {
  readonly proxy: ProxyMode;
  readonly isHubNeeded: boolean;
}

export function startBed(options: BedOptions): Promise<Bed> {
  throw new Error(`no bed for ${options.proxy} yet`);
}
