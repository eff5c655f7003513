// Data plane: what users of a cluster write, as plain data: a name, a node and a few wishes in; namespaces, Deployments,
// Services and ServiceExports out. Talks to nobody.

import type { Namespace, Service, ServicePort, ServiceSpec } from "../../src/api/builtin.ts";
import type { ServiceExport } from "../../src/api/mcs.ts";
import { defineResource, type KubeObject, type ObjectMeta } from "../../src/api/object.ts";
import type { FlowProtocol } from "./programs/tally.ts";

/** The pods' own numbers are others: a port that nobody translates shows. */
export const SERVICE_PORTS: Readonly<Record<FlowProtocol, ServicePort>> = {
  tcp: { name: "tcp", protocol: "TCP", port: 70, targetPort: 7000 },
  udp: { name: "udp", protocol: "UDP", port: 71, targetPort: 7001 },
  http: { name: "http", protocol: "TCP", port: 80, targetPort: 8080 },
};

interface PodTemplate {
  readonly metadata: ObjectMeta;
  readonly spec: object;
}

/** Deployment or StatefulSet. */
export interface Workload extends KubeObject {
  readonly spec: {
    readonly replicas: number;
    readonly selector: object;
    readonly template: PodTemplate;
    /** Of a Deployment. */
    readonly strategy?: object;
    /** Of a StatefulSet. */
    readonly serviceName?: string;
    readonly podManagementPolicy?: "OrderedReady" | "Parallel";
  };
}

export const DEPLOYMENT = defineResource<Workload>({
  apiVersion: "apps/v1",
  kind: "Deployment",
  plural: "deployments",
  namespaced: true,
});
export const STATEFUL_SET = defineResource<Workload>({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  plural: "statefulsets",
  namespaced: true,
});

export function aNamespace(name: string): Namespace {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name } };
}

/** One pod, labelled `app: <name>`. There is no scheduler: whoever makes a pod says where it runs. */
export function aDeployment(options: {
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  readonly container: object;
}): Workload {
  const { namespace, name, node, container } = options;
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace, name },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { nodeName: node, containers: [container] } },
    },
  };
}

/** Dual stack, IPv4 first. */
export function aService(namespace: string, name: string, spec: ServiceSpec = {}): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace, name },
    spec: {
      selector: { app: name },
      ipFamilyPolicy: "RequireDualStack",
      ipFamilies: ["IPv4", "IPv6"],
      ports: Object.values(SERVICE_PORTS),
      ...spec,
    },
  };
}

export function anExport(namespace: string, name: string): ServiceExport {
  return {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceExport",
    metadata: { namespace, name },
  };
}

/** What `kubectl rollout restart` does to it. */
export function restarted(workload: Workload, at: string): Workload {
  const { template } = workload.spec;
  const annotations = { ...template.metadata.annotations, "kubectl.kubernetes.io/restartedAt": at };
  const metadata = { ...template.metadata, annotations };
  return { ...workload, spec: { ...workload.spec, template: { ...template, metadata } } };
}
