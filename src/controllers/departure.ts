// Leave and evict, on the hub: a member in, all that the hub holds of it gone. Its shares go first, so that the others let go
// of its endpoints at once and not when its Lease runs out.

import { LEASE, NAMESPACE } from "../api/builtin.ts";
import { CLUSTER_MEMBER } from "../api/isthmus.ts";
import { type ClusterId, HUB_NAMESPACE, memberNamespace, memberOfNamespace } from "../api/names.ts";
import { renderDeparture, renderRemoval } from "../hub/manifest/member.ts";
import type { Removal } from "../hub/manifest/resource.ts";
import { parseTime } from "../ports/clock.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import { findShares, listKnown, removeAll, removeInOrder } from "./remove.ts";

export interface HubAccess {
  readonly store: Store;
  /** False: the member's own credential, which may delete less and dies on the way. */
  readonly isAdmin: boolean;
}

/** What would be deleted, in order. */
export async function planDeparture(
  hub: HubAccess,
  cluster: ClusterId,
  signal: AbortSignal,
): Promise<readonly Removal[]> {
  const rest = hub.isAdmin ? renderRemoval(cluster) : renderDeparture(cluster);
  return [...(await findShares(hub.store, cluster, signal)), ...rest];
}

/** Those that were there. */
export async function carryOutDeparture(
  hub: HubAccess,
  cluster: ClusterId,
  signal: AbortSignal,
): Promise<readonly Removal[]> {
  const { store, isAdmin } = hub;
  const shares = await removeAll(store, await findShares(store, cluster, signal), signal);
  const rest = isAdmin ? renderRemoval(cluster) : renderDeparture(cluster);
  const removed = await removeInOrder(store, rest, signal);
  // An agent that was still at work may have shared again until its namespace was closed to it.
  return [...shares, ...removed, ...(await removeLate(hub, cluster, signal))];
}

async function removeLate(
  { store }: HubAccess,
  cluster: ClusterId,
  signal: AbortSignal,
): Promise<readonly Removal[]> {
  try {
    return await removeAll(store, await findShares(store, cluster, signal), signal);
  } catch (error) {
    // The credential is gone with the namespace; so is what was in it.
    if (isStoreError(error, "Unauthorized", "Forbidden")) return [];
    throw error;
  }
}

export async function isKnown(
  hub: Store,
  cluster: ClusterId,
  signal: AbortSignal,
): Promise<boolean> {
  const namespace = memberNamespace(cluster);
  const found = [
    await hub.get(CLUSTER_MEMBER, { namespace, name: cluster }, { signal }),
    await hub.get(NAMESPACE, { name: namespace }, { signal }),
    await hub.get(LEASE, { namespace: HUB_NAMESPACE, name: cluster }, { signal }),
  ];
  return found.some((object) => object !== undefined);
}

export interface MemberSight {
  readonly cluster: ClusterId;
  /** When its agent last renewed its Lease; when it joined, if it never did. */
  readonly heardAtMs: number;
}

/** Every member, and when it was last heard by the clock that wrote its Lease. */
export async function listMembers(
  hub: Store,
  signal: AbortSignal,
): Promise<readonly MemberSight[]> {
  const members = await listKnown(hub, CLUSTER_MEMBER, signal);
  const leases = await listKnown(hub, LEASE, signal, { namespace: HUB_NAMESPACE });
  return members.flatMap(({ metadata }) => {
    const cluster = memberOfNamespace(metadata.namespace ?? "");
    if (cluster === undefined || cluster !== metadata.name) return [];
    const lease = leases.find((each) => each.metadata.name === cluster);
    const heardAtMs =
      parseTime(lease?.spec?.renewTime) ?? parseTime(metadata.creationTimestamp) ?? 0;
    return [{ cluster, heardAtMs }];
  });
}
