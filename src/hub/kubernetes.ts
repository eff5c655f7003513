// The hub of agents: a Kubernetes API that holds everybody's shares. This cluster's share is written there, those of the
// others are read from there. Joins registry, publication and reading; decides little itself.
//
//   ClusterMember, Lease ─▶ registry ─────┐ who is a member, who is heard
//   ServiceShare, EndpointShare ─▶ shares ┼─▶ reading ─▶ contributions, rejections
//   publish, withdraw ─▶ own memory ──────┘
//                    └─▶ publication ─▶ the API server

import { setMaxListeners } from "node:events";
import { LEASE } from "../api/builtin.ts";
import { SERVICE_SHARE, ENDPOINT_SHARE } from "../api/hubshare.ts";
import type { ClusterMember } from "../api/isthmus.ts";
import { type ClusterId, memberOfNamespace, type ServiceKey } from "../api/names.ts";
import type { KubeObject, Resource } from "../api/object.ts";
import type { Contribution } from "../api/share.ts";
import type { AdmissionLimits } from "../core/admission.ts";
import { isSameData } from "../core/write.ts";
import type { Clock, Random } from "../ports/clock.ts";
import type { Hub, HubMember } from "../ports/hub.ts";
import type { Log } from "../ports/log.ts";
import { type Store, StoreError } from "../ports/store.ts";
import type { Span } from "../ports/trace.ts";
import { logInformerError } from "../runtime/complaint.ts";
import type { InformerError, InformerSnapshot } from "../runtime/informer.ts";
import { countWrites, type WriteCount } from "../runtime/writes.ts";
import { createBelievedStore } from "./believed.ts";
import { createBudget } from "./budget.ts";
import { createCompletion } from "./completion.ts";
import { createDrainReport } from "./drain.ts";
import { createListeners } from "./listeners.ts";
import type { PackedShare } from "./packed.ts";
import { renewLease } from "./presence.ts";
import { createPublication } from "./publication.ts";
import { createReader } from "./reader.ts";
import { readShares } from "./reading.ts";
import { createRegistry } from "./registry.ts";
import { createShares, type ShareChange } from "./shares.ts";

export interface KubernetesHubOptions {
  /** The one that this agent speaks for. */
  readonly cluster: ClusterId;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly limits?: AdmissionLimits;
  /** How long a member is remembered whose ClusterMember vanished while it still shared something. */
  readonly forgetAfterMs?: number;
}

export interface KubernetesHub extends Hub {
  /** Since the hub last said anything; undefined before it ever did. */
  hubSilentMs(): number | undefined;
  /** The hub answers again: whatever waits for that need not wait any longer. */
  retryNow(): void;
  /** What is not taken in, summed over all services: "cluster reason" to count. */
  rejectionTotals(): ReadonlyMap<string, number>;
  watches(): readonly InformerSnapshot[];
  writes(): readonly WriteCount[];
  /** Rejects what still waits. Nothing of it runs when this resolves. */
  stop(): Promise<void>;
}

/** What a member writes on the hub, again and again. */
const WRITTEN = [
  [SERVICE_SHARE, "create", "replace", "delete"],
  [ENDPOINT_SHARE, "create", "replace", "delete"],
  [LEASE, "apply"],
] as const;

