// Bench: what both DNS servers answer from: imports with a virtual IP and headless ones, on a real API server, and the
// questions that are drawn over all of them.

import { ENDPOINT_SLICE, type EndpointSlice } from "../src/api/builtin.ts";
import { SERVICE_IMPORT, type ServiceImport } from "../src/api/mcs.ts";
import { SERVICE_NAME_LABEL, SOURCE_CLUSTER_LABEL } from "../src/api/names.ts";
import type { KubeClient } from "../src/kube/client.ts";
import { SPACE } from "./access.ts";
import { forEach } from "./source.ts";

export const ZONE = "clusterset.local";
export const ENDPOINTS = 100;

export interface DnsWorld {
  readonly vips: number;
  readonly headless: number;
}

export async function fillDnsWorld(store: KubeClient, world: DnsWorld): Promise<void> {
  await forEach(world.vips, async (index) => {
    await store.create(SERVICE_IMPORT, renderVip(index));
  });
  await forEach(world.headless, async (index) => {
    await store.create(SERVICE_IMPORT, renderHeadless(index));
    await store.create(ENDPOINT_SLICE, renderEndpoints(index));
  });
}

/** In an order that no cache likes, the same for everybody. */
export function vipQuestions({ vips }: DnsWorld): string {
  return scatter(vips, (index) => `${vipName(index)}.${SPACE}.svc.${ZONE} A\n`);
}

export function headlessQuestions({ headless }: DnsWorld): string {
  return scatter(headless, (index) => `${headlessName(index)}.${SPACE}.svc.${ZONE} A\n`);
}

export function vipAddress(index: number): string {
  return `10.200.${index >> 8}.${index & 255}`;
}

export function endpointAddress(index: number, endpoint: number): string {
  return `10.64.${index}.${endpoint + 1}`;
}

export const vipName = (index: number): string => `web-${index}`;
export const headlessName = (index: number): string => `db-${index}`;

/** A prime step visits all of any count that it does not divide. */
function scatter(count: number, render: (index: number) => string): string {
  return Array.from({ length: count }, (_, turn) => render((turn * 7_919) % count)).join("");
}

function renderVip(index: number): ServiceImport {
  const ports = [{ name: "http", protocol: "TCP", port: 80 }] as const;
  return {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceImport",
    metadata: { namespace: SPACE, name: vipName(index) },
    spec: { type: "ClusterSetIP", ips: [vipAddress(index)], ipFamilies: ["IPv4"], ports },
  };
}

function renderHeadless(index: number): ServiceImport {
  const ports = [{ name: "db", protocol: "TCP", port: 5432 }] as const;
  return {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceImport",
    metadata: { namespace: SPACE, name: headlessName(index) },
    spec: { type: "Headless", ipFamilies: ["IPv4"], ports },
  };
}

function renderEndpoints(index: number): EndpointSlice {
  const name = headlessName(index);
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace: SPACE,
      name: `${name}-east`,
      labels: { [SERVICE_NAME_LABEL]: name, [SOURCE_CLUSTER_LABEL]: "east" },
    },
    addressType: "IPv4",
    endpoints: Array.from({ length: ENDPOINTS }, (_, endpoint) => ({
      addresses: [endpointAddress(index, endpoint)],
      hostname: `${name}-${endpoint}`,
      conditions: { ready: true },
    })),
    ports: [{ name: "db", protocol: "TCP", port: 5432 }],
  };
}
