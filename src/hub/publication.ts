// Hub: what this cluster shares of one service in, the writes that make the hub hold just that. Compared with what the hub
// has, corrected by our own writes; nothing differs, nothing is written. A cache that was behind is a failure like any
// other: the caller tries again, and the watch has caught up by then.
//
//   publish:   EndpointShares new or changed ─▶ ServiceShare ─▶ EndpointShares no longer wanted deleted
//   withdraw:  ServiceShare deleted ─▶ EndpointShares deleted
//
// So nobody ever sees a service without the endpoints that belong to it.

import { endpointShareName, serviceShareName } from "../api/digest.ts";
import {
  ENDPOINT_SHARE,
  type EndpointShareObject,
  SERVICE_SHARE,
  type ServiceShareObject,
} from "../api/hubshare.ts";
import { type ClusterId, FIELD_MANAGER, memberNamespace, type ServiceKey } from "../api/names.ts";
import { apiVersionOf, type KubeObject, type Resource } from "../api/object.ts";
import type { Contribution } from "../api/share.ts";
import { encodeEndpointShare, encodeServiceShare } from "../core/wire.ts";
import { isSameData } from "../core/write.ts";
import type { Clock } from "../ports/clock.ts";
import { isStoreError, type Store, type StoreErrorCode } from "../ports/store.ts";
import type { Span } from "../ports/trace.ts";
import { runBounded } from "../runtime/bounded.ts";
import { createFreshness } from "../runtime/freshness.ts";
import { traceWrites } from "../runtime/trace.ts";
import { packEndpointShare, packServiceShare, type PackedShare, unpackSpec } from "./packed.ts";

/** By then what was written has come back; if not, whether it is still there has to be looked at. */
const SIGHT_MS = 5_000;

export interface PublicationOptions {
  readonly cluster: ClusterId;
  readonly store: Store;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Our own shares of the service, as the informers have them. */
  readonly cached: (resource: Resource, service: ServiceKey) => readonly PackedShare[];
  /** What was written has not come back, or something else has: look at the service again. */
  readonly onDoubt: (service: ServiceKey) => void;
}

export interface Publication {
  publish(contribution: Contribution, span?: Span): Promise<void>;
  withdraw(service: ServiceKey, span?: Span): Promise<void>;
  /** The hub has our ServiceShare: others can find it. */
  isPublished(service: ServiceKey): boolean;
  /** The hub has nothing of ours, and nothing that we wrote is still to be seen. */
  isGone(service: ServiceKey): boolean;
  /** The informer told of a change of one of our own shares. True when it is, or may be, what we write, come back. */
  saw(resource: Resource, service: ServiceKey, change: Change): boolean;
  stop(): void;
}

interface Change {
  readonly before?: PackedShare;
  readonly after?: PackedShare;
}

type Sighting = readonly [Resource, Change];

type Spec = ServiceShareObject["spec"] | EndpointShareObject["spec"];

/** Which service is written about, and through what. */
interface Writing {
  readonly service: ServiceKey;
  readonly store: Store;
}

const WRITE_BOUND_MS = 30_000;
/** Refusals that say nothing about the next object. */
const ABOUT_ONE_OBJECT: readonly StoreErrorCode[] = [
  "AlreadyExists",
  "BadRequest",
  "Conflict",
  "Forbidden",
  "Invalid",
  "NotFound",
  "TooLarge",
];

