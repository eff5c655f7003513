// User actions: data in, done to one cluster as its user does it out. What does not fit the state is left undone: worlds are
// drawn without knowing what became of them, and a schedule stays legal whatever is taken out of it.

import {
  ENDPOINT_SLICE,
  type Endpoint,
  type EndpointSlice,
  NAMESPACE,
  SERVICE,
  type Service,
  type ServicePort,
} from "../src/api/builtin.ts";
import { derivedServiceName } from "../src/api/digest.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT, type ServiceExport } from "../src/api/mcs.ts";
import {
  KUBE_SERVICE_NAME_LABEL,
  MANAGED_BY_LABEL,
  SERVICE_NAME_LABEL,
  serviceKey,
  SLICE_MANAGER,
  WHEN_LOST_ANNOTATION,
} from "../src/api/names.ts";
import type { KubeObject, ObjectRef, Resource } from "../src/api/object.ts";
import { isStoreError, type Store } from "../src/ports/store.ts";

export interface ServicePlace {
  /** Index of the cluster. */
  readonly cluster: number;
  readonly namespace: string;
  readonly name: string;
}

export type EndpointState = "ready" | "unready" | "terminating";

export interface ServiceShape {
  readonly type: "ClusterIP" | "Headless" | "ExternalName";
  /** Index into the sets of ports. */
  readonly ports: number;
  readonly affinity: "None" | "ClientIP";
  readonly distribution?: string;
}

export type Action =
  | ({ readonly do: "service"; readonly shape: ServiceShape } & ServicePlace)
  | ({ readonly do: "delete service" } & ServicePlace)
  | ({
      readonly do: "export";
      readonly labels?: Readonly<Record<string, string>>;
      readonly whenLost?: string;
    } & ServicePlace)
  | ({ readonly do: "unexport" } & ServicePlace)
  | ({
      readonly do: "endpoints";
      readonly slice: number;
      readonly endpoints: readonly { readonly host: number; readonly state: EndpointState }[];
    } & ServicePlace)
  | ({ readonly do: "delete endpoints"; readonly slice: number } & ServicePlace)
  | ({ readonly do: "meddle"; readonly with: "slices" | "service" | "import" } & ServicePlace)
  | { readonly do: "namespace"; readonly cluster: number; readonly namespace: string }
  | { readonly do: "delete namespace"; readonly cluster: number; readonly namespace: string }
  | { readonly do: "drain"; readonly cluster: number };

export const PORT_SETS: readonly (readonly ServicePort[])[] = [
  [{ name: "http", protocol: "TCP", port: 80, targetPort: 8080 }],
  [{ protocol: "TCP", port: 80, targetPort: 8080 }],
  [
    { name: "http", protocol: "TCP", port: 80, targetPort: 8080 },
    { name: "grpc", protocol: "TCP", port: 9090, targetPort: 9090 },
  ],
  [{ name: "http", protocol: "UDP", port: 80, targetPort: 8080 }],
  [{ name: "http", protocol: "TCP", port: 8081, targetPort: 8080, appProtocol: "http" }],
];

/** Not ours and not the API server's own. */
const USER_SLICES = "users.example.com";

export async function act(store: Store, action: Action): Promise<void> {
  switch (action.do) {
    case "service":
      return putService(store, action, action.shape);
    case "delete service":
      return remove(store, SERVICE, action);
    case "export":
      return putExport(store, action);
    case "unexport":
      return remove(store, SERVICE_EXPORT, action);
    case "endpoints":
      return putSlice(store, action);
    case "delete endpoints":
      return remove(store, ENDPOINT_SLICE, { ...action, name: sliceName(action) });
    case "meddle":
      return meddle(store, action);
    case "namespace":
      return create(store, NAMESPACE, {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: action.namespace },
      });
    case "delete namespace":
      return remove(store, NAMESPACE, { name: action.namespace });
    case "drain":
      return drain(store);
  }
}

async function putService(store: Store, place: ServicePlace, shape: ServiceShape): Promise<void> {
  const { namespace, name } = place;
  const wanted: Service = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace, name },
    spec: {
      ...(shape.type === "ExternalName"
        ? { type: "ExternalName", externalName: "elsewhere.example.com" }
        : {
            type: "ClusterIP",
            ipFamilyPolicy: "SingleStack",
            ipFamilies: ["IPv4"],
            sessionAffinity: shape.affinity,
            ...(shape.distribution === undefined
              ? {}
              : { trafficDistribution: shape.distribution }),
          }),
      ...(shape.type === "Headless" ? { clusterIP: "None" } : {}),
      ports: PORT_SETS[shape.ports] ?? [],
    },
  };
  const now = await store.get(SERVICE, { namespace, name });
  if (now === undefined) return create(store, SERVICE, wanted);
  const isFlipped = typeOf(now) !== shape.type;
  if (isFlipped) {
    // What is immutable is changed by doing it again.
    await remove(store, SERVICE, place);
    return create(store, SERVICE, wanted);
  }
  const { clusterIP, clusterIPs } = now.spec ?? {};
  const kept = {
    ...(clusterIP === undefined ? {} : { clusterIP }),
    ...(clusterIPs === undefined ? {} : { clusterIPs }),
  };
  await quietly(store.replace(SERVICE, { ...wanted, spec: { ...wanted.spec, ...kept } }));
}

