// Trust suite: the objects that members and attackers send.

import {
  ENDPOINT_SHARE,
  type EndpointShareObject,
  SERVICE_SHARE,
  type ServiceShareObject,
} from "../../src/api/hubshare.ts";
import { endpointShareName } from "../../src/api/digest.ts";
import { serviceKey } from "../../src/api/names.ts";
import { apiVersionOf, type KubeObject, type ObjectMeta } from "../../src/api/object.ts";
import type { KubeClient } from "../../src/kube/client.ts";

export const WEB = serviceKey({ namespace: "shop", name: "web" });
export const SLICE = "web-abc";

export function aServiceShare(
  namespace: string,
  metadata: ObjectMeta = {},
  spec: Partial<ServiceShareObject["spec"]> = {},
): ServiceShareObject {
  return {
    apiVersion: apiVersionOf(SERVICE_SHARE),
    kind: SERVICE_SHARE.kind,
    metadata: { namespace, name: "shop.web", ...metadata },
    spec: {
      exportedAt: "2026-01-02T03:04:05Z",
      type: "ClusterSetIP",
      ports: [{ name: "http", protocol: "TCP", port: 80 }],
      ipFamilies: ["IPv4"],
      ...spec,
    },
  };
}

export function anEndpointShare(
  namespace: string,
  addresses: readonly string[] = ["10.1.0.1"],
  metadata: ObjectMeta = {},
): EndpointShareObject {
  return {
    apiVersion: apiVersionOf(ENDPOINT_SHARE),
    kind: ENDPOINT_SHARE.kind,
    metadata: { namespace, name: endpointShareName(WEB, SLICE), ...metadata },
    spec: {
      slice: SLICE,
      addressType: addresses[0]?.includes(":") === true ? "IPv6" : "IPv4",
      ports: [{ name: "http", protocol: "TCP", port: 8080 }],
      endpoints: addresses.map((address) => ({ addresses: [address] })),
    },
  };
}

export function anAccount(namespace: string, name: string): KubeObject {
  return { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name } };
}

export function aNamespace(name: string, metadata: ObjectMeta = {}): KubeObject {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, ...metadata } };
}

const UID = "00000000-0000-0000-0000-000000000000";

/** Metadata that no share and no Lease may carry. */
export const BAGGAGE: Readonly<Record<string, ObjectMeta>> = {
  labels: { labels: { a: "b" } },
  annotations: { annotations: { a: "b".repeat(100_000) } },
  finalizers: { finalizers: ["example.com/for-ever"] },
  owners: { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "gone", uid: UID }] },
};

export function withMetadata(object: KubeObject, metadata: ObjectMeta): KubeObject {
  return { ...object, metadata: { ...object.metadata, ...metadata } };
}

/** The verb `patch` by itself, without what server-side apply asks besides. */
export function patchAs(client: KubeClient, path: string, body: unknown) {
  const headers = { "content-type": "application/merge-patch+json" };
  return client.request("PATCH", path, { headers, body });
}
