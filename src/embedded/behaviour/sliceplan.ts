// Built-in behaviour: a Service, its Pods, their Nodes and the slices it has in; the slices it should have out. Pure.

import type {
  Endpoint,
  EndpointPort,
  EndpointSlice,
  IPFamily,
  Node,
  Pod,
  Service,
  ServicePort,
} from "../../api/builtin.ts";
import { formatAddress, parseAddress } from "../address.ts";
import { canonicalJson, equalJson } from "../json.ts";
import { asJson } from "../metadata.ts";

export const MANAGER = "endpointslice-controller.k8s.io";
export const SERVICE_NAME = "kubernetes.io/service-name";
export const MANAGED_BY = "endpointslice.kubernetes.io/managed-by";
const HEADLESS = "service.kubernetes.io/headless";
const ZONE = "topology.kubernetes.io/zone";
const MOST_ENDPOINTS = 100;

export interface SliceInput {
  readonly service: Service;
  readonly pods: readonly Pod[];
  readonly findNode: (name: string) => Node | undefined;
  readonly slices: readonly EndpointSlice[];
}

export interface SlicePlan {
  readonly create: readonly EndpointSlice[];
  /** Under the names they have. */
  readonly update: readonly EndpointSlice[];
  readonly remove: readonly EndpointSlice[];
}

interface Draft {
  create: EndpointSlice[];
  update: EndpointSlice[];
  remove: EndpointSlice[];
}

export function planSlices(input: SliceInput): SlicePlan {
  const families = input.service.spec?.ipFamilies ?? [];
  const draft: Draft = { create: [], update: [], remove: [] };
  for (const family of families) planFamily(input, family, draft);
  // A family that the Service gave up leaves its slices behind.
  draft.remove.push(
    ...input.slices.filter(({ addressType }) => !families.some((one) => one === addressType)),
  );
  return draft;
}

function planFamily(input: SliceInput, family: IPFamily, draft: Draft): void {
  const { service } = input;
  const existing = input.slices.filter(({ addressType }) => addressType === family);
  // Pods whose named ports differ cannot share a slice.
  const groups = new Map<string, { ports: readonly EndpointPort[]; endpoints: Endpoint[] }>();
  for (const pod of input.pods) {
    const endpoint = describePod(input, pod, family);
    if (endpoint === undefined) continue;
    const ports = choosePorts(service, pod);
    const key = portsKey(ports);
    const group = groups.get(key) ?? { ports, endpoints: [] };
    group.endpoints.push(endpoint);
    groups.set(key, group);
  }
  const before = draft.create.length;
  let kept = 0;
  for (const [key, { ports, endpoints }] of groups) {
    const same = existing.filter((slice) => portsKey(slice.ports ?? []) === key);
    kept += fillSlices(service, { family, ports, endpoints, same }, draft);
  }
  const stale = existing.filter((slice) => !groups.has(portsKey(slice.ports ?? [])));
  const isEmpty = kept === 0 && draft.create.length === before;
  if (!isEmpty) {
    draft.remove.push(...stale);
    return;
  }
  // One slice without endpoints says that there are none.
  const [placeholder, ...rest] = stale;
  draft.remove.push(...rest);
  if (placeholder === undefined) draft.create.push(newSlice(service, family, [], []));
  else keepOrUpdate(placeholder, newSlice(service, family, [], []), draft);
}

interface Filling {
  readonly family: IPFamily;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Endpoint[];
  readonly same: readonly EndpointSlice[];
}

/** Endpoints stay in the slice where they are; new ones go where there is room. Returns how many slices stay. */
function fillSlices(service: Service, filling: Filling, draft: Draft): number {
  const { family, ports, endpoints, same } = filling;
  const wanted = new Map(endpoints.map((endpoint) => [identify(endpoint), endpoint]));
  const filled = same.map((slice) => {
    const own: Endpoint[] = [];
    for (const endpoint of slice.endpoints ?? []) {
      const id = identify(endpoint);
      const next = wanted.get(id);
      if (next === undefined) continue;
      own.push(next);
      wanted.delete(id);
    }
    return { slice, own };
  });
  const left = [...wanted.values()];
  for (const { own } of filled) {
    while (own.length < MOST_ENDPOINTS && left.length > 0) {
      const next = left.shift();
      if (next !== undefined) own.push(next);
    }
  }
  let kept = 0;
  for (const { slice, own } of filled) {
    if (own.length === 0) {
      draft.remove.push(slice);
      continue;
    }
    kept += 1;
    keepOrUpdate(slice, newSlice(service, family, ports, own), draft);
  }
  while (left.length > 0) {
    draft.create.push(newSlice(service, family, ports, left.splice(0, MOST_ENDPOINTS)));
  }
  return kept;
}

