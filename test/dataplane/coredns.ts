// Data-plane bed: CoreDNS of a cluster, as kubeadm installs it and `isthmus dns enable` leaves it: a cluster in, a Deployment of it
// behind the Service kube-dns out. What it may read is what that command gave it.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SERVICE } from "../../src/api/builtin.ts";
import { MEMBER_CRDS } from "../../src/api/crds.ts";
import { installCrds } from "../../src/controllers/crd.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import { systemClock } from "../../src/kube/clock.ts";
import { DEPLOYMENT } from "../../src/dns/coredns.ts";
import type { RealCluster } from "../controlplane/cluster.ts";
import { getCorefile, installCoreDns, writeKubeconfig } from "../dns/kubeadm.ts";
import type { Isthmus } from "../faults/command.ts";
import { runProgram } from "./node.ts";
import { type ClusterPlan, FABRIC4 } from "./plan.ts";

const NAMESPACE = "kube-system";
/** Its pod starts, kube-proxy learns of it, it learns of the cluster: one after the other, while all clusters start. */
const LIMIT_MS = 180_000;

/** Resolves when it answers over both of its service addresses. Needs kubelet and kube-proxy. */
export async function startCoreDns(options: {
  readonly plan: ClusterPlan;
  readonly control: RealCluster;
  readonly store: KubeClient;
  readonly isthmus: Isthmus;
}): Promise<void> {
  const { plan, control, store, isthmus } = options;
  const { kubeconfigPath } = control;
  const { folder } = control.daemons;
  const corefilePath = join(folder, "Corefile");
  const pod = { nodeName: plan.name, args: ["-conf", corefilePath] };
  // Nothing mounts a ConfigMap here: the pod starts when the file is what the ConfigMap says.
  await Promise.all([
    installCoreDns(store, { replicas: 0, pod }),
    installCrds({ store, crds: MEMBER_CRDS, clock: systemClock }),
  ]);
  await isthmus("dns", "enable", "--kubeconfig", kubeconfigPath);
  const identity = await writeKubeconfig(control, store, folder);
  writeFileSync(corefilePath, adapt(await getCorefile(store), identity));
  await store.create(SERVICE, {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: NAMESPACE, name: "kube-dns" },
    spec: {
      selector: { "k8s-app": "kube-dns" },
      clusterIP: plan.dns4,
      clusterIPs: [plan.dns4, plan.dns6],
      ipFamilyPolicy: "RequireDualStack",
      ports: [
        { name: "dns", protocol: "UDP", port: 53 },
        { name: "dns-tcp", protocol: "TCP", port: 53 },
      ],
    },
  });
  const deployment = await store.get(DEPLOYMENT, { namespace: NAMESPACE, name: "coredns" });
  if (deployment === undefined) throw new Error("The Deployment of CoreDNS is gone.");
  const spec = { ...deployment.spec, replicas: 1 };
  await store.replace(DEPLOYMENT, { ...deployment, spec });
  await untilAnswers(plan);
}

/** One program that asks until it is answered: many that ask once would cost more than all they wait for. */
async function untilAnswers({ name, dns4, dns6 }: ClusterPlan): Promise<void> {
  const script = `
    const { Resolver } = require("node:dns").promises;
    async function untilAnswered(server) {
      const resolver = new Resolver({ timeout: 250, tries: 1 });
      resolver.setServers([server]);
      const ask = () => resolver.resolve4("kubernetes.default.svc.cluster.local");
      while (!(await ask().catch(() => {}))) await new Promise((resolve) => setTimeout(resolve, 100));
    }
    Promise.all(process.argv.slice(1).map(untilAnswered));`;
  const args = ["-e", script, dns4, `[${dns6}]:53`];
  await runProgram(name, { file: process.execPath, args }, LIMIT_MS);
}

/** A kubeconfig in place of the files that a pod finds mounted, and no name server outside: there is none. */
function adapt(corefile: string, kubeconfigPath: string): string {
  return corefile
    .replace("forward . /etc/resolv.conf", `forward . ${FABRIC4}`)
    .replace("       pods insecure", `       kubeconfig ${kubeconfigPath}\n       pods insecure`);
}