export function createPublication(options: PublicationOptions): Publication {
  const { cluster, clock, signal } = options;
  const namespace = memberNamespace(cluster);
  /** A relist can pass over both our write and its undoing: then no event ever tells that it is gone. */
  const freshness = createFreshness({
    clock,
    rememberMs: SIGHT_MS,
    onFaded: (owner) => options.onDoubt(owner as ServiceKey),
  });
  /** Services that are being written, and what was seen of them since. */
  const underWay = new Map<ServiceKey, Sighting[]>();
  /** What a hub of an older release left out of what we wrote: it will not take it the next time either. */
  const pruned = new Map<string, { readonly resourceVersion: string; readonly asked: string }>();

  function onHub(resource: Resource, service: ServiceKey): readonly PackedShare[] {
    const kept = resource as Resource<PackedShare>;
    return freshness.correct(service, kept, options.cached(resource, service));
  }

  function send<X>(request: (bound: AbortSignal) => Promise<X>): Promise<X> {
    return runBounded({ clock, boundMs: WRITE_BOUND_MS, stop: signal }, request);
  }

  function write(service: ServiceKey, span: Span | undefined): Writing {
    return { service, store: traceWrites(options.store, "hub", span) };
  }

  /** What is seen meanwhile may be what we write: the watch can be quicker than the answer. That is known once all is answered. */
  async function whileWriting(
    service: ServiceKey,
    steps: readonly (() => Promise<void>)[],
  ): Promise<void> {
    if (underWay.has(service)) return inOrder(steps);
    const early: Sighting[] = [];
    underWay.set(service, early);
    try {
      await inOrder(steps);
    } finally {
      underWay.delete(service);
      const news = early.filter(([resource, change]) => !freshness.saw(service, resource, change));
      if (news.length > 0) options.onDoubt(service);
    }
  }

  async function put(
    resource: Resource,
    { service, store }: Writing,
    wanted: { readonly name: string; readonly spec: Spec; readonly now: PackedShare | undefined },
  ): Promise<void> {
    const { name, spec, now } = wanted;
    if (now !== undefined && isAsWanted(now, spec)) return;
    const metadata = { namespace, name };
    const object = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata, spec };
    const written = await send((bound) => {
      const writing = { fieldManager: FIELD_MANAGER, signal: bound };
      return now === undefined
        ? store.create<KubeObject>(resource, object, writing)
        : store.replace<KubeObject>(resource, pinned(object, now), writing);
    });
    const kept = pack(resource, written);
    freshness.wrote(service, resource, kept);
    const { resourceVersion = "" } = kept.metadata;
    if (isSameData(unpackSpec(kept), spec)) pruned.delete(name);
    else pruned.set(name, { resourceVersion, asked: JSON.stringify(spec) });
  }

  function isAsWanted(now: PackedShare, spec: Spec): boolean {
    if (isSameData(unpackSpec(now), spec)) return true;
    const { name = "", resourceVersion } = now.metadata;
    const known = pruned.get(name);
    return known?.resourceVersion === resourceVersion && known?.asked === JSON.stringify(spec);
  }

  async function remove(
    resource: Resource,
    { service, store }: Writing,
    share: PackedShare,
  ): Promise<void> {
    const { name = "", uid = "" } = share.metadata;
    try {
      await send((bound) => store.delete(resource, { namespace, name }, { uid, signal: bound }));
    } catch (error) {
      // Another object has the name now, and ours is gone.
      if (!isStoreError(error, "Conflict")) throw error;
    }
    freshness.deleted(service, resource, share);
    pruned.delete(name);
  }

  /** Throws the first refusal after the others had their turn: one slice that is refused must not hold back the rest. */
  async function inOrder(steps: readonly (() => Promise<void>)[]): Promise<void> {
    const refusals: unknown[] = [];
    for (const step of steps) {
      signal.throwIfAborted();
      try {
        await step();
      } catch (error) {
        if (!isStoreError(error, ...ABOUT_ONE_OBJECT)) throw error;
        refusals.push(error);
      }
    }
    if (refusals.length > 0) throw refusals[0];
  }

  return {
    async publish({ share, endpoints }, span) {
      const { service } = share;
      const writing = write(service, span);
      const stored = new Map(
        onHub(ENDPOINT_SHARE, service).map((each) => [each.metadata.name ?? "", each]),
      );
      const wanted = new Map(
        endpoints.map((each) => [
          endpointShareName(service, each.slice),
          encodeEndpointShare(each),
        ]),
      );
      const name = serviceShareName(service);
      const [now] = onHub(SERVICE_SHARE, service);
      await whileWriting(service, [
        ...[...wanted].map(
          ([shareName, spec]) =>
            () =>
              put(ENDPOINT_SHARE, writing, { name: shareName, spec, now: stored.get(shareName) }),
        ),
        () => put(SERVICE_SHARE, writing, { name, spec: encodeServiceShare(share), now }),
        ...[...stored]
          .filter(([shareName]) => !wanted.has(shareName))
          .map(
            ([, old]) =>
              () =>
                remove(ENDPOINT_SHARE, writing, old),
          ),
      ]);
    },
    async withdraw(service, span) {
      const writing = write(service, span);
      const services = onHub(SERVICE_SHARE, service);
      const endpoints = onHub(ENDPOINT_SHARE, service);
      await whileWriting(service, [
        ...services.map((share) => () => remove(SERVICE_SHARE, writing, share)),
        ...endpoints.map((share) => () => remove(ENDPOINT_SHARE, writing, share)),
      ]);
    },
    isPublished: (service) => onHub(SERVICE_SHARE, service).length > 0,
    isGone: (service) =>
      !freshness.isAhead(service) &&
      [SERVICE_SHARE, ENDPOINT_SHARE].every(
        (resource) => options.cached(resource, service).length === 0,
      ),
    saw(resource, service, change) {
      if (freshness.saw(service, resource, change)) return true;
      const early = underWay.get(service);
      early?.push([resource, change]);
      return early !== undefined;
    },
    stop: () => freshness.stop(),
  };
}

function pinned(object: KubeObject, now: PackedShare): KubeObject {
  const { uid = "", resourceVersion = "" } = now.metadata;
  return { ...object, metadata: { ...object.metadata, uid, resourceVersion } };
}

function pack(resource: Resource, written: KubeObject): PackedShare {
  return resource.kind === SERVICE_SHARE.kind
    ? packServiceShare(written as ServiceShareObject)
    : packEndpointShare(written as EndpointShareObject);
}
