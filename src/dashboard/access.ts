// Dashboard: what a reader may not see of a cluster: what can be asked for instead, and a sentence for what cannot.

import { CLUSTER_PROPERTY, type ClusterProperty } from "../api/about.ts";
import { CLUSTER_ID_PROPERTY } from "../api/names.ts";
import type { Resource } from "../api/object.ts";
import { isStoreError, type Store } from "../ports/store.ts";

/** All of them; where that is not allowed, the one that says who the cluster is. */
export async function readProperties(
  store: Store,
  signal: AbortSignal,
): Promise<readonly ClusterProperty[]> {
  try {
    return (await store.list(CLUSTER_PROPERTY, { signal })).items;
  } catch (error) {
    if (isStoreError(error, "NotFound")) return [];
    if (!isStoreError(error, "Forbidden")) throw error;
  }
  try {
    const property = await store.get(CLUSTER_PROPERTY, { name: CLUSTER_ID_PROPERTY }, { signal });
    return property === undefined ? [] : [property];
  } catch (error) {
    if (!isStoreError(error, "Forbidden", "NotFound")) throw error;
    return [];
  }
}

/** Undefined for what passes by itself: that the server is away is noticed, and said, by who asks it all the time. */
export function describeRefusal(resource: Resource, error: unknown): string | undefined {
  if (isStoreError(error, "Forbidden")) {
    return `You may not list ${resource.plural} of all namespaces: what it has of them is not shown. Ask for the ClusterRole view.`;
  }
  if (isStoreError(error, "NotFound")) {
    return `The cluster does not know ${resource.kind}s. "isthmus central" and "isthmus join" install what is missing, and so does "isthmus crds install".`;
  }
  return undefined;
}
