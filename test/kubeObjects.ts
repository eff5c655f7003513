// Builders for the objects that an export and an import are made of: all about the service "shop/web".

import {
  ENDPOINT_SLICE,
  type Endpoint,
  type EndpointSlice,
  SERVICE,
  type Service,
  type ServiceSpec,
} from "../src/api/builtin.ts";
import {
  SERVICE_EXPORT,
  SERVICE_IMPORT,
  type ServiceExport,
  type ServiceImport,
} from "../src/api/mcs.ts";
import { KUBE_SERVICE_NAME_LABEL } from "../src/api/names.ts";
import {
  apiVersionOf,
  type KubeObject,
  type ObjectMeta,
  type Resource,
} from "../src/api/object.ts";
import type { Write } from "../src/core/write.ts";

const SHOP_WEB = { namespace: "shop", name: "web" };

function head<T extends KubeObject>(resource: Resource<T>, metadata: ObjectMeta) {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata };
}

/** As the API server would have it: ClusterIP, one port, with defaults. */
export function aService(spec: ServiceSpec = {}, metadata: ObjectMeta = {}): Service {
  return {
    ...head(SERVICE, { ...SHOP_WEB, ...metadata }),
    spec: {
      type: "ClusterIP",
      clusterIP: "10.96.0.9",
      clusterIPs: ["10.96.0.9"],
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      selector: { app: "web" },
      ports: [{ name: "http", protocol: "TCP", port: 80, targetPort: 8080 }],
      sessionAffinity: "None",
      internalTrafficPolicy: "Cluster",
      ...spec,
    },
  };
}

export function aServiceExport(
  spec: ServiceExport["spec"] = {},
  metadata: ObjectMeta = {},
): ServiceExport {
  const creationTimestamp = "2026-01-01T00:00:00Z";
  return {
    ...head(SERVICE_EXPORT, { ...SHOP_WEB, creationTimestamp, generation: 1, ...metadata }),
    spec,
  };
}

export function aSlice(
  endpoints: readonly Endpoint[],
  fields: Partial<Omit<EndpointSlice, "endpoints">> = {},
): EndpointSlice {
  return {
    ...head(ENDPOINT_SLICE, {
      ...SHOP_WEB,
      name: "web-1",
      labels: { [KUBE_SERVICE_NAME_LABEL]: "web" },
    }),
    addressType: "IPv4",
    ports: [{ name: "http", protocol: "TCP", port: 8080 }],
    endpoints,
    ...fields,
  };
}

/** Written by an administrator: no label of ours. */
export function aHandmadeImport(
  spec: Partial<NonNullable<ServiceImport["spec"]>> = {},
  metadata: ObjectMeta = {},
): ServiceImport {
  return {
    ...head(SERVICE_IMPORT, { ...SHOP_WEB, ...metadata }),
    spec: { type: "ClusterSetIP", ports: [{ name: "http", protocol: "TCP", port: 80 }], ...spec },
  };
}

/** A write by somebody else. */
export function anApply<T extends KubeObject>(
  resource: Resource<T>,
  object: T,
): Extract<Write, { verb: "apply" }> {
  return { verb: "apply", resource, object };
}
