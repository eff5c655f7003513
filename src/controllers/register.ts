// Join, on the hub: a cluster, its claim and what it declares in; its registration and a credential out. Runs again where it
// stopped: what is there already stays. The hub's policies decide what a join token may do; here is only the order.
//
//   use of the token ─▶ namespace (the claim) ─▶ account ─▶ credential ─▶ bindings, Lease, ClusterMember
//                                                 └ refused: the namespace is somebody else's, the id is taken

import { NAMESPACE, SERVICE_ACCOUNT } from "../api/builtin.ts";
import { CLUSTER_MEMBER, type ClusterMember } from "../api/isthmus.ts";
import { JOIN_TOKEN, type JoinToken } from "../api/jointoken.ts";
import { CLAIM_ANNOTATION, type ClusterId, HUB_NAMESPACE, memberNamespace } from "../api/names.ts";
import type { KubeObject } from "../api/object.ts";
import { Problem } from "../api/problem.ts";
import { isSameData } from "../core/write.ts";
import { renderMember } from "../hub/manifest/member.ts";
import { resourceOf } from "../hub/manifest/resource.ts";
import { renderMemberTokenRequest, type TokenOrder } from "../hub/manifest/tokenrequest.ts";
import { type Clock, parseTime, sleep } from "../ports/clock.ts";
import { causesOf, isNamespaceTerminating, isStoreError, type Store } from "../ports/store.ts";

/** What whoever registers a cluster can do on the hub. */
export interface HubDoor {
  readonly store: Store;
  /** Answers the token; rejects with a StoreError. */
  readonly requestToken: (order: TokenOrder, signal: AbortSignal) => Promise<string>;
  /** Absent: an administrator of the hub. */
  readonly joinToken?: string;
}

export interface RegisterOptions {
  readonly door: HubDoor;
  readonly cluster: ClusterId;
  readonly claim: string;
  readonly spec: ClusterMember["spec"];
  /** From an earlier attempt. */
  readonly namespaceUid?: string;
  /** Told as soon as the namespace exists, so that a later attempt knows it too. */
  readonly onNamespace: (uid: string) => Promise<void>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Policies, roles and accounts are read from caches that may be a moment behind. */
const PATIENCE_MS = 10_000;
const PAUSE_MS = 250;
const STATUS_ATTEMPTS = 10;

/** Gives back the cluster's own credential. */
export async function registerCluster(options: RegisterOptions): Promise<string> {
  const { door, cluster, claim, spec, signal } = options;
  const expiresAt =
    door.joinToken === undefined ? undefined : await claimUse(options, door.joinToken);
  const registration = {
    cluster,
    claim,
    spec,
    ...(door.joinToken !== undefined && { joinToken: door.joinToken }),
  };
  const first = requireFirst(renderMember(registration));
  const namespace = await createNamespace(options, first, expiresAt);
  const namespaceUid = namespace?.metadata.uid ?? options.namespaceUid;
  if (namespaceUid !== undefined) await options.onNamespace(namespaceUid);
  const objects = renderMember({
    ...registration,
    ...(namespaceUid !== undefined && { namespaceUid }),
  }).filter(({ kind }) => kind !== NAMESPACE.kind);
  for (const account of objects.filter(({ kind }) => kind === SERVICE_ACCOUNT.kind)) {
    await createOnce(options, account).catch(refuseForeign(cluster, namespace));
  }
  const token = await requestCredential(options).catch(refuseForeign(cluster, namespace));
  for (const object of objects) {
    signal.throwIfAborted();
    await createOnce(options, object);
  }
  if (door.joinToken === undefined) await declareAnew(options);
  return token;
}

/** Written down before anything else: a token cannot be used for more clusters than it says. Gives back when it ends. */
async function claimUse(options: RegisterOptions, name: string): Promise<string> {
  const { door, cluster, signal } = options;
  for (let attempt = 1; ; attempt += 1) {
    const record = await readRecord(options, name);
    const clusters = record.status?.clusters ?? [];
    const { expiresAt } = record.spec;
    if (clusters.includes(cluster)) return expiresAt;
    const next = { ...record, status: { ...record.status, clusters: [...clusters, cluster] } };
    try {
      await door.store.replace(JOIN_TOKEN, next, { subresource: "status", signal });
      return expiresAt;
    } catch (error) {
      // Two clusters at once.
      if (!isStoreError(error, "Conflict") || attempt === STATUS_ATTEMPTS) throw error;
    }
  }
}

type Asking = Pick<RegisterOptions, "door" | "cluster" | "signal">;

/** Throws a Problem when the token will not do, before anything is written. */
export async function checkToken(options: Asking): Promise<void> {
  const { joinToken } = options.door;
  if (joinToken !== undefined) await readRecord(options, joinToken);
}

async function readRecord(options: Asking, name: string): Promise<JoinToken> {
  const { door, cluster, signal } = options;
  try {
    const record = await door.store.get(JOIN_TOKEN, { namespace: HUB_NAMESPACE, name }, { signal });
    if (record !== undefined) {
      refuseUsedUp(record, cluster);
      return record;
    }
  } catch (cause) {
    if (!isStoreError(cause, "Unauthorized", "Forbidden")) throw cause;
    throw refused(
      "the hub does not accept the join token: its time is over, or it was deleted",
      cause,
    );
  }
  throw refused("the hub has no such join token any more");
}

function refuseUsedUp({ spec, status }: JoinToken, cluster: ClusterId): void {
  const clusters = status?.clusters ?? [];
  if (clusters.includes(cluster) || clusters.length < spec.uses) return;
  const many = spec.uses === 1 ? "one cluster" : `${spec.uses} clusters`;
  const message = `the join token is for ${many}, and has been used for ${clusters.join(", ")}`;
  throw new Problem("JoinTokenUsed", message, {
    hint: "Make another one on the hub: isthmus hub token.",
  });
}

/** Undefined when it was there already: whether it is ours shows when its credential is asked for. */
async function createNamespace(
  options: RegisterOptions,
  object: KubeObject,
  expiresAt: string | undefined,
): Promise<KubeObject | undefined> {
  const { door, cluster, claim, clock, signal } = options;
  try {
    return await create(options, object);
  } catch (error) {
    const endsMs = parseTime(expiresAt) ?? Number.POSITIVE_INFINITY;
    if (isPolicyRefusal(error) && endsMs <= clock.now()) {
      throw refused(`the time of the join token was over at ${expiresAt}`, error);
    }
    if (!isStoreError(error, "AlreadyExists")) throw error;
    if (door.joinToken !== undefined) return undefined;
  }
  const found = await door.store.get(NAMESPACE, { name: memberNamespace(cluster) }, { signal });
  if (found?.metadata.deletionTimestamp !== undefined) throw beingRemoved(cluster);
  if (found?.metadata.annotations?.[CLAIM_ANNOTATION] !== claim) throw taken(cluster);
  return found;
}

async function requestCredential(options: RegisterOptions): Promise<string> {
  const { door, cluster, claim, signal } = options;
  const order = renderMemberTokenRequest(cluster, door.joinToken === undefined ? undefined : claim);
  return door.requestToken(order, signal);
}

/** A namespace that was there before, and in which a policy lets us do nothing, is another cluster's. */
function refuseForeign(cluster: ClusterId, namespace: KubeObject | undefined) {
  return (error: unknown): never => {
    if (namespace === undefined && isPolicyRefusal(error)) throw taken(cluster, error);
    throw error;
  };
}

async function createOnce(options: RegisterOptions, object: KubeObject): Promise<void> {
  try {
    await create(options, object);
  } catch (error) {
    if (isNamespaceTerminating(error)) throw beingRemoved(options.cluster, error);
    if (!isStoreError(error, "AlreadyExists")) throw error;
  }
}

/** A policy that does not know the use of the token yet may know it in a moment. */
function create(options: RegisterOptions, object: KubeObject): Promise<KubeObject> {
  const { door, signal } = options;
  const mayPass = (error: unknown): boolean =>
    door.joinToken !== undefined && isStoreError(error, "Forbidden") && isPolicyRefusal(error);
  return persist(options, mayPass, () => door.store.create(resourceOf(object), object, { signal }));
}

/** Tries again for a while what a hub refuses that reads from caches, and may not have what is new yet. */
export async function persist<T>(
  { clock, signal }: Pick<RegisterOptions, "clock" | "signal">,
  mayPass: (error: unknown) => boolean,
  attempt: () => Promise<T>,
): Promise<T> {
  const deadline = clock.monotonic() + PATIENCE_MS;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!mayPass(error) || clock.monotonic() >= deadline) throw error;
      await sleep(clock, PAUSE_MS, signal);
    }
  }
}