function typeOf({ spec }: Service): ServiceShape["type"] {
  if (spec?.type === "ExternalName") return "ExternalName";
  return spec?.clusterIP === "None" ? "Headless" : "ClusterIP";
}

async function putExport(
  store: Store,
  action: Extract<Action, { readonly do: "export" }>,
): Promise<void> {
  const { namespace, name, labels, whenLost } = action;
  const wanted: ServiceExport = {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceExport",
    metadata: {
      namespace,
      name,
      ...(whenLost === undefined ? {} : { annotations: { [WHEN_LOST_ANNOTATION]: whenLost } }),
    },
    ...(labels === undefined ? {} : { spec: { exportedLabels: labels } }),
  };
  const now = await store.get(SERVICE_EXPORT, { namespace, name });
  if (now === undefined) return create(store, SERVICE_EXPORT, wanted);
  const { resourceVersion = "", uid = "" } = now.metadata;
  const metadata = { ...wanted.metadata, resourceVersion, uid };
  await quietly(store.replace(SERVICE_EXPORT, { ...wanted, metadata }));
}

async function putSlice(
  store: Store,
  action: Extract<Action, { readonly do: "endpoints" }>,
): Promise<void> {
  const { cluster, namespace, name } = action;
  const service = await store.get(SERVICE, { namespace, name });
  if (service === undefined) return;
  const slice: EndpointSlice = {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace,
      name: sliceName(action),
      labels: { [MANAGED_BY_LABEL]: USER_SLICES, [KUBE_SERVICE_NAME_LABEL]: name },
    },
    addressType: "IPv4",
    endpoints: action.endpoints.map(({ host, state }) => anEndpoint(cluster, host, state)),
    ports: (service.spec?.ports ?? []).map(({ name: port = "", protocol, targetPort }) => ({
      name: port,
      protocol: protocol ?? "TCP",
      port: Number(targetPort ?? 8080),
    })),
  };
  const now = await store.get(ENDPOINT_SLICE, { namespace, name: sliceName(action) });
  if (now === undefined) return create(store, ENDPOINT_SLICE, slice);
  await quietly(store.replace(ENDPOINT_SLICE, slice));
}

function anEndpoint(cluster: number, host: number, state: EndpointState): Endpoint {
  return {
    addresses: [`10.${cluster + 1}.0.${host}`],
    conditions: {
      ready: state === "ready",
      serving: state !== "unready",
      terminating: state === "terminating",
    },
    nodeName: `node-${host % 3}`,
    zone: `zone-${host % 2}`,
  };
}

function sliceName(place: { readonly name: string; readonly slice: number }): string {
  return `${place.name}-pods-${place.slice}`;
}

/** Somebody deletes what we made. */
async function meddle(
  store: Store,
  action: Extract<Action, { readonly do: "meddle" }>,
): Promise<void> {
  const { namespace, name } = action;
  switch (action.with) {
    case "import":
      return remove(store, SERVICE_IMPORT, { namespace, name });
    case "service":
      return remove(store, SERVICE, {
        namespace,
        name: derivedServiceName(serviceKey({ namespace, name })),
      });
    case "slices": {
      const { items } = await store.list(ENDPOINT_SLICE, {
        namespace,
        labelSelector: `${SERVICE_NAME_LABEL}=${name}`,
      });
      for (const { metadata } of items) {
        await remove(store, ENDPOINT_SLICE, { namespace, name: metadata.name ?? "" });
      }
    }
  }
}

/** All its endpoints go out of service, as before an upgrade. */
async function drain(store: Store): Promise<void> {
  const { items } = await store.list(ENDPOINT_SLICE);
  for (const slice of items) {
    if (slice.metadata.labels?.[MANAGED_BY_LABEL] === SLICE_MANAGER) continue;
    const endpoints = slice.endpoints.map((endpoint) => ({
      ...endpoint,
      conditions: { ready: false, serving: false, terminating: false },
    }));
    await quietly(store.replace(ENDPOINT_SLICE, { ...slice, endpoints }));
  }
}

async function create<T extends KubeObject>(
  store: Store,
  resource: Resource<T>,
  object: T,
): Promise<void> {
  await quietly(store.create(resource, object));
}

async function remove(store: Store, resource: Resource, ref: ObjectRef): Promise<void> {
  const { name, namespace } = ref;
  await quietly(store.delete(resource, namespace === undefined ? { name } : { namespace, name }));
}

/** No namespace, a name taken, an object on its way out: the user is told, and nothing is done. */
async function quietly(attempt: Promise<unknown>): Promise<void> {
  try {
    await attempt;
  } catch (error) {
    if (!isStoreError(error, "NotFound", "AlreadyExists", "Conflict", "Forbidden")) throw error;
  }
}
