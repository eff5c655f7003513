// Observe, once and from outside: an API server in, who the cluster says it is and which hub it has joined out. What is hidden
// or cannot be understood is said as such. Writes nothing.

import { CLUSTER_PROPERTY, type ClusterProperty } from "../api/about.ts";
import { SECRET } from "../api/builtin.ts";
import { CLUSTER_ID_PROPERTY, CLUSTERSET_PROPERTY, DRAIN_PROPERTY } from "../api/names.ts";
import { HUB_SECRET, type HubCredential, parseCredential } from "../hub/credential.ts";
import { isStoreError, type Store } from "../ports/store.ts";

export interface MembershipSight {
  readonly credential: HubCredential | undefined;
  readonly idProperty: ClusterProperty | undefined;
  readonly properties: readonly ClusterProperty[];
  /** It is a member, and we may not know of which hub. */
  readonly isHubHidden: boolean;
  /** There is a Secret for the hub, and what is wrong with it. */
  readonly problem?: string;
}

export async function readMembership(store: Store, signal: AbortSignal): Promise<MembershipSight> {
  const quietly = async <T>(ask: Promise<T>): Promise<T | undefined> => {
    try {
      return await ask;
    } catch (error) {
      if (isStoreError(error, "NotFound", "Forbidden")) return undefined;
      throw error;
    }
  };
  const idProperty = await quietly(
    store.get(CLUSTER_PROPERTY, { name: CLUSTER_ID_PROPERTY }, { signal }),
  );
  const setProperty = await quietly(
    store.get(CLUSTER_PROPERTY, { name: CLUSTERSET_PROPERTY }, { signal }),
  );
  const drainProperty = await quietly(
    store.get(CLUSTER_PROPERTY, { name: DRAIN_PROPERTY }, { signal }),
  );
  const properties = [idProperty, setProperty, drainProperty].flatMap((property) => property ?? []);
  try {
    const secret = await store.get(SECRET, HUB_SECRET, { signal });
    const parsed = secret === undefined ? undefined : parseCredential(secret);
    const credential = parsed?.ok === true ? parsed.value : undefined;
    const problem = parsed?.ok === false ? { problem: parsed.problem } : {};
    return { credential, idProperty, properties, isHubHidden: false, ...problem };
  } catch (error) {
    if (!isStoreError(error, "Forbidden")) throw error;
    const isHubHidden = setProperty !== undefined;
    return { credential: undefined, idProperty, properties, isHubHidden };
  }
}
