// Demo: the shop that the story is about: the objects that its owners write, all through the API servers.

import { CLUSTER_PROPERTY } from "../../api/about.ts";
import {
  ENDPOINT_SLICE,
  NAMESPACE,
  type Pod,
  POD,
  SERVICE,
  type Service,
} from "../../api/builtin.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT } from "../../api/mcs.ts";
import { CLUSTER_ID_PROPERTY, SERVICE_NAME_LABEL, SOURCE_CLUSTER_LABEL } from "../../api/names.ts";
import { apiVersionOf, type Condition, type KubeObject, type Resource } from "../../api/object.ts";
import type { Store } from "../../ports/store.ts";

export const SHOP = "shop";
export const CHECKOUT = { namespace: SHOP, name: "checkout" } as const;
export const CHECKOUT_NAME = `${CHECKOUT.name}.${SHOP}.svc.clusterset.local`;
const PORT_NAME = "http";
/** Selects the slices of all clusters. */
export const IMPORTED = `${SERVICE_NAME_LABEL}=${CHECKOUT.name}`;

interface Owner {
  readonly name: string;
  readonly client: Store;
}

/** Tells the cluster who it is, and makes room for the shop. */
export async function nameCluster({ name, client }: Owner): Promise<void> {
  await create(client, CLUSTER_PROPERTY, {
    metadata: { name: CLUSTER_ID_PROPERTY },
    spec: { value: name },
  });
  await create(client, NAMESPACE, { metadata: { name: SHOP } });
}

export async function createCheckout(owner: Owner, port: number): Promise<void> {
  const spec = { selector: { app: CHECKOUT.name }, ports: [renderPort(port, port)] };
  await create<Service>(owner.client, SERVICE, { metadata: CHECKOUT, spec });
}

/** The Service's own port; its pods stay where they are. */
export async function changePort(
  { name, client }: Owner,
  ports: { readonly to: number; readonly podPort: number },
): Promise<void> {
  const service = await client.get(SERVICE, CHECKOUT);
  if (service === undefined) throw new Error(`${name} has lost its Service`);
  const spec = { ...service.spec, ports: [renderPort(ports.to, ports.podPort)] };
  await client.replace(SERVICE, { ...service, spec });
}

function renderPort(port: number, targetPort: number) {
  return { name: PORT_NAME, port, targetPort };
}

/** The image is never pulled: the demo's kubelet runs the same tiny server for every pod. */
export function renderPod(name: string): Pod {
  return {
    apiVersion: apiVersionOf(POD),
    kind: POD.kind,
    metadata: { namespace: SHOP, name, labels: { app: CHECKOUT.name } },
    spec: { containers: [{ name: CHECKOUT.name, image: CHECKOUT.name }] },
  };
}

export async function createPods({ client }: Owner, names: readonly string[]): Promise<void> {
  for (const name of names) await client.create(POD, renderPod(name));
}

export function renderExport(): KubeObject {
  return {
    apiVersion: apiVersionOf(SERVICE_EXPORT),
    kind: SERVICE_EXPORT.kind,
    metadata: CHECKOUT,
  };
}

export async function exportCheckout({ client }: Owner): Promise<void> {
  await client.create(SERVICE_EXPORT, renderExport());
}

export async function unexportCheckout({ client }: Owner): Promise<void> {
  await client.delete(SERVICE_EXPORT, CHECKOUT);
}

export async function findConflict({ client }: Owner): Promise<Condition | undefined> {
  const serviceExport = await client.get(SERVICE_EXPORT, CHECKOUT);
  return serviceExport?.status?.conditions?.find(({ type }) => type === "Conflict");
}

/** Undefined until there is one. */
export async function findVirtualIp({ client }: Owner): Promise<string | undefined> {
  const serviceImport = await client.get(SERVICE_IMPORT, CHECKOUT);
  return serviceImport?.spec?.ips?.[0];
}

/** How many endpoints of each cluster this one may use: ready, and with the port. */
export async function countUsable({ client }: Owner): Promise<ReadonlyMap<string, number>> {
  const page = await client.list(ENDPOINT_SLICE, { namespace: SHOP, labelSelector: IMPORTED });
  const counts = new Map<string, number>();
  for (const { metadata, endpoints, ports } of page.items) {
    const source = metadata.labels?.[SOURCE_CLUSTER_LABEL] ?? "";
    const hasPort = (ports ?? []).some(({ name }) => name === PORT_NAME);
    const ready = (endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
    if (hasPort && ready.length > 0) counts.set(source, (counts.get(source) ?? 0) + ready.length);
  }
  return counts;
}

async function create<T extends KubeObject>(
  store: Store,
  resource: Resource<T>,
  object: Omit<T, "apiVersion" | "kind">,
): Promise<void> {
  const typed = { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object };
  await store.create(resource, typed as unknown as T);
}
