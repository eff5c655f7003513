// Hub: ClusterMembers and Leases in, who is a member, how long each has been silent and what is declared of it out.
//
//             ClusterMember seen                   it vanished, with shares still there
//   unknown ─────────────────────▶ member ──────────────────────────────────────────────▶ missing
//      ▲                             │ ▲                                                    │ │
//      └── vanished, nothing shared ─┘ └───────────────── seen again ───────────────────────┘ │
//      ▲                                                                                      │
//      ├────────── as long as a silent member is borne; for most members at once, longer ─────┤
//      └──────────────────── somebody deleted the last of its shares, too ────────────────────┘
//
// A hub that lost objects must not look like members that left: who is missing is silent, and awaited, until forgotten.

import { LEASE, type Lease } from "../api/builtin.ts";
import { CLUSTER_MEMBER, type ClusterMember } from "../api/isthmus.ts";
import { type ClusterId, HUB_NAMESPACE, memberOfNamespace } from "../api/names.ts";
import type { KubeObject, Resource } from "../api/object.ts";
import { compileDeclaration, type Declaration } from "../core/admission.ts";
import { DEFAULT_LIVENESS } from "../core/liveness.ts";
import { isSameData } from "../core/write.ts";
import type { Clock, Random, Timer } from "../ports/clock.ts";
import type { HubMember } from "../ports/hub.ts";
import type { Store } from "../ports/store.ts";
import { createHeard, isPublishing, type LeaseRecord } from "./heard.ts";
import { awaitedForMs, type Conduct, noteConduct } from "./patience.ts";
import { createInformer, type Informer, type InformerError } from "../runtime/informer.ts";

export const SYNCED = "Synced";

export interface RegistryOptions {
  /** Our own. */
  readonly cluster: ClusterId;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly forgetAfterMs?: number;
  /** Something of it is still on the hub. */
  readonly hasShares: (cluster: ClusterId) => boolean;
  readonly onMembers: () => void;
  /** `declaration` answers otherwise of it: what it shares may be taken in, or no more. */
  readonly onDeclared: (cluster: ClusterId) => void;
  /** Our own ClusterMember came, went or changed. */
  readonly onOwn: (before: ClusterMember | undefined, after: ClusterMember | undefined) => void;
  readonly onError: (resource: Resource, error: InformerError) => void;
  readonly onRecovery: () => void;
}

export interface Registry {
  readonly informers: readonly Informer<unknown>[];
  members(): readonly HubMember[];
  member(cluster: ClusterId): HubMember | undefined;
  /** By its last word on the hub. */
  isDrained(cluster: ClusterId): boolean;
  /** Undefined for who is no member. */
  declaration(cluster: ClusterId): Declaration | undefined;
  /** Our own ClusterMember, while it is there. */
  own(): ClusterMember | undefined;
  ownLease(): LeaseRecord | undefined;
  /** The last of its shares was deleted, and is not merely absent from a list. */
  noteEmptied(cluster: ClusterId): void;
  stop(): void;
}

interface MemberRecord {
  /** Undefined: missing. */
  member: ClusterMember | undefined;
  declaration: Declaration;
  seenAtMs: number;
  /** As it last said: a hub that lost its ClusterMember has not heard that it is back in use. */
  isDrained: boolean;
  /** In order: it has published all it has. */
  conduct: Conduct;
  missingSinceMs: number;
  /** It went missing together with most others. */
  isLostByHub: boolean;
  timer: Timer | undefined;
}

/** A hub that lost most members must not hold up the others for ever. */
const PATIENCE_MS = 10 * 60_000;
/**
 * When the hub was away for all, the others wait twenty seconds for a member to be heard again: it must notice the return
 * well before. One informer that asks often is enough, because the rest come back with it.
 */
const RETRY_CAP_MS = 8_000;

