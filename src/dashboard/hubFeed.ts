// Dashboard: the hub as one of its members may read it in; who takes part, when each was last heard and what each shares out, kept
// current by watches. A hub that is away stays as it was last seen.

import { LEASE } from "../api/builtin.ts";
import { ENDPOINT_SHARE, SERVICE_SHARE } from "../api/hubshare.ts";
import { CLUSTER_MEMBER } from "../api/isthmus.ts";
import { HUB_NAMESPACE, memberOfNamespace, type ServiceKey } from "../api/names.ts";
import type { KubeObject, ObjectRef, Resource } from "../api/object.ts";
import {
  type EndpointFact,
  type EndpointShift,
  findShifts,
  readEndpointShare,
  readServiceShare,
  type ShareFact,
} from "../core/dashboard/facts.ts";
import type { HubCredential } from "../hub/credential.ts";
import { type Clock, parseTime, type Random } from "../ports/clock.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import { createInformer, type Informer } from "../runtime/informer.ts";

export interface MemberFact {
  readonly id: string;
  readonly version: string | undefined;
  readonly region: string | undefined;
  readonly zones: readonly string[];
  readonly drained: string | undefined;
}

export interface LeaseFact {
  readonly silentMs: number;
  /** When it was last renewed, or first seen, as seen from here: wall clock. */
  readonly sinceMs: number;
  /** It was renewed since we look. */
  readonly isHeard: boolean;
  /** It was never renewed. */
  readonly isNew: boolean;
  /** By two clocks: a hint until it is seen to change. */
  readonly looksRecent: boolean;
}

export interface HubFeed {
  readonly credential: HubCredential;
  readonly store: Store;
  problem(): string | undefined;
  isRead(): boolean;
  isAsked(): boolean;
  members(): readonly MemberFact[];
  leaseOf(cluster: string): LeaseFact | undefined;
  services(): Iterable<ServiceKey>;
  shareOf(cluster: string, service: ServiceKey): ShareFact | undefined;
  exportsOf(cluster: string): number;
  endpointsOf(service: ServiceKey): readonly EndpointFact[];
  /** Of its EndpointShares, which no selector finds. */
  shareRefs(service: ServiceKey): readonly ObjectRef[];
  stop(): Promise<void>;
}

export interface HubFeedOptions {
  readonly credential: HubCredential;
  readonly store: Store;
  readonly describe: (error: unknown) => string;
  readonly clock: Clock;
  readonly random: Random;
  readonly onService: (service: ServiceKey) => void;
  readonly onEndpoints: (shift: EndpointShift) => void;
  readonly onMembers: () => void;
}

const RETRY_CAP_MS = 5_000;
const RECENT_MS = 20_000;
const NO_ANSWER = ["Unreachable", "Timeout", "Unavailable", "Internal", "Unauthorized"] as const;