export function createKubernetesHub(options: KubernetesHubOptions): KubernetesHub {
  const { cluster: ownCluster, clock, random, log, limits } = options;
  const counted = countWrites(options.store, WRITTEN);
  const { store } = counted;
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal); // One for each write under way.
  const listeners = createListeners();
  /** What this cluster shares, whatever the hub has of it. "withdrawn": until the hub has nothing of it left. */
  const own = new Map<ServiceKey, Contribution | "withdrawn">();
  let isSynced = false;
  /** All that this cluster exports is in `own`. What the hub has of ours does not count: it may be old, or not all of it. */
  let isOwnTold = false;

  const budget = createBudget({
    clock,
    log,
    onService: tellService,
    ...(limits === undefined ? {} : { limits }),
  });
  const watching = { clock, random, onError: logFailure, onRecovery: retryAll };
  const registry = createRegistry({
    ...watching,
    cluster: ownCluster,
    store,
    hasShares: (cluster) => budget.hasShares(cluster),
    onMembers: tellMembers,
    onDeclared: tellShared,
    onOwn,
    ...(options.forgetAfterMs === undefined ? {} : { forgetAfterMs: options.forgetAfterMs }),
  });
  const shares = createShares({
    ...watching,
    store: createBelievedStore({
      cluster: ownCluster,
      store,
      own: () => registry.own(),
      isSynced: () => isSynced,
      onDeleted: noteDeletion,
    }),
    onShare,
    agents: () => registry.members().length,
  });
  const informers = [...registry.informers, ...shares.informers];
  const publication = createPublication({
    cluster: ownCluster,
    store,
    clock,
    signal: stopping.signal,
    cached: cachedOwn,
    onDoubt: (service) => {
      dropWithdrawn(service);
      tellOwn(service);
    },
  });
  const completion = createCompletion({
    cluster: ownCluster,
    store,
    clock,
    random,
    log,
    signal: stopping.signal,
    own: () => registry.own(),
    isPublished: () => isSynced && [...own].every(isOnHub),
    sweep,
  });

  const drain = createDrainReport({
    cluster: ownCluster,
    store,
    clock,
    random,
    log,
    signal: stopping.signal,
    own: () => registry.own(),
  });

  const reader = createReader((service) => {
    const shared = own.get(service);
    return readShares({
      serviceShares: shares.serviceShares(service),
      endpointShares: shares.endpointShares(service),
      ownCluster,
      own: shared === "withdrawn" ? undefined : shared,
      declarationOf: (cluster) => registry.declaration(cluster),
      excessOf: (cluster) => budget.rejections(cluster, service),
      limits,
    });
  });

  function tellService(service: ServiceKey, source: ClusterId): void {
    reader.forget(service);
    listeners.tellService(service, source);
  }
  /** What the hub has of ours is not what we wrote. */
  function tellOwn(service: ServiceKey): void {
    tellService(service, ownCluster);
    listeners.tellDoubt(service);
  }
  function tellMembers(): void {
    reader.forgetAll();
    listeners.tellMembers();
  }
  /** All that the cluster shares. */
  function tellShared(cluster: ClusterId): void {
    const services = new Set(budget.services(cluster));
    if (cluster === ownCluster) for (const service of own.keys()) services.add(service);
    for (const service of services) tellService(service, cluster);
  }
  function retryAll(): void {
    for (const informer of informers) informer.retryNow();
  }
  function logFailure(resource: Resource, failure: InformerError): void {
    logInformerError({ log, message: "hub informer failed" }, resource, failure);
  }

  function onOwn(before: ClusterMember | undefined, after: ClusterMember | undefined): void {
    if (before === undefined) retryAll();
    if (after === undefined) log.error("hub does not know this cluster", { cluster: ownCluster });
    completion.review(before, after);
    drain.review();
  }

  function onShare(change: ShareChange): void {
    const { resource, cluster, service, before, after } = change;
    const objects = (after === undefined ? 0 : 1) - (before === undefined ? 0 : 1);
    const endpointShares = resource === ENDPOINT_SHARE ? objects : 0;
    const endpoints = (after?.endpoints ?? 0) - (before?.endpoints ?? 0);
    if (objects !== 0 || endpoints !== 0) {
      budget.count({ cluster, service, objects, endpointShares, endpoints });
    }
    if (cluster !== ownCluster) {
      tellService(service, cluster);
      return;
    }
    const isEcho = publication.saw(resource, service, change);
    dropWithdrawn(service);
    // What we share was told of when we said it.
    if (!isEcho) tellOwn(service);
  }

  function noteDeletion({ metadata }: KubeObject): void {
    const cluster = memberOfNamespace(metadata.namespace ?? "");
    if (cluster !== undefined && !budget.hasShares(cluster)) registry.noteEmptied(cluster);
  }

  function cachedOwn(resource: Resource, service: ServiceKey): readonly PackedShare[] {
    const all =
      resource === SERVICE_SHARE ? shares.serviceShares(service) : shares.endpointShares(service);
    return all.filter(({ cluster }) => cluster === ownCluster);
  }
  function dropWithdrawn(service: ServiceKey): void {
    if (own.get(service) === "withdrawn" && publication.isGone(service)) own.delete(service);
  }

  function isOnHub([service, shared]: readonly [ServiceKey, unknown]): boolean {
    return shared === "withdrawn" || publication.isPublished(service);
  }
  function isDrained(cluster: ClusterId): boolean {
    const told = cluster === ownCluster ? drain.told() : undefined;
    return told === undefined ? registry.isDrained(cluster) : told.why !== undefined;
  }
  function hasStrangers(): boolean {
    return !isSynced || registry.own() === undefined;
  }
  /** Nobody counts as one who has told everything while we have not read it; nor do we, by the word of an agent before us. */
  function complete(member: HubMember): HubMember {
    const { cluster } = member;
    const isTold = !hasStrangers() && (cluster !== ownCluster || isOwnTold);
    return {
      ...member,
      isComplete: member.isComplete && isTold,
      isDrained: isDrained(cluster),
    };
  }
  function requireOwn(cluster: ClusterId): void {
    if (cluster === ownCluster) return;
    throw new Error(`this agent speaks for cluster "${ownCluster}", not for "${cluster}"`);
  }
  /** Before that, nobody knows what is to be created and what to be replaced. */
  function requireSynced(): void {
    stopping.signal.throwIfAborted();
    if (isSynced) return;
    throw new StoreError(
      "Unavailable",
      "the hub has not answered yet since the agent started; this waits until it does",
    );
  }

  async function send(contribution: Contribution, span?: Span): Promise<void> {
    requireSynced();
    await publication.publish(contribution, span);
  }

  async function withdraw(service: ServiceKey, span?: Span): Promise<void> {
    const shared = own.get(service);
    const isShared =
      shared === undefined ? cachedOwn(SERVICE_SHARE, service).length > 0 : shared !== "withdrawn";
    if (isShared) {
      own.set(service, "withdrawn");
      tellService(service, ownCluster);
    }
    requireSynced();
    await publication.withdraw(service, span);
    dropWithdrawn(service);
  }

  /** What stayed behind when a withdrawal was cut short has no ServiceShare by which anybody would find it. */
  async function sweep(): Promise<void> {
    requireSynced();
    for (const [cluster, service] of shares.listEndpointShares()) {
      const shared = own.get(service) ?? "withdrawn";
      if (cluster === ownCluster && shared === "withdrawn") await withdraw(service);
    }
  }

  async function sync(): Promise<void> {
    await Promise.all(informers.map((informer) => informer.whenSynced()));
    stopping.signal.throwIfAborted();
    isSynced = true;
    tellMembers();
  }
  const synced = sync();
  // Whoever asks hears of it; nobody has to.
  synced.catch(() => undefined);

  return {
    whenSynced: () => synced,
    async publish(contribution, span) {
      const { cluster, service } = contribution.share;
      requireOwn(cluster);
      const isNews = !isSameData(own.get(service), contribution);
      if (isNews) own.set(service, contribution);
      // On its way before we tell ourselves: other clusters wait for it, and our own import is a plan that takes as long.
      const sent = send(contribution, span);
      if (isNews) tellService(service, ownCluster);
      await sent;
    },
    async withdraw(cluster, service, span) {
      requireOwn(cluster);
      await withdraw(service, span);
    },
    published(cluster) {
      const found = new Set<ServiceKey>();
      for (const [source, service] of shares.listServiceShares()) {
        if (source === cluster) found.add(service);
      }
      if (cluster !== ownCluster) return found;
      const candidates = [...found, ...own.keys()];
      return new Set(candidates.filter((service) => publication.isPublished(service)));
    },
    isPublished(cluster, service) {
      requireOwn(cluster);
      return publication.isPublished(service);
    },
    async completeSync(cluster) {
      requireOwn(cluster);
      if (!isOwnTold) {
        isOwnTold = true;
        tellMembers();
      }
      await completion.complete();
    },
    async heartbeat(cluster, signal) {
      requireOwn(cluster);
      requireSynced();
      const context = { store, clock, cluster, signal: stopping.signal };
      const uid = registry.ownLease()?.uid;
      await renewLease(context, { uid, isPublishing: !isOwnTold, signal });
    },
    noteDrain(cluster, why) {
      requireOwn(cluster);
      drain.note(why);
    },
    isDrained,
    contributions: (service) => reader.read(service).contributions,
    rejections: (service) => reader.read(service).rejections,
    services() {
      const found = new Set<ServiceKey>();
      for (const [cluster, service] of shares.listServiceShares()) {
        const isOwn = cluster === ownCluster;
        if (isOwn ? !own.has(service) : registry.declaration(cluster) !== undefined) {
          found.add(service);
        }
      }
      for (const [service, shared] of own) if (shared !== "withdrawn") found.add(service);
      return found;
    },
    members: () => registry.members().map(complete),
    member(cluster) {
      const member = registry.member(cluster);
      return member === undefined ? undefined : complete(member);
    },
    hasStrangers,
    hubSilentMs() {
      const contacts = informers.flatMap((informer) => informer.lastContact() ?? []);
      return contacts.length === 0 ? undefined : clock.monotonic() - Math.max(...contacts);
    },
    retryNow() {
      retryAll();
      drain.retryNow();
    },
    rejectionTotals: () => reader.totals(),
    watches: () => informers.map((informer) => informer.snapshot()),
    writes: () => counted.writes(),
    subscribe: (listener) => listeners.subscribe(listener),
    async stop() {
      stopping.abort(new Error("the hub was closed"));
      completion.stop();
      drain.stop();
      budget.stop();
      registry.stop();
      publication.stop();
      await Promise.all(informers.map((informer) => informer.stop()));
    },
  };
}