export function createRegistry(options: RegistryOptions): Registry {
  const { cluster: ownCluster, store, clock, random, onMembers } = options;
  const { forgetAfterMs = DEFAULT_LIVENESS.withdrawAfterMs } = options;
  const records = new Map<ClusterId, MemberRecord>();
  /** What was last declared of ourselves: it still guards us when the hub has forgotten it. */
  let ownDeclaration: Declaration | undefined;
  const heard = createHeard({ clock, onCurrent: onMembers });

  const shared = <T extends KubeObject>(resource: Resource<T>) => ({
    store,
    clock,
    random,
    resource,
    onError: (error: InformerError) => options.onError(resource, error),
    onRecovery: options.onRecovery,
  });
  const members = createInformer<ClusterMember, ClusterMember>({
    ...shared(CLUSTER_MEMBER),
    project: slimMember,
    onChange: (_, before, after) => {
      const object = after ?? before;
      const cluster = object === undefined ? undefined : clusterOf(object);
      if (cluster === undefined) return;
      if (after === undefined) miss(cluster);
      else note(cluster, after);
      if (cluster === ownCluster) options.onOwn(before, after);
    },
  });
  const leases = createInformer<Lease, LeaseRecord>({
    ...shared(LEASE),
    retryCapMs: RETRY_CAP_MS,
    namespace: HUB_NAMESPACE,
    project: ({ metadata, spec }) => ({
      uid: metadata.uid,
      renewTime: spec?.renewTime,
      isPublishing: isPublishing(spec?.holderIdentity),
    }),
    onChange: (key, before, after) => {
      const name = key.slice(HUB_NAMESPACE.length + 1) as ClusterId;
      if (after === undefined) {
        if (!records.has(name)) heard.forget(name);
        return;
      }
      // A label on a Lease is no sign of life.
      if (before?.renewTime === after.renewTime && before?.uid === after.uid) return;
      if (records.get(name)?.member === undefined && records.has(name)) return;
      heard.renewed(name, after, before === undefined);
    },
  });

  function note(cluster: ClusterId, member: ClusterMember): void {
    const nowMs = clock.monotonic();
    const record = records.get(cluster);
    const isNew = record?.member === undefined;
    const isDeclaredAnew = isNew || !isSameData(record.member?.spec, member.spec);
    const wasComplete = !isNew && isComplete(record);
    const next: MemberRecord = {
      member,
      declaration: isDeclaredAnew ? compileDeclaration(member.spec) : record.declaration,
      seenAtMs: isNew ? nowMs : record.seenAtMs,
      isDrained: member.status?.drained !== undefined,
      conduct: noteConduct(isNew ? undefined : record.conduct, hasSynced(member), nowMs),
      missingSinceMs: 0,
      isLostByHub: false,
      timer: undefined,
    };
    record?.timer?.cancel();
    records.set(cluster, next);
    if (cluster === ownCluster) ownDeclaration = next.declaration;
    awaitCompletion(next);
    if (isDeclaredAnew) options.onDeclared(cluster);
    if (isDeclaredAnew || wasComplete !== isComplete(next)) onMembers();
  }

  function awaitCompletion(record: MemberRecord): void {
    if (isComplete(record)) return;
    record.timer = clock.schedule(awaitedForMs(record.conduct, clock.monotonic()), onMembers);
  }

  function miss(cluster: ClusterId): void {
    const record = records.get(cluster);
    if (record === undefined) return;
    record.timer?.cancel();
    record.member = undefined;
    record.missingSinceMs = clock.monotonic();
    // Who withdrew everything first has left, as `isthmus leave` does.
    if (options.hasShares(cluster)) awaitReturn(cluster, record);
    else forget(cluster);
    onMembers();
  }

  function awaitReturn(cluster: ClusterId, record: MemberRecord): void {
    const missing = [...records.values()].filter(({ member }) => member === undefined);
    if (missing.length * 2 > records.size) {
      for (const each of missing) each.isLostByHub = true;
    }
    record.timer = clock.schedule(forgetAfterMs, () => {
      const missingMs = clock.monotonic() - record.missingSinceMs;
      if (record.isLostByHub && missingMs < PATIENCE_MS) {
        awaitReturn(cluster, record);
        return;
      }
      forget(cluster);
      onMembers();
    });
  }

  /** Kinds are watched apart: of who leaves, the ClusterMember may be seen to go before its shares. */
  function noteEmptied(cluster: ClusterId): void {
    const record = records.get(cluster);
    if (record === undefined || record.member !== undefined) return;
    // A hub that does not know ourselves may be taking leave of everybody.
    if (records.get(ownCluster)?.member === undefined) return;
    record.timer?.cancel();
    forget(cluster);
    onMembers();
  }

  function forget(cluster: ClusterId): void {
    records.delete(cluster);
    heard.forget(cluster);
    options.onDeclared(cluster);
  }

  function isComplete({ member, conduct }: MemberRecord): boolean {
    return member !== undefined && awaitedForMs(conduct, clock.monotonic()) === 0;
  }

  function describe(cluster: ClusterId, record: MemberRecord): HubMember {
    return {
      cluster,
      isComplete: isComplete(record),
      isCurrent: cluster === ownCluster || heard.isCurrent(cluster),
      isHeard: cluster === ownCluster || heard.isHeard(cluster),
      silentMs: clock.monotonic() - Math.max(record.seenAtMs, heard.heardAtMs(cluster) ?? 0),
      isDrained: record.isDrained,
    };
  }

  return {
    informers: [members, leases],
    members: () => [...records].map(([cluster, record]) => describe(cluster, record)),
    member(cluster) {
      const record = records.get(cluster);
      return record === undefined ? undefined : describe(cluster, record);
    },
    isDrained: (cluster) => records.get(cluster)?.isDrained === true,
    declaration: (cluster) =>
      cluster === ownCluster ? ownDeclaration : records.get(cluster)?.declaration,
    own: () => records.get(ownCluster)?.member,
    ownLease: () => leases.get(`${HUB_NAMESPACE}/${ownCluster}`),
    noteEmptied,
    stop() {
      heard.stop();
      for (const { timer } of records.values()) timer?.cancel();
    },
  };
}

export function hasSynced(member: ClusterMember): boolean {
  return (member.status?.conditions ?? []).some(
    ({ type, status }) => type === SYNCED && status === "True",
  );
}

/** The namespace says whose it is; a ClusterMember by another name is nobody's. */
function clusterOf({ metadata }: ClusterMember): ClusterId | undefined {
  const cluster = memberOfNamespace(metadata.namespace ?? "");
  return cluster === metadata.name ? cluster : undefined;
}

/** A member writes its own status: of it, only what somebody reads is worth memory. */
export function slimMember({
  apiVersion,
  kind,
  metadata,
  spec,
  status,
}: ClusterMember): ClusterMember {
  const { namespace = "", name = "", uid = "", resourceVersion = "" } = metadata;
  const conditions = (status?.conditions ?? []).filter(({ type }) => type === SYNCED);
  const { agentVersion, drained } = status ?? {};
  return {
    apiVersion,
    kind,
    metadata: { namespace, name, uid, resourceVersion },
    spec,
    status: {
      conditions,
      ...(agentVersion === undefined ? {} : { agentVersion }),
      ...(drained === undefined ? {} : { drained }),
    },
  };
}
