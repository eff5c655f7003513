// Holdings: one cluster in, everything in it that bears on services across clusters out, and whose each thing is.

import { CLUSTER_PROPERTY } from "../src/api/about.ts";
import {
  ENDPOINT_SLICE,
  type EndpointSlice,
  NAMESPACE,
  SERVICE,
  type Service,
} from "../src/api/builtin.ts";
import {
  SERVICE_EXPORT,
  SERVICE_IMPORT,
  type ServiceExport,
  type ServiceImport,
} from "../src/api/mcs.ts";
import {
  DRAIN_PROPERTY,
  KUBE_SERVICE_NAME_LABEL,
  MANAGED_BY_LABEL,
  MANAGED_LABEL,
  SERVICE_NAME_LABEL,
  type ServiceKey,
  serviceKey,
  SLICE_MANAGER,
  splitServiceKey,
} from "../src/api/names.ts";
import type { KubeObject, Resource } from "../src/api/object.ts";
import type { Store } from "../src/ports/store.ts";

export interface Objects {
  readonly namespaces: ReadonlyMap<string, KubeObject>;
  readonly services: ReadonlyMap<string, Service>;
  readonly exports: ReadonlyMap<string, ServiceExport>;
  readonly imports: ReadonlyMap<string, ServiceImport>;
  readonly slices: readonly EndpointSlice[];
  readonly isDrained: boolean;
}

export async function readObjects(store: Store): Promise<Objects> {
  const byKey = async <T extends KubeObject>(resource: Resource<T>) =>
    new Map((await store.list(resource)).items.map((object) => [keyOf(object), strip(object)]));
  return {
    namespaces: await byKey(NAMESPACE),
    services: await byKey(SERVICE),
    exports: await byKey(SERVICE_EXPORT),
    imports: await byKey(SERVICE_IMPORT),
    slices: (await store.list(ENDPOINT_SLICE)).items.map(strip),
    isDrained: (await store.get(CLUSTER_PROPERTY, { name: DRAIN_PROPERTY })) !== undefined,
  };
}

function strip<T extends KubeObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

export function keyOf({ metadata: { namespace, name = "" } }: KubeObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

export function importedServices(objects: Objects): readonly ServiceKey[] {
  const labelled = [...objects.slices, ...[...objects.services.values()].filter(isManaged)].flatMap(
    ({ metadata: { namespace = "", labels } }) => {
      const name = labels?.[SERVICE_NAME_LABEL];
      return name === undefined ? [] : [serviceKey({ namespace, name })];
    },
  );
  return [...labelled, ...([...objects.imports.keys()] as ServiceKey[])];
}

export function isManaged({ metadata }: KubeObject): boolean {
  return (
    metadata.labels?.[MANAGED_LABEL] === "true" ||
    metadata.labels?.[MANAGED_BY_LABEL] === SLICE_MANAGER
  );
}

export function isImportedSlice(
  { namespace, labels }: KubeObject["metadata"],
  home: string,
  name: string,
): boolean {
  return namespace === home && labels?.[SERVICE_NAME_LABEL] === name;
}

/** Of the users' own Service. */
export function ownSlices(objects: Objects, service: ServiceKey): readonly EndpointSlice[] {
  const { namespace, name } = splitServiceKey(service);
  return objects.slices.filter(
    ({ metadata }) =>
      metadata.namespace === namespace &&
      metadata.labels?.[KUBE_SERVICE_NAME_LABEL] === name &&
      metadata.labels[MANAGED_BY_LABEL] !== SLICE_MANAGER,
  );
}
