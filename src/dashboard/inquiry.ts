// Dashboard: one service in, what `isthmus explain` says of it out, from clusters and hub as they are now. Asks for the objects of
// that service only, so that one click costs little however many there are; who does not answer the feed is not waited for.

import { ENDPOINT_SLICE, NAMESPACE, SERVICE } from "../api/builtin.ts";
import { derivedServiceName, serviceShareName } from "../api/digest.ts";
import { ENDPOINT_SHARE, SERVICE_SHARE } from "../api/hubshare.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT } from "../api/mcs.ts";
import {
  KUBE_SERVICE_NAME_LABEL,
  SERVICE_NAME_LABEL,
  type ServiceKey,
  splitServiceKey,
} from "../api/names.ts";
import type { KubeObject, Resource } from "../api/object.ts";
import { sightCluster, sightHub } from "../controllers/sight.ts";
import { explainService, type ServiceExplanation } from "../core/clusterset/explain.ts";
import type { Clock } from "../ports/clock.ts";
import type { ListOptions, ListPage, Store } from "../ports/store.ts";
import type { ClusterFeed } from "./clusterFeed.ts";
import type { HubFeed } from "./hubFeed.ts";

const BOUND_MS = 10_000;

export async function inquire(
  service: ServiceKey,
  sources: {
    readonly clusters: readonly ClusterFeed[];
    readonly hub: HubFeed | undefined;
    readonly describeHub: (error: unknown) => string;
    readonly clock: Clock;
    readonly signal: AbortSignal;
  },
): Promise<ServiceExplanation | undefined> {
  const { clusters, hub, clock, signal } = sources;
  const { namespace } = splitServiceKey(service);
  const sightings = await Promise.all(
    clusters.map(async (cluster) => {
      const { name, givenId, guess, store, describe } = cluster.source;
      const narrowed = cluster.failure() === undefined ? narrow(store, service) : refuse(cluster);
      const asked = { name, givenId, guess, namespace, store: narrowed, describe };
      const { sighting } = await sightCluster({ ...asked, clock, signal, boundMs: BOUND_MS });
      return sighting;
    }),
  );
  const sightedHub =
    hub === undefined
      ? undefined
      : await sightHub({
          store: narrowHub(hub, service),
          credential: hub.credential,
          depth: "endpoints",
          describe: sources.describeHub,
          clock,
          signal,
          boundMs: BOUND_MS,
        });
  return explainService(
    {
      sightings,
      ...(sightedHub === undefined ? {} : { hub: sightedHub }),
      namespace,
      nowMs: clock.now(),
    },
    service,
  );
}

/** The store as it is for whoever cares for one service only. */
function narrow(store: Store, service: ServiceKey): Store {
  const { namespace, name } = splitServiceKey(service);
  const selections: ReadonlyMap<Resource, readonly Partial<ListOptions>[]> = new Map<
    Resource,
    readonly Partial<ListOptions>[]
  >([
    [SERVICE_EXPORT, [nameIs(name)]],
    [SERVICE_IMPORT, [nameIs(name)]],
    [SERVICE, [nameIs(name), nameIs(derivedServiceName(service))]],
    [
      ENDPOINT_SLICE,
      [
        { labelSelector: `${SERVICE_NAME_LABEL}=${name}` },
        // Those of imports may be found by both.
        { labelSelector: `${KUBE_SERVICE_NAME_LABEL}=${name},!${SERVICE_NAME_LABEL}` },
      ],
    ],
    [NAMESPACE, [nameIs(namespace)]],
  ]);
  return onlyRead({
    list: (resource, listing) =>
      listEach(store, resource, listing, selections.get(resource) ?? [{}]),
    get: (resource, ref, getting) => store.get(resource, ref, getting),
  });
}

/** Where EndpointShares are is known from the feed: their names are no selector. */
function narrowHub(hub: HubFeed, service: ServiceKey): Store {
  const { store } = hub;
  return onlyRead({
    get: (resource, ref, getting) => store.get(resource, ref, getting),
    list(resource, listing) {
      const name = serviceShareName(service);
      if (resource.plural === SERVICE_SHARE.plural) {
        return listEach(store, resource, listing, [nameIs(name)]);
      }
      if (resource.plural !== ENDPOINT_SHARE.plural) return store.list(resource, listing);
      const places = hub.shareRefs(service).map((ref) => ({
        ...(ref.namespace === undefined ? {} : { namespace: ref.namespace }),
        ...nameIs(ref.name),
      }));
      return listEach(store, resource, listing, places);
    },
  });
}

function nameIs(name: string): Partial<ListOptions> {
  return { fieldSelector: `metadata.name=${name}` };
}

async function listEach<T extends KubeObject>(
  store: Store,
  resource: Resource<T>,
  listing: ListOptions | undefined,
  selections: readonly Partial<ListOptions>[],
): Promise<ListPage<T>> {
  // Few enough for one page each.
  const { limit: _, continue: __, ...scope } = listing ?? {};
  const pages = await Promise.all(
    selections.map((selection) => store.list(resource, { ...scope, ...selection })),
  );
  return { items: pages.flatMap(({ items }) => items), resourceVersion: "" };
}

/** Of a cluster that does not answer: it says so at once, as it would after a while. */
function refuse(cluster: ClusterFeed): Store {
  const fail = (): Promise<never> => Promise.reject(cluster.failure());
  return onlyRead({ get: fail, list: fail });
}

function onlyRead(reading: Pick<Store, "get" | "list">): Store {
  const never = (): Promise<never> => Promise.reject(new Error("the dashboard only reads"));
  return { ...reading, watch: never, create: never, replace: never, apply: never, delete: never };
}
