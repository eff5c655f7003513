// Test double: just enough of an API server for what an import writes: uids and versions, server-side apply, defaults,
// virtual IPs, the rules that a Service must keep, owners that take their dependents along. Synchronous, in memory.

import {
  ENDPOINT_SLICE,
  type EndpointSlice,
  type IPFamily,
  SERVICE,
  type Service,
  type ServiceSpec,
} from "../src/api/builtin.ts";
import { derivedServiceName } from "../src/api/digest.ts";
import { SERVICE_IMPORT } from "../src/api/mcs.ts";
import { SERVICE_NAME_LABEL, type ServiceKey, splitServiceKey } from "../src/api/names.ts";
import type { KubeObject, Resource } from "../src/api/object.ts";
import type { ObservedImport } from "../src/core/plan.ts";
import { isSameData, type Write } from "../src/core/write.ts";
import { applyFields, type Owned, replaceFields } from "./fieldOwners.ts";

export const US = "isthmus";

/** The server will not have it: 422. */
export class Refused extends Error {
  override readonly name = "Refused";
}

export interface SmallServer {
  /** Every write that was accepted, in order. */
  readonly log: readonly Write[];
  write(write: Write, manager?: string): void;
  get<T extends KubeObject>(resource: Resource<T>, name: string): T | undefined;
  list<T extends KubeObject>(resource: Resource<T>): readonly T[];
  /** What an importer would see of the service. */
  observe(service: ServiceKey): ObservedImport;
  /** The address is not to be had. */
  refuseIp(ip: string): void;
}

export function createSmallServer(): SmallServer {
  const entries = new Map<string, Owned>();
  const refused = new Set<string>();
  const log: Write[] = [];
  let version = 0;
  let addresses = 0;

  const keyOf = (resource: Resource, name: string): string => `${resource.plural}/${name}`;
  const list = <T extends KubeObject>(resource: Resource<T>): readonly T[] =>
    [...entries].flatMap(([key, { object }]) =>
      key.startsWith(`${resource.plural}/`) ? [object as T] : [],
    );
  const get = <T extends KubeObject>(resource: Resource<T>, name: string): T | undefined =>
    entries.get(keyOf(resource, name))?.object as T | undefined;

  function allocate(family: IPFamily, asked: string | undefined): string {
    const used = list(SERVICE).flatMap((service) => service.spec?.clusterIPs ?? []);
    if (asked !== undefined) {
      if (refused.has(asked) || used.includes(asked)) {
        throw new Refused(`spec.clusterIPs: Invalid value: "${asked}": not available`);
      }
      return asked;
    }
    addresses += 1;
    return family === "IPv4" ? `10.96.0.${addresses}` : `fd00::${addresses.toString(16)}`;
  }

  /** Defaults and addresses, as on a dual-stack cluster. */
  function admitService(service: Service, before: Service | undefined): Service {
    const spec = service.spec ?? {};
    const { ipFamilies: families = ["IPv4"], sessionAffinity = "None" } = spec;
    checkService(spec, sessionAffinity);
    const had = before?.spec?.clusterIPs ?? [];
    if (before !== undefined && before.spec?.ipFamilies?.[0] !== families[0]) {
      throw new Refused("spec.ipFamilies[0]: may not change");
    }
    const asked = spec.clusterIPs ?? [];
    if (had.length > 0 && asked.length > 0 && asked[0] !== had[0]) {
      throw new Refused("spec.clusterIPs[0]: may not change once set");
    }
    const isHeadless = spec.clusterIP === "None";
    const clusterIPs = isHeadless
      ? ["None"]
      : families.map((family, at) => had[at] ?? allocate(family, asked[at]));
    return {
      ...service,
      spec: {
        ...spec,
        ports: (spec.ports ?? []).map((port) => ({ targetPort: port.port, ...port })),
        ipFamilies: families,
        clusterIPs,
        clusterIP: clusterIPs[0] ?? "",
        sessionAffinity,
        ...(sessionAffinity === "ClientIP" && spec.sessionAffinityConfig === undefined
          ? { sessionAffinityConfig: { clientIP: { timeoutSeconds: 10_800 } } }
          : {}),
        internalTrafficPolicy: spec.internalTrafficPolicy ?? "Cluster",
      },
    };
  }

  function store(
    resource: Resource,
    next: Owned,
    before: Owned | undefined,
    subresource?: "status",
  ): void {
    const name = next.object.metadata.name ?? "";
    const merged =
      subresource === "status" ? withStatus(before, next) : withoutStatus(before, next);
    const admitted = resource.kind === SERVICE.kind ? admitService(merged, before?.object) : merged;
    if (resource.kind === ENDPOINT_SLICE.kind && before !== undefined) {
      checkSlice(before.object as EndpointSlice, admitted as EndpointSlice);
    }
    if (before !== undefined && isSameData(before.object, admitted)) {
      entries.set(keyOf(resource, name), { ...next, object: admitted });
      return;
    }
    version += 1;
    const isSameSpec = isSameData(specOf(before?.object), specOf(admitted));
    const generation = (before?.object.metadata.generation ?? 0) + (isSameSpec ? 0 : 1);
    const metadata = {
      ...admitted.metadata,
      uid: before?.object.metadata.uid ?? `uid-${version}`,
      resourceVersion: String(version),
      generation,
    };
    entries.set(keyOf(resource, name), { ...next, object: { ...admitted, metadata } });
  }

  function remove(resource: Resource, name: string, uid: string | undefined): void {
    const gone = entries.get(keyOf(resource, name))?.object.metadata;
    if (gone === undefined || (uid !== undefined && gone.uid !== uid)) return;
    entries.delete(keyOf(resource, name));
    for (const [key, { object }] of entries) {
      const owners = object.metadata.ownerReferences ?? [];
      if (owners.some((owner) => owner.uid === gone.uid)) entries.delete(key);
    }
  }

  return {
    log,
    list,
    get,
    write(write, manager = US) {
      if (write.verb === "delete") remove(write.resource, write.ref.name, write.uid);
      else {
        const before = entries.get(keyOf(write.resource, write.object.metadata.name ?? ""));
        if (write.verb === "apply") {
          const by = write.subresource === undefined ? manager : `${manager} (status)`;
          const next = applyFields(before, by, write.object);
          store(write.resource, next, before, write.subresource);
        } else if (before !== undefined) {
          const next = replaceFields(before, manager, write.object);
          store(write.resource, next, before, write.subresource);
        }
      }
      log.push(write);
    },
    observe(service) {
      const { name } = splitServiceKey(service);
      return {
        serviceImport: get(SERVICE_IMPORT, name),
        derived: get(SERVICE, derivedServiceName(service)),
        slices: list(ENDPOINT_SLICE).filter(
          ({ metadata }) => metadata.labels?.[SERVICE_NAME_LABEL] === name,
        ),
      };
    },
    refuseIp: (ip) => refused.add(ip),
  };
}

