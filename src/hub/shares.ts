// Hub: ServiceShares and EndpointShares of all members in, packed and found by service out.

import {
  ENDPOINT_SHARE,
  type EndpointShareObject,
  SERVICE_SHARE,
  type ServiceShareObject,
} from "../api/hubshare.ts";
import type { ClusterId, ServiceKey } from "../api/names.ts";
import type { KubeObject, Resource } from "../api/object.ts";
import type { Clock, Random } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { createInformer, type Informer, type InformerError } from "../runtime/informer.ts";
import { packEndpointShare, packServiceShare, type PackedShare, serviceOfShare } from "./packed.ts";

export interface SharesOptions {
  readonly store: Pick<Store, "list" | "watch">;
  readonly clock: Clock;
  readonly random: Random;
  readonly onShare: (change: ShareChange) => void;
  readonly onError: (resource: Resource, error: InformerError) => void;
  readonly onRecovery: () => void;
  /** How many agents follow the same hub. */
  readonly agents: () => number;
}

export interface ShareChange {
  readonly resource: Resource;
  readonly cluster: ClusterId;
  readonly service: ServiceKey;
  readonly before?: PackedShare;
  readonly after?: PackedShare;
}

export interface Shares {
  readonly informers: readonly Informer<PackedShare>[];
  serviceShares(service: ServiceKey): readonly PackedShare[];
  endpointShares(service: ServiceKey): readonly PackedShare[];
  /** Of everybody: each has a name that says which service it is about. */
  listServiceShares(): Iterable<readonly [ClusterId, ServiceKey]>;
  listEndpointShares(): Iterable<readonly [ClusterId, ServiceKey]>;
}

const BY_SERVICE = "service";
/**
 * A hub that was started anew has forgotten all versions, and every agent lists every share: one after the other, so to speak. What
 * changes meanwhile is heard of that much later, so there is a bound; heartbeats are followed apart.
 */
const RELIST_MS = 40;
const RELIST_CAP_MS = 10_000;

export function createShares(options: SharesOptions): Shares {
  const { store, clock, random, onShare, onRecovery } = options;

  function follow<T extends KubeObject>(
    resource: Resource<T>,
    project: (object: T) => PackedShare,
  ): Informer<PackedShare> {
    return createInformer<T, PackedShare>({
      store,
      clock,
      random,
      resource,
      project,
      indexes: { [BY_SERVICE]: (share) => servicesOf(share) },
      onChange: (_, before, after) => {
        const share = after ?? before;
        const [service] = share === undefined ? [] : servicesOf(share);
        if (share?.cluster === undefined || service === undefined) return;
        onShare({
          resource,
          cluster: share.cluster,
          service,
          ...(before === undefined ? {} : { before }),
          ...(after === undefined ? {} : { after }),
        });
      },
      onError: (error) => options.onError(resource, error),
      onRecovery,
      relistOverMs: () => Math.min(RELIST_CAP_MS, options.agents() * RELIST_MS),
    });
  }
  const services = follow<ServiceShareObject>(SERVICE_SHARE, packServiceShare);
  const endpoints = follow<EndpointShareObject>(ENDPOINT_SHARE, packEndpointShare);

  return {
    informers: [services, endpoints],
    serviceShares: (service) => services.byIndex(BY_SERVICE, service),
    endpointShares: (service) => endpoints.byIndex(BY_SERVICE, service),
    listServiceShares: () => places(services.list()),
    listEndpointShares: () => places(endpoints.list()),
  };
}

function servicesOf(share: PackedShare): readonly ServiceKey[] {
  const service = share.cluster === undefined ? undefined : serviceOfShare(share);
  return service === undefined ? [] : [service];
}

function* places(shares: readonly PackedShare[]): Iterable<readonly [ClusterId, ServiceKey]> {
  for (const share of shares) {
    for (const service of servicesOf(share)) {
      if (share.cluster !== undefined) yield [share.cluster, service];
    }
  }
}
