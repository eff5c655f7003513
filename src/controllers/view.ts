// Observe: the informers of one cluster, and questions about one service that they answer together. Writes nothing.

import {
  ENDPOINT_SLICE,
  type EndpointSlice,
  NAMESPACE,
  type Namespace,
  SERVICE,
  type Service,
} from "../api/builtin.ts";
import { derivedServiceName } from "../api/digest.ts";
import {
  SERVICE_EXPORT,
  SERVICE_IMPORT,
  type ServiceExport,
  type ServiceImport,
} from "../api/mcs.ts";
import {
  DERIVED_SERVICE_ANNOTATION,
  MANAGED_LABEL,
  SERVICE_NAME_LABEL,
  type ServiceKey,
  serviceKey,
  splitServiceKey,
} from "../api/names.ts";
import type { KubeObject, Resource } from "../api/object.ts";
import type { Clock, Random } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import type { Freshness } from "../runtime/freshness.ts";
import {
  createInformer,
  type InformerError,
  type InformerSnapshot,
  keyOf,
} from "../runtime/informer.ts";
import { packSlice, type PackedSlice, unpackSlice } from "./packed.ts";

export interface ClusterViewOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly exportFreshness: Freshness;
  readonly importFreshness: Freshness;
  /** Something changed that the export of this service depends on. */
  readonly onExport: (service: ServiceKey) => void;
  /** Something changed that the import of this service depends on. */
  readonly onImport: (service: ServiceKey) => void;
  readonly onNamespace: (name: string) => void;
  readonly onError: (resource: Resource, error: InformerError) => void;
}

export interface ClusterView {
  whenSynced(): Promise<void>;
  /** The one that the service belongs in. */
  namespace(key: ServiceKey): Namespace | undefined;
  service(key: ServiceKey): Service | undefined;
  serviceExport(key: ServiceKey): ServiceExport | undefined;
  serviceImport(key: ServiceKey): ServiceImport | undefined;
  derived(key: ServiceKey): Service | undefined;
  /** Slices of the local Service, without what other clusters are not told. */
  sourceSlices(key: ServiceKey): readonly EndpointSlice[];
  /** Slices labelled for the import, whoever wrote them. */
  importedSlices(key: ServiceKey): readonly EndpointSlice[];
  exports(): Iterable<ServiceKey>;
  /** Every service that something of an import is left of. */
  imports(): ReadonlySet<ServiceKey>;
  /** For whoever measures. */
  listExports(): readonly ServiceExport[];
  listSlices(): readonly PackedSlice[];
  watches(): readonly InformerSnapshot[];
  stop(): Promise<void>;
}

