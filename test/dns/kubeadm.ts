// Test tool: CoreDNS in a cluster as kubeadm installs it: ConfigMap, Deployment, ServiceAccount and its role. No pod runs; a
// CoreDNS beside the cluster takes the Corefile and the ServiceAccount's token instead.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CONFIG_MAP, NAMESPACE, SERVICE_ACCOUNT } from "../../src/api/builtin.ts";
import { SERVICE_IMPORT } from "../../src/api/mcs.ts";
import { apiVersionOf, type KubeObject, type Resource } from "../../src/api/object.ts";
import { CLUSTER_ROLE, CLUSTER_ROLE_BINDING, roleRef } from "../../src/api/rbac.ts";
import { renderTokenRequest } from "../../src/hub/manifest/tokenrequest.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import { systemClock } from "../../src/kube/clock.ts";
import { requestToken } from "../../src/kube/tokenrequest.ts";
import { DEPLOYMENT } from "../../src/dns/coredns.ts";
import type { RealCluster } from "../controlplane/cluster.ts";
import { type RealCoreDns, startCoreDns } from "../controlplane/coredns.ts";
import { askOnce } from "./ask.ts";
import { COREFILE } from "./corefile.ts";

const PLACE = { namespace: "kube-system", name: "coredns" };
const LABELS = { "k8s-app": "kube-dns" };
export const COREDNS_IMAGE = "registry.k8s.io/coredns/coredns:v1.15.0";

function an<T extends KubeObject>(
  resource: Resource<T>,
  metadata: KubeObject["metadata"],
  content: object = {},
): T {
  const { kind } = resource;
  return { apiVersion: apiVersionOf(resource), kind, metadata, ...content } as unknown as T;
}

/** Puts all of it as it is after `kubeadm init`, whatever it was. */
export async function installCoreDns(
  store: KubeClient,
  options: {
    readonly image?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly replicas?: number;
    /** Where its pods run, and with what. */
    readonly pod?: { readonly nodeName: string; readonly args: readonly string[] };
  } = {},
): Promise<void> {
  const { image = COREDNS_IMAGE, labels, replicas = 1, pod } = options;
  for (const resource of [CONFIG_MAP, DEPLOYMENT]) await store.delete(resource, PLACE);
  await store.create(
    CONFIG_MAP,
    an(CONFIG_MAP, { ...PLACE, ...(labels && { labels }) }, { data: { Corefile: COREFILE } }),
  );
  await store.create(
    DEPLOYMENT,
    an(DEPLOYMENT, PLACE, {
      spec: {
        replicas,
        selector: { matchLabels: LABELS },
        template: {
          metadata: { labels: LABELS },
          spec: {
            serviceAccountName: "coredns",
            ...(pod && { nodeName: pod.nodeName }),
            containers: [{ name: "coredns", image, ...(pod && { args: pod.args }) }],
          },
        },
      },
    }),
  );
  const apply = { fieldManager: "kubeadm", force: true };
  await store.apply(SERVICE_ACCOUNT, an(SERVICE_ACCOUNT, PLACE), apply);
  const rules = [
    {
      apiGroups: [""],
      resources: ["endpoints", "services", "pods", "namespaces"],
      verbs: ["list", "watch"],
    },
    { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
  ];
  const name = "system:coredns";
  await store.apply(CLUSTER_ROLE, an(CLUSTER_ROLE, { name }, { rules }), apply);
  const binding = {
    roleRef: roleRef("ClusterRole", name),
    subjects: [{ kind: "ServiceAccount", ...PLACE }],
  };
  await store.apply(CLUSTER_ROLE_BINDING, an(CLUSTER_ROLE_BINDING, { name }, binding), apply);
}

export async function getCorefile(store: KubeClient): Promise<string> {
  return (await store.get(CONFIG_MAP, PLACE))?.data?.["Corefile"] ?? "";
}

/** With no right but those of CoreDNS's ServiceAccount. */
export async function writeKubeconfig(
  cluster: RealCluster,
  store: KubeClient,
  folder: string,
): Promise<string> {
  const order = renderTokenRequest({ account: PLACE, seconds: 3_600 });
  const token = await requestToken(store, order, {
    nowMs: systemClock.now(),
    signal: new AbortController().signal,
  });
  const ca = Buffer.from(cluster.caPem).toString("base64");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      { name: "here", cluster: { server: cluster.url, "certificate-authority-data": ca } },
    ],
    users: [{ name: "coredns", user: { token } }],
    contexts: [{ name: "here", context: { cluster: "here", user: "coredns" } }],
    "current-context": "here",
  };
  const path = join(folder, "coredns-kubeconfig.json");
  writeFileSync(path, JSON.stringify(config));
  return path;
}

/**
 * Runs a Corefile of a cluster outside of it: other ports and addresses, a kubeconfig instead of the pod's identity; everything
 * else is as it is. Resolves when names that do not exist are denied: CoreDNS has read the cluster then.
 */
export function runCorefile(
  corefile: string,
  kubeconfigPath: string,
  isReady = (address: { readonly host: string; readonly port: number }): Promise<boolean> =>
    denies(address, "nobody.nowhere.svc.cluster.local"),
): Promise<RealCoreDns> {
  return startCoreDns({
    corefile: ({ host, port }) =>
      corefile
        .replaceAll(/:53(?= )/gu, `:${port}`)
        .replaceAll("    errors\n", `    errors\n    bind ${host}\n`)
        .replace("    health {", `    health ${host}:0 {`)
        .replace("    ready\n", `    ready ${host}:0\n`)
        .replace("prometheus :9153", `prometheus ${host}:0`)
        .replace("forward . /etc/resolv.conf", `forward . ${host}:1`)
        .replace(
          "       pods insecure",
          `       kubeconfig ${kubeconfigPath}\n       pods insecure`,
        ),
    isReady,
  });
}

export async function denies(
  address: { readonly host: string; readonly port: number },
  name: string,
): Promise<boolean> {
  return (await askOnce(address, { name, type: "A" }, { timeoutMs: 1_000 })).rcode === "NXDOMAIN";
}

/** An import with a virtual IP, shop/web, for a CoreDNS to answer. */
export async function createWeb(store: KubeClient): Promise<void> {
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } };
  await store.create(NAMESPACE, namespace);
  await store.create(SERVICE_IMPORT, {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceImport",
    metadata: { namespace: "shop", name: "web" },
    spec: { type: "ClusterSetIP", ips: ["10.201.0.7"], ports: [{ port: 80, protocol: "TCP" }] },
  });
}