type WithParts = KubeObject & { readonly spec?: unknown; readonly status?: unknown };

function statusOf(object: WithParts | undefined): { status?: unknown } {
  return object?.status === undefined ? {} : { status: object.status };
}

function specOf(object: WithParts | undefined): unknown {
  return object?.spec;
}

function withStatus(before: Owned | undefined, next: Owned): KubeObject {
  if (before === undefined) throw new Error("the status of nothing");
  const { status: _, ...rest }: WithParts = before.object;
  return { ...rest, ...statusOf(next.object) };
}

function withoutStatus(before: Owned | undefined, next: Owned): KubeObject {
  const { status: _, ...rest }: WithParts = next.object;
  return { ...rest, ...statusOf(before?.object) };
}

function checkService(spec: ServiceSpec, sessionAffinity: string): void {
  const { ports = [] } = spec;
  const names = ports.map((port) => port.name ?? "");
  if (ports.length === 0 && spec.clusterIP !== "None") throw new Refused("spec.ports: Required");
  if (ports.length > 1 && names.includes("")) throw new Refused("spec.ports[].name: Required");
  if (new Set(names).size < names.length) throw new Refused("spec.ports[].name: Duplicate");
  if (sessionAffinity === "None" && spec.sessionAffinityConfig !== undefined) {
    throw new Refused("spec.sessionAffinityConfig: must not be set when session affinity is None");
  }
  const families = spec.ipFamilies ?? [];
  if (new Set(families).size < families.length) throw new Refused("spec.ipFamilies: Duplicate");
}

function checkSlice(before: EndpointSlice, after: EndpointSlice): void {
  if (before.addressType !== after.addressType) throw new Refused("addressType: immutable");
}
