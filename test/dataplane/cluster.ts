// Data-plane bed: one cluster: a plan in, a control plane on a node of its own out, and for members what makes a node of it: a
// kubelet, a kube-proxy, a CoreDNS. The network has to be there.

import { createClient, type KubeClient } from "../../src/kube/client.ts";
import { systemClock } from "../../src/kube/clock.ts";
import { loadKubeconfig } from "../../src/kube/config.ts";
import { type RealCluster, startCluster } from "../controlplane/cluster.ts";
import type { Isthmus } from "../faults/command.ts";
import { startCoreDns } from "./coredns.ts";
import type { Fabric } from "./fabric.ts";
import type { Images } from "./images.ts";
import { type Kubelet, startKubelet } from "./kubelet.ts";
import { type ProxyMode, startKubeProxy } from "./kubeproxy.ts";
import { type NodeProgram, type Program, startProgram } from "./node.ts";
import { API_PORT, type ClusterPlan } from "./plan.ts";

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
  /** A power cut: its cable is pulled, so that not even an end of connection gets out, and every process of it is killed. */
  kill(): Promise<void>;
  /**
   * Power is back: same data, same pods, kube-proxy too; not what `runInNode` started. Resolves when servers and controllers
   * serve and kube-proxy has its rules; pods become ready later.
   */
  revive(): Promise<void>;
  stop(): Promise<void>;
}

export interface BedCluster extends BedControl {
  readonly kubelet: Kubelet;
}

/** What makes Pods of Deployments and StatefulSets. */
const WORKLOAD_CONTROLLERS = [
  "deployment-controller",
  "replicaset-controller",
  "statefulset-controller",
];

export async function startControl(plan: ClusterPlan, fabric: Fabric): Promise<BedControl> {
  const { name, address4, address6, api4, serviceCidrs } = plan;
  const control = await startCluster({
    name,
    serviceCidrs,
    controllerManager: true,
    controllers: WORKLOAD_CONTROLLERS,
    at: { netns: name, address: address4, port: API_PORT, addresses: [address4, address6, api4] },
  });
  const { kubeconfigPath, daemons, logsPath } = control;
  const config = loadKubeconfig({ paths: [kubeconfigPath], env: {}, home: "/nonexistent" });
  const store = createClient(config, { clock: systemClock });
  const programs = new Set<NodeProgram>();
  return {
    plan,
    control,
    store,
    kubeconfigPath,
    async runInNode(program) {
      const running = await startProgram(program, { daemons, logsPath, netns: name });
      programs.add(running);
      return running;
    },
    async kill() {
      await fabric.unplug(plan);
      const killed = [...programs].map((program) => program.stop("SIGKILL"));
      programs.clear();
      await Promise.all([control.kill(), ...killed]);
    },
    async revive() {
      await fabric.plugIn(plan);
      await control.revive();
    },
    async stop() {
      try {
        await store.close();
      } finally {
        await control.stop();
      }
    },
  };
}

export async function startMember(options: {
  readonly plan: ClusterPlan;
  readonly fabric: Fabric;
  readonly proxy: ProxyMode;
  /** They take a while, and only pods need them. */
  readonly images: Promise<Images>;
  readonly isthmus: Promise<Isthmus>;
}): Promise<BedCluster> {
  const { plan, fabric, proxy: mode } = options;
  const base = await startControl(plan, fabric);
  const { control, store } = base;
  try {
    const images = await options.images;
    const kubelet = await startKubelet({
      plan,
      client: store,
      images,
      logsPath: control.logsPath,
      folder: control.daemons.folder,
    });
    try {
      const startProxy = (): Promise<NodeProgram> => startKubeProxy({ mode, plan, control });
      const dns = options.isthmus.then((isthmus) =>
        startCoreDns({ plan, control, store, isthmus }),
      );
      const [proxy] = await Promise.all([startProxy(), dns]);
      await kubelet.tellZone();
      let currentProxy = proxy;
      return {
        ...base,
        kubelet,
        async kill() {
          await fabric.unplug(plan);
          await Promise.all([kubelet.kill(), currentProxy.stop("SIGKILL"), base.kill()]);
        },
        async revive() {
          await base.revive();
          [currentProxy] = await Promise.all([startProxy(), kubelet.revive()]);
        },
        async stop() {
          try {
            await kubelet.stop();
          } finally {
            await base.stop();
          }
        },
      };
    } catch (error) {
      await kubelet.stop();
      throw error;
    }
  } catch (error) {
    await base.stop();
    throw error;
  }
}