export function startHubFeed(options: HubFeedOptions): HubFeed {
  const { store, clock, random, credential } = options;
  const heard = new Map<string, { atMs: number; sinceMs: number; isHeard: boolean }>();
  const problems = new Map<string, string>();

  function inform<T extends KubeObject, R>(
    resource: Resource<T>,
    parts: {
      readonly namespace?: string;
      readonly project: (object: T) => R;
      readonly indexes?: Readonly<Record<string, (record: R) => readonly string[]>>;
      readonly onChange: (key: string, before: R | undefined, after: R | undefined) => void;
    },
  ): Informer<R> {
    return createInformer<T, R>({
      ...parts,
      store,
      resource,
      onError(failed) {
        const { error } = failed;
        const isLasting = "isRepeated" in failed && failed.isRepeated;
        if (!isLasting && !isStoreError(error, ...NO_ANSWER, "Forbidden", "NotFound")) return;
        problems.set(resource.plural, `The hub could not be asked: ${options.describe(error)}`);
        options.onMembers();
      },
      onRecovery() {
        problems.delete(resource.plural);
        options.onMembers();
        for (const informer of informers) informer.retryNow();
      },
      retryCapMs: RETRY_CAP_MS,
      clock,
      random,
    });
  }

  const informers: Informer<unknown>[] = [];
  const members = inform(CLUSTER_MEMBER, {
    project({ metadata, spec, status }): MemberFact | undefined {
      // Who it is says the namespace, which is its own; the name has to agree.
      const id = memberOfNamespace(metadata.namespace ?? "");
      if (id === undefined || id !== metadata.name) return undefined;
      const { topology } = spec ?? {};
      return {
        id,
        version: status?.agentVersion,
        region: topology?.region,
        zones: topology?.zones ?? [],
        drained: status?.drained,
      };
    },
    onChange: () => options.onMembers(),
  });
  const leases = inform(LEASE, {
    namespace: HUB_NAMESPACE,
    project: ({ metadata, spec }) => ({ name: metadata.name ?? "", renewTime: spec?.renewTime }),
    onChange(_, before, after) {
      const now = { atMs: clock.monotonic(), sinceMs: clock.now() };
      if (after === undefined) heard.delete(before?.name ?? "");
      else if (before === undefined) heard.set(after.name, { ...now, isHeard: false });
      else if (before.renewTime !== after.renewTime)
        heard.set(after.name, { ...now, isHeard: true });
      options.onMembers();
    },
  });
  const serviceShares = inform(SERVICE_SHARE, {
    project: readServiceShare,
    indexes: {
      cluster: (fact) => (fact === undefined ? [] : [fact.cluster]),
      share: (fact) => (fact === undefined ? [] : [`${fact.cluster} ${fact.service}`]),
    },
    onChange(_, before, after) {
      const service = after?.service ?? before?.service;
      if (service !== undefined) options.onService(service);
    },
  });
  const endpointShares = inform(ENDPOINT_SHARE, {
    project(object) {
      const fact = readEndpointShare(object);
      const { namespace = "", name = "" } = object.metadata;
      return fact === undefined ? undefined : { ...fact, ref: { namespace, name } };
    },
    indexes: { service: (fact) => (fact === undefined ? [] : [fact.service]) },
    onChange(_, before, after) {
      for (const shift of findShifts(before, after)) {
        options.onService(shift.service);
        options.onEndpoints(shift);
      }
    },
  });
  informers.push(members, leases, serviceShares, endpointShares);

  return {
    credential,
    store,
    problem: () => problems.values().next().value,
    isRead: () => informers.every((one) => one.isSynced()),
    isAsked: () => problems.size > 0 || informers.every((one) => one.isSynced()),
    members: () => members.list().flatMap((member) => member ?? []),
    leaseOf(cluster) {
      const lease = leases.get(`${HUB_NAMESPACE}/${cluster}`);
      const last = heard.get(cluster);
      if (lease === undefined || last === undefined) return undefined;
      const renewedMs = parseTime(lease.renewTime);
      return {
        silentMs: clock.monotonic() - last.atMs,
        sinceMs: last.sinceMs,
        isHeard: last.isHeard,
        isNew: renewedMs === undefined,
        looksRecent: renewedMs !== undefined && Math.abs(clock.now() - renewedMs) < RECENT_MS,
      };
    },
    *services() {
      for (const share of serviceShares.list()) if (share !== undefined) yield share.service;
    },
    shareOf: (cluster, service) => serviceShares.byIndex("share", `${cluster} ${service}`)[0],
    exportsOf: (cluster) => serviceShares.byIndex("cluster", cluster).length,
    endpointsOf: (service) =>
      endpointShares.byIndex("service", service).flatMap((fact) => fact ?? []),
    shareRefs: (service) =>
      endpointShares.byIndex("service", service).flatMap((fact) => fact?.ref ?? []),
    async stop() {
      await Promise.all(informers.map((informer) => informer.stop()));
    },
  };
}
