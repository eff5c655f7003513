// Scenario suite: the objects that users of the clusters write, as small as an API server lets them be.

import type {
  Endpoint,
  EndpointPort,
  EndpointSlice,
  Pod,
  Service,
  ServicePort,
  ServiceSpec,
} from "../../src/api/builtin.ts";
import type { ServiceExport, ServiceImport } from "../../src/api/mcs.ts";
import { KUBE_SERVICE_NAME_LABEL, MANAGED_BY_LABEL } from "../../src/api/names.ts";

export const HTTP: ServicePort = { name: "http", protocol: "TCP", port: 80, targetPort: 8080 };

/** One family: without a selector an API server would give it all that it has. */
export const HEADLESS: ServiceSpec = {
  clusterIP: "None",
  ipFamilyPolicy: "SingleStack",
  ipFamilies: ["IPv4"],
};

/** Without a selector: its slices are written by hand, so that no controller has to be there. */
export function aService(namespace: string, name: string, spec: ServiceSpec = {}): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace, name },
    spec: { ports: [HTTP], ...spec },
  };
}

export function anExport(
  namespace: string,
  name: string,
  spec?: ServiceExport["spec"],
): ServiceExport {
  return {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceExport",
    metadata: { namespace, name },
    ...(spec === undefined ? {} : { spec }),
  };
}

export function anImport(
  namespace: string,
  name: string,
  spec: Partial<NonNullable<ServiceImport["spec"]>> = {},
): ServiceImport {
  return {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceImport",
    metadata: { namespace, name },
    spec: {
      type: "ClusterSetIP",
      ports: [{ name: "http", protocol: "TCP", port: 80 }],
      ...spec,
    },
  };
}

/** A slice of a Service of this cluster, as another controller would write it. */
export function aSlice(
  namespace: string,
  name: string,
  fields: {
    readonly service?: string;
    readonly endpoints: readonly Endpoint[];
    readonly ports?: readonly EndpointPort[];
    readonly labels?: Readonly<Record<string, string>>;
  },
): EndpointSlice {
  const { service, endpoints, ports = [{ name: "http", protocol: "TCP", port: 8080 }] } = fields;
  const isIpv6 = endpoints[0]?.addresses[0]?.includes(":") === true;
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace,
      name,
      labels: {
        [MANAGED_BY_LABEL]: "scenarios.example.com",
        ...(service === undefined ? {} : { [KUBE_SERVICE_NAME_LABEL]: service }),
        ...fields.labels,
      },
    },
    addressType: isIpv6 ? "IPv6" : "IPv4",
    endpoints,
    ports,
  };
}

export function anEndpoint(address: string, fields: Partial<Endpoint> = {}): Endpoint {
  return {
    addresses: [address],
    conditions: { ready: true, serving: true, terminating: false },
    ...fields,
  };
}

/** On a node that need not exist: no kubelet is asked, its status is written by hand. */
export function aPod(namespace: string, name: string): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace, name, labels: { app: "web" } },
    spec: {
      nodeName: "node-1",
      containers: [{ name: "web", image: "web", ports: [{ containerPort: 8080 }] }],
    },
  };
}