/** An administrator who joins a cluster again may declare something else for it. Answers whether it was something else. */
export async function declareAnew({
  door,
  cluster,
  spec,
  signal,
}: Pick<RegisterOptions, "door" | "cluster" | "spec" | "signal">): Promise<boolean> {
  const ref = { namespace: memberNamespace(cluster), name: cluster };
  const member = await door.store.get(CLUSTER_MEMBER, ref, { signal });
  if (member === undefined || isSameData(member.spec, spec)) return false;
  await door.store.replace(CLUSTER_MEMBER, { ...member, spec }, { signal });
  return true;
}

function requireFirst(objects: readonly KubeObject[]): KubeObject {
  const [first] = objects;
  if (first === undefined) throw new Error("a registration begins with a namespace");
  return first;
}

function refused(message: string, cause?: unknown): Problem {
  const hint = "Ask for another one: isthmus hub token, on the hub.";
  return new Problem("JoinTokenRefused", message, { hint, cause });
}

function taken(cluster: ClusterId, cause?: unknown): Problem {
  return new Problem("ClusterIdTaken", `the hub already has a cluster "${cluster}"`, {
    hint: "Choose another --cluster-id. If that cluster is gone for good: isthmus hub evict, on the hub.",
    cause,
  });
}

function beingRemoved(cluster: ClusterId, cause?: unknown): Problem {
  const message = `the hub is still removing an earlier cluster "${cluster}"`;
  return new Problem("ClusterIdTaken", message, { hint: "Try again in a moment.", cause });
}

/** A policy names no field, a schema does; RBAC names no cause at all. */
export function isPolicyRefusal(error: unknown): boolean {
  if (!isStoreError(error, "Forbidden", "Invalid")) return false;
  const causes = causesOf(error);
  return causes.length > 0 && causes.every(({ field, reason }) => !field && !reason);
}
