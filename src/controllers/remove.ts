// Removal: objects to delete in, deleted out, some at a time. What is gone already, or of a kind that the server does not
// know, counts as deleted.

import { ENDPOINT_SHARE, SERVICE_SHARE } from "../api/hubshare.ts";
import { type ClusterId, memberNamespace } from "../api/names.ts";
import type { KubeObject, Resource } from "../api/object.ts";
import type { Removal } from "../hub/manifest/resource.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import { refOf } from "./place.ts";
import { listAll } from "./list.ts";

/** Node warns of a leak when more than ten wait for one signal. */
const AT_A_TIME = 8;

/** Those that were there. */
export async function removeAll(
  store: Store,
  removals: readonly Removal[],
  signal: AbortSignal,
): Promise<readonly Removal[]> {
  const removed: Removal[] = [];
  for (let start = 0; start < removals.length; start += AT_A_TIME) {
    signal.throwIfAborted();
    const batch = removals.slice(start, start + AT_A_TIME);
    const answers = await Promise.all(batch.map((removal) => removeOne(store, removal, signal)));
    removed.push(...batch.filter((_, at) => answers[at] === true));
  }
  return removed;
}

/** One after the other, where the order matters. */
export async function removeInOrder(
  store: Store,
  removals: readonly Removal[],
  signal: AbortSignal,
): Promise<readonly Removal[]> {
  const removed: Removal[] = [];
  for (const removal of removals) {
    signal.throwIfAborted();
    if (await removeOne(store, removal, signal)) removed.push(removal);
  }
  return removed;
}

async function removeOne(store: Store, removal: Removal, signal: AbortSignal): Promise<boolean> {
  try {
    return await store.delete(removal.resource, removal.ref, { signal });
  } catch (error) {
    if (isStoreError(error, "NotFound")) return false;
    // Deleted before, and waiting for somebody's finalizer.
    if (isStoreError(error, "Conflict")) return false;
    throw error;
  }
}

/** None where the server does not know the kind. */
export async function listKnown<T extends KubeObject>(
  store: Store,
  resource: Resource<T>,
  signal: AbortSignal,
  options: { readonly namespace?: string; readonly labelSelector?: string } = {},
): Promise<readonly T[]> {
  try {
    return await listAll(store, resource, { ...options, signal });
  } catch (error) {
    if (isStoreError(error, "NotFound")) return [];
    throw error;
  }
}

/** What a member shares, services first: nobody should see a service whose endpoints are half gone. */
export async function findShares(
  hub: Store,
  cluster: ClusterId,
  signal: AbortSignal,
): Promise<readonly Removal[]> {
  const within = { namespace: memberNamespace(cluster) };
  const removals: Removal[] = [];
  for (const resource of [SERVICE_SHARE, ENDPOINT_SHARE]) {
    const shares = await listKnown<KubeObject>(hub, resource, signal, within);
    removals.push(...shares.map((object) => ({ resource, ref: refOf(object) })));
  }
  return removals;
}