function keepOrUpdate(slice: EndpointSlice, wanted: EndpointSlice, draft: Draft): void {
  const isSame =
    equalJson(asJson(slice.endpoints ?? []), asJson(wanted.endpoints)) &&
    equalJson(asJson(slice.ports ?? []), asJson(wanted.ports ?? [])) &&
    equalJson(asJson(slice.metadata.labels ?? {}), asJson(wanted.metadata.labels ?? {}));
  if (isSame) return;
  const metadata = { ...slice.metadata, labels: wanted.metadata.labels ?? {} };
  draft.update.push({ ...slice, metadata, endpoints: wanted.endpoints, ports: wanted.ports ?? [] });
}

function newSlice(
  service: Service,
  family: IPFamily,
  ports: readonly EndpointPort[],
  endpoints: readonly Endpoint[],
): EndpointSlice {
  const { name = "", namespace = "", uid = "" } = service.metadata;
  const reserved = new Set([SERVICE_NAME, MANAGED_BY, HEADLESS]);
  const copied = Object.entries(service.metadata.labels ?? {}).filter(
    ([key]) => !reserved.has(key),
  );
  const ip = service.spec?.clusterIP ?? "";
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      generateName: `${name}-`,
      namespace,
      labels: {
        ...Object.fromEntries(copied),
        ...(ip === "" || ip === "None" ? { [HEADLESS]: "" } : {}),
        [SERVICE_NAME]: name,
        [MANAGED_BY]: MANAGER,
      },
      ownerReferences: [
        {
          apiVersion: "v1",
          kind: "Service",
          name,
          uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    addressType: family,
    endpoints,
    ports,
  };
}

/** Undefined when the pod serves nothing in this family. */
function describePod(input: SliceInput, pod: Pod, family: IPFamily): Endpoint | undefined {
  const { service } = input;
  const { phase, conditions } = pod.status ?? {};
  if (phase === "Succeeded" || phase === "Failed") return undefined;
  const addresses = (pod.status?.podIPs ?? [])
    .map(({ ip }) => parseAddress(ip))
    .filter((address) => address?.family === family)
    .map((address) => (address === undefined ? "" : formatAddress(address)));
  if (addresses.length === 0) return undefined;
  const publishAll = service.spec?.publishNotReadyAddresses === true;
  const nodeName = pod.spec?.nodeName ?? "";
  const node = nodeName === "" ? undefined : input.findNode(nodeName);
  // A pod on a node that is not there is left out until the node is.
  if (nodeName !== "" && node === undefined && !publishAll) return undefined;
  const serving = (conditions ?? []).some(
    ({ type, status }) => type === "Ready" && status === "True",
  );
  const terminating = pod.metadata.deletionTimestamp !== undefined;
  const zone = node?.metadata.labels?.[ZONE] ?? "";
  const hostname = pod.spec?.hostname ?? "";
  const { namespace = "", name = "", uid = "" } = pod.metadata;
  const isNamed = hostname !== "" && pod.spec?.subdomain === service.metadata.name;
  return {
    addresses,
    conditions: { ready: publishAll || (serving && !terminating), serving, terminating },
    ...(isNamed ? { hostname } : {}),
    targetRef: { kind: "Pod", namespace, name, uid } as NonNullable<Endpoint["targetRef"]>,
    ...(nodeName === "" ? {} : { nodeName }),
    ...(zone === "" ? {} : { zone }),
  };
}

function choosePorts(service: Service, pod: Pod): EndpointPort[] {
  const chosen: EndpointPort[] = [];
  for (const port of service.spec?.ports ?? []) {
    const number = findTargetPort(pod, port);
    if (number === undefined) continue;
    chosen.push({
      name: port.name ?? "",
      protocol: port.protocol ?? "TCP",
      port: number,
      ...(port.appProtocol === undefined ? {} : { appProtocol: port.appProtocol }),
    });
  }
  return chosen;
}

function findTargetPort(pod: Pod, port: ServicePort): number | undefined {
  const target = port.targetPort ?? port.port;
  if (typeof target === "number") return target;
  for (const container of pod.spec?.containers ?? []) {
    for (const own of container.ports ?? []) {
      const protocol = own.protocol ?? "TCP";
      if (own.name === target && protocol === (port.protocol ?? "TCP")) return own.containerPort;
    }
  }
  return undefined;
}

function identify(endpoint: Endpoint): string {
  return endpoint.targetRef?.uid ?? endpoint.addresses.join(",");
}

function portsKey(ports: readonly EndpointPort[]): string {
  return ports
    .map((port) => canonicalJson(asJson(port)))
    .sort()
    .join(";");
}
