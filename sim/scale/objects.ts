// Objects: one export of a layout in; the Service, ServiceExport and EndpointSlices that its users write out. Pure.

import type { EndpointSlice, Service } from "../../src/api/builtin.ts";
import type { ServiceExport } from "../../src/api/mcs.ts";
import { KUBE_SERVICE_NAME_LABEL, MANAGED_BY_LABEL } from "../../src/api/names.ts";
import type { Export } from "./layout.ts";

const NODES = 50;
const ZONES = ["a", "b", "c"];

export function renderService({ namespace, name }: Export): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace, name },
    spec: {
      type: "ClusterIP",
      ipFamilyPolicy: "SingleStack",
      ipFamilies: ["IPv4"],
      ports: [{ name: "http", protocol: "TCP", port: 80, targetPort: 8080 }],
    },
  };
}

export function renderExport({ namespace, name }: Export): ServiceExport {
  return {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceExport",
    metadata: { namespace, name },
  };
}

/** As the endpoint slice controller writes it. */
export function renderSlice(exported: Export, slice: number): EndpointSlice {
  const { namespace, name, slices } = exported;
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace,
      name: `${name}-${slice}`,
      labels: { [MANAGED_BY_LABEL]: "users.example.com", [KUBE_SERVICE_NAME_LABEL]: name },
    },
    addressType: "IPv4",
    endpoints: (slices[slice] ?? []).map((address, at) => ({
      addresses: [address],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName: `node-${at % NODES}`,
      zone: `eu-west-1${ZONES[at % ZONES.length]}`,
    })),
    ports: [{ name: "http", protocol: "TCP", port: 8080 }],
  };
}
