// Test world: the demo's three clusters with a few services in them, made through their API servers, and a context to open them in.

import { onTestFinished } from "vitest";
import { ENDPOINT_SLICE, POD, SERVICE } from "../../src/api/builtin.ts";
import { SERVICE_EXPORT } from "../../src/api/mcs.ts";
import { SERVICE_NAME_LABEL, SOURCE_CLUSTER_LABEL } from "../../src/api/names.ts";
import { apiVersionOf } from "../../src/api/object.ts";
import { openDemoDashboard } from "../../src/cli/demo/dashboard.ts";
import { SHOP } from "../../src/cli/demo/shop.ts";
import { openWorld, type World } from "../../src/cli/demo/world.ts";
import { silentContext } from "../commandLine.ts";

type DemoCluster = World["clusters"]["east"];

export interface DemoShop extends World {
  readonly url: string;
}

export async function openDemoShop(): Promise<DemoShop> {
  const world = await openWorld(silentContext);
  onTestFinished(() => world.stop());
  const dashboard = await openDemoDashboard(silentContext, world);
  onTestFinished(() => dashboard.close());
  return { ...world, url: dashboard.url };
}

export interface Offer {
  readonly name: string;
  readonly pods: number;
  /** The Service's own; its pods have that of the demo. */
  readonly port: number;
  readonly isHeadless?: boolean;
}

/** A Service with its pods, and its export. */
export async function offer({ client }: DemoCluster, world: World, made: Offer): Promise<void> {
  const { name, pods, port, isHeadless = false } = made;
  const ports = [{ name: "http", port, targetPort: world.network.port }];
  await client.create(SERVICE, {
    apiVersion: apiVersionOf(SERVICE),
    kind: SERVICE.kind,
    metadata: { namespace: SHOP, name },
    spec: { selector: { app: name }, ports, ...(isHeadless ? { clusterIP: "None" } : {}) },
  });
  for (let nth = 1; nth <= pods; nth++) await addPod({ client }, name, nth);
  await client.create(SERVICE_EXPORT, {
    apiVersion: apiVersionOf(SERVICE_EXPORT),
    kind: SERVICE_EXPORT.kind,
    metadata: { namespace: SHOP, name },
  });
}

export async function addPod(
  { client }: Pick<DemoCluster, "client">,
  app: string,
  nth: number,
): Promise<void> {
  await client.create(POD, {
    apiVersion: apiVersionOf(POD),
    kind: POD.kind,
    metadata: { namespace: SHOP, name: `${app}-${nth}`, labels: { app } },
    spec: { containers: [{ name: app, image: app }] },
  });
}

/** Ready endpoints that this cluster's clients are led to, by the cluster they are of, as its API server has them. */
export async function readSources(
  { client }: DemoCluster,
  name: string,
): Promise<Readonly<Record<string, number>>> {
  const labelSelector = `${SERVICE_NAME_LABEL}=${name}`;
  const { items } = await client.list(ENDPOINT_SLICE, { namespace: SHOP, labelSelector });
  const counts: Record<string, number> = {};
  for (const { metadata, endpoints } of items) {
    const source = metadata.labels?.[SOURCE_CLUSTER_LABEL] ?? "";
    const ready = (endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
    counts[source] = (counts[source] ?? 0) + ready.length;
  }
  return counts;
}