export function createClusterView(options: ClusterViewOptions): ClusterView {
  const { store, clock, random, exportFreshness, importFreshness, onExport, onImport } = options;
  const shared = <T extends KubeObject>(resource: Resource<T>) => ({
    store,
    clock,
    random,
    resource,
    onError: (error: InformerError) => options.onError(resource, error),
    // Back together, or one cache is half a minute older than another, and what we write by both is wrong: a Service for
    // an import that is gone is collected at once, and would be written again and again.
    onRecovery: () => {
      for (const informer of informers) informer.retryNow();
    },
  });

  function noteImport(
    owner: ServiceKey,
    resource: Resource,
    before: KubeObject | undefined,
    after: KubeObject | undefined,
  ): void {
    // What we wrote ourselves was planned with already.
    if (!importFreshness.saw(owner, resource, pair(before, after))) onImport(owner);
  }

  const namespaces = createInformer<Namespace>({
    ...shared(NAMESPACE),
    onChange: (name) => options.onNamespace(name),
  });
  const services = createInformer<Service>({
    ...shared(SERVICE),
    onChange: (key, before, after) => {
      // Both: a derived Service that lost its label is still the import's business.
      const owners = distinct(before, after, importOfDerived);
      if (owners.size === 0) onExport(key as ServiceKey);
      // So is somebody else's that has only the name: the import waits for it to go.
      const named = serviceImports.byIndex("derived", key).map(({ metadata }) => keyOf(metadata));
      for (const owner of new Set([...owners, ...(named as ServiceKey[])])) {
        noteImport(owner, SERVICE, before, after);
      }
    },
  });
  const serviceExports = createInformer<ServiceExport>({
    ...shared(SERVICE_EXPORT),
    onChange: (key, before, after) => {
      exportFreshness.saw(key, SERVICE_EXPORT, pair(before, after));
      onExport(key as ServiceKey);
    },
  });
  const serviceImports = createInformer<ServiceImport>({
    ...shared(SERVICE_IMPORT),
    indexes: { derived: listOf(derivedOfImport) },
    onChange: (key, before, after) => noteImport(key as ServiceKey, SERVICE_IMPORT, before, after),
  });
  const slices = createInformer<EndpointSlice, PackedSlice>({
    ...shared(ENDPOINT_SLICE),
    project: packSlice,
    indexes: { source: listOf(sourceOf), import: listOf(importOf) },
    onChange: (_, before, after) => {
      for (const key of distinct(before, after, sourceOf)) onExport(key);
      for (const key of distinct(before, after, importOf)) {
        noteImport(key, ENDPOINT_SLICE, before, after);
      }
    },
  });
  const informers = [namespaces, services, serviceExports, serviceImports, slices];

  function corrected<T extends KubeObject>(
    key: ServiceKey,
    resource: Resource<T>,
    cached: T | undefined,
    freshness = importFreshness,
  ) {
    return freshness.correct(key, resource, cached === undefined ? [] : [cached])[0];
  }

  return {
    whenSynced: async () => {
      await Promise.all(informers.map((informer) => informer.whenSynced()));
    },
    namespace: (key) => corrected(key, NAMESPACE, namespaces.get(splitServiceKey(key).namespace)),
    service: (key) => services.get(key),
    serviceExport: (key) => {
      const cached = serviceExports.get(key);
      // An export that is gone stays gone, though the answer to our last write of its status may come after the news.
      return cached && corrected(key, SERVICE_EXPORT, cached, exportFreshness);
    },
    serviceImport: (key) => corrected(key, SERVICE_IMPORT, serviceImports.get(key)),
    derived: (key) => {
      const { namespace } = splitServiceKey(key);
      return corrected(key, SERVICE, services.get(`${namespace}/${derivedServiceName(key)}`));
    },
    sourceSlices: (key) => slices.byIndex("source", key).map(unpackSlice),
    importedSlices: (key) => {
      const cached = slices.byIndex("import", key).map(unpackSlice);
      return importFreshness.correct(key, ENDPOINT_SLICE, cached);
    },
    exports: () => serviceExports.keys() as IterableIterator<ServiceKey>,
    imports: () =>
      new Set([
        ...(serviceImports.keys() as IterableIterator<ServiceKey>),
        ...services.list().flatMap((service) => importOfDerived(service) ?? []),
        ...slices.list().flatMap((slice) => importOf(slice) ?? []),
      ]),
    listExports: () => serviceExports.list(),
    listSlices: () => slices.list(),
    watches: () => informers.map((informer) => informer.snapshot()),
    stop: async () => {
      await Promise.all(informers.map((informer) => informer.stop()));
    },
  };
}

function importOfDerived(service: Service): ServiceKey | undefined {
  const { labels, namespace = "" } = service.metadata;
  const name = labels?.[SERVICE_NAME_LABEL];
  if (labels?.[MANAGED_LABEL] !== "true" || name === undefined) return undefined;
  return serviceKey({ namespace, name });
}

function derivedOfImport({ metadata }: ServiceImport): string | undefined {
  const name = metadata.annotations?.[DERIVED_SERVICE_ANNOTATION];
  return name === undefined ? undefined : keyOf({ ...metadata, name });
}

function sourceOf(slice: PackedSlice): ServiceKey | undefined {
  return slice.sourceOf;
}

function importOf(slice: PackedSlice): ServiceKey | undefined {
  return slice.importOf;
}

function listOf<T>(read: (object: T) => string | undefined): (object: T) => readonly string[] {
  return (object) => {
    const value = read(object);
    return value === undefined ? [] : [value];
  };
}

function distinct<T>(
  before: T | undefined,
  after: T | undefined,
  read: (object: T) => ServiceKey | undefined,
): ReadonlySet<ServiceKey> {
  return new Set(
    [before, after].flatMap((object) => (object === undefined ? [] : (read(object) ?? []))),
  );
}

function pair(before: KubeObject | undefined, after: KubeObject | undefined) {
  return { ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) };
}
