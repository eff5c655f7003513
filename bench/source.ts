// Bench: the exported services that exist before a measurement: made, taken away, made anew. Many requests at once, because
// only the state that they leave matters.

import { ENDPOINT_SLICE, type Endpoint, type EndpointSlice, SERVICE } from "../src/api/builtin.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT } from "../src/api/mcs.ts";
import {
  KUBE_SERVICE_NAME_LABEL,
  MANAGED_BY_LABEL,
  MANAGED_LABEL,
  SOURCE_CLUSTER_LABEL,
} from "../src/api/names.ts";
import type { Resource } from "../src/api/object.ts";
import type { KubeClient } from "../src/kube/client.ts";
import { buildPath } from "../src/kube/path.ts";
import { SPACE } from "./access.ts";
import type { Fleet } from "./fleet.ts";

const PORT = { name: "http", protocol: "TCP" as const };
const TIMED_OUT = 504;
const MOST_DELETES = 10;
const AT_ONCE = 16;

export function serviceName(index: number): string {
  return `service-${index}`;
}

/** So many exported services, so many endpoints each. */
export interface Size {
  readonly services: number;
  readonly endpoints: number;
}

/** `change` tells the versions of one slice apart by the address of its first endpoint. */
export function renderSource(index: number, endpoints: number, change = 0): EndpointSlice {
  const name = serviceName(index);
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace: SPACE,
      name,
      labels: { [MANAGED_BY_LABEL]: "bench.example.com", [KUBE_SERVICE_NAME_LABEL]: name },
    },
    addressType: "IPv4",
    endpoints: [addressOf(change), ...Array.from({ length: endpoints - 1 }, fixedAddress)].map(
      renderEndpoint,
    ),
    ports: [{ ...PORT, port: 8080 }],
  };
}

function addressOf(change: number): string {
  return `10.64.${Math.floor(change / 250)}.${change % 250}`;
}

/** The change that the address stands for. */
export function changeOf(address: string): number {
  const [, , hundreds = 0, ones = 0] = address.split(".").map(Number);
  return hundreds * 250 + ones;
}

function fixedAddress(_: unknown, index: number): string {
  return `10.32.0.${index + 1}`;
}

function renderEndpoint(address: string, index: number): Endpoint {
  return {
    addresses: [address],
    conditions: { ready: true, serving: true, terminating: false },
    nodeName: `node-${index}`,
    zone: `zone-${index % 3}`,
  };
}

export async function createServices(
  client: KubeClient,
  { services, endpoints }: Size,
): Promise<void> {
  await forEach(services, async (index) => {
    await client.create(SERVICE, {
      apiVersion: "v1",
      kind: "Service",
      metadata: { namespace: SPACE, name: serviceName(index) },
      spec: { ports: [{ ...PORT, port: 80 }] },
    });
    await client.create(ENDPOINT_SLICE, renderSource(index, endpoints));
  });
}

/** Every slice as it was made. */
export async function resetServices(
  client: KubeClient,
  { services, endpoints }: Size,
): Promise<void> {
  await forEach(services, (index) =>
    client.replace(ENDPOINT_SLICE, renderSource(index, endpoints)),
  );
}

export async function createExports(client: KubeClient, count: number): Promise<void> {
  await forEach(count, (index) =>
    client.create(SERVICE_EXPORT, {
      apiVersion: "multicluster.x-k8s.io/v1beta1",
      kind: "ServiceExport",
      metadata: { namespace: SPACE, name: serviceName(index) },
    }),
  );
}

/** All that an import consists of, and the exports, whose status is written too. The services stay. */
export async function removeImports({ both }: Fleet): Promise<void> {
  for (const client of both) {
    await removeAll(client, SERVICE_EXPORT);
    await removeAll(client, SERVICE_IMPORT);
    await removeAll(client, SERVICE, `${MANAGED_LABEL}=true`);
    await removeAll(client, ENDPOINT_SLICE, SOURCE_CLUSTER_LABEL);
  }
}

export async function removeAll(
  client: KubeClient,
  resource: Resource,
  labelSelector?: string,
): Promise<void> {
  const path = buildPath(resource, { namespace: SPACE });
  const query = labelSelector === undefined ? {} : { labelSelector };
  // A server leaves what takes it longer than a minute, thousands of objects on a busy machine; asked again it goes on.
  for (let left = MOST_DELETES; ; left--) {
    const { status } = await client.request("DELETE", path, { query });
    if (status === 200) return;
    if (status === TIMED_OUT && left > 0) continue;
    throw new Error(`DELETE ${path} was answered with ${status}`);
  }
}

/** Some at a time. */
export async function forEach(
  count: number,
  work: (index: number) => Promise<unknown>,
  atOnce = AT_ONCE,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
