// Lies: what a member claims on the hub and is not so, as data in; its shares there written with its own credential out. It
// claims to be another cluster, or to have addresses that are another's. Its agent takes the lie back when it sees it.

import { endpointShareName, serviceShareName } from "../src/api/digest.ts";
import {
  ENDPOINT_SHARE,
  type EndpointShareObject,
  SERVICE_SHARE,
  type ServiceShareObject,
} from "../src/api/hubshare.ts";
import {
  type ClusterId,
  memberNamespace,
  serviceKey,
  SOURCE_CLUSTER_LABEL,
} from "../src/api/names.ts";
import { apiVersionOf, type KubeObject, type Resource } from "../src/api/object.ts";
import { isStoreError, type Store } from "../src/ports/store.ts";
import type { ServicePlace } from "./action.ts";

export interface Lie extends ServicePlace {
  /** Its shares as they are say whose they are; or there is one more, with an address that it does not have. */
  readonly lie: "name" | "address";
  /** Index of the cluster that it claims to be. */
  readonly as: number;
  readonly address: string;
}

export async function tellLie(
  hub: Store,
  lie: Lie,
  ids: { readonly own: ClusterId; readonly claimed: ClusterId },
): Promise<void> {
  const service = serviceKey(lie);
  const namespace = memberNamespace(ids.own);
  const labels = { [SOURCE_CLUSTER_LABEL]: ids.claimed };
  if (lie.lie === "name") {
    for (const resource of [SERVICE_SHARE, ENDPOINT_SHARE] as readonly Resource[]) {
      const { items } = await hub.list<KubeObject>(resource, { namespace });
      for (const share of items) {
        if (share.metadata.name?.startsWith(serviceShareName(service)) !== true) continue;
        const metadata = { ...share.metadata, labels };
        await quietly(hub.replace<KubeObject>(resource, { ...share, metadata }));
      }
    }
    return;
  }
  const slice = "invented";
  const endpoints: EndpointShareObject = {
    apiVersion: apiVersionOf(ENDPOINT_SHARE),
    kind: ENDPOINT_SHARE.kind,
    metadata: { namespace, name: endpointShareName(service, slice), labels },
    spec: {
      slice,
      addressType: "IPv4",
      ports: [{ name: "http", protocol: "TCP", port: 8080 }],
      endpoints: [{ addresses: [lie.address], conditions: { ready: true } }],
    },
  };
  await quietly(hub.create(ENDPOINT_SHARE, endpoints));
  const share: ServiceShareObject = {
    apiVersion: apiVersionOf(SERVICE_SHARE),
    kind: SERVICE_SHARE.kind,
    metadata: { namespace, name: serviceShareName(service), labels },
    spec: {
      exportedAt: "2026-01-01T00:00:00Z",
      type: "ClusterSetIP",
      ports: [{ name: "http", protocol: "TCP", port: 80 }],
      ipFamilies: ["IPv4"],
    },
  };
  await quietly(hub.create(SERVICE_SHARE, share));
}

/** What is there already stays, and who has just left is told so. */
async function quietly(attempt: Promise<unknown>): Promise<void> {
  try {
    await attempt;
  } catch (error) {
    if (!isStoreError(error, "NotFound", "AlreadyExists", "Conflict", "Forbidden")) throw error;
  }
}
