// Hub: an API server in, the same one out, but with lists of shares that are believed only while it knows this cluster.
// A hub that lost its data answers, too: with empty lists, and to believe them would be to take everything away.

import { CLUSTER_MEMBER, type ClusterMember } from "../api/isthmus.ts";
import { type ClusterId, memberNamespace } from "../api/names.ts";
import type { KubeObject, Resource } from "../api/object.ts";
import type { ListOptions, ListPage, Store } from "../ports/store.ts";
import { unknownHere } from "./presence.ts";

export function createBelievedStore(options: {
  readonly cluster: ClusterId;
  readonly store: Store;
  /** This cluster's ClusterMember, as the registry has it. */
  readonly own: () => ClusterMember | undefined;
  /** Before that there is nothing that could be taken away. */
  readonly isSynced: () => boolean;
  /** Somebody deleted it, after its end was told: a hub that lost its data has no such news, only shorter lists. */
  readonly onDeleted: (object: KubeObject) => void;
}): Pick<Store, "list" | "watch"> {
  const { cluster, store } = options;

  async function list<T extends KubeObject>(
    resource: Resource<T>,
    listing: ListOptions = {},
  ): Promise<ListPage<T>> {
    const page = await store.list(resource, listing);
    if (!options.isSynced() || (page.continue ?? "") !== "") return page;
    const { signal } = listing;
    const ref = { namespace: memberNamespace(cluster), name: cluster };
    // After the list, so that it was still true then; by uid, so that the registry has seen the same life of the hub.
    const found = await store.get(CLUSTER_MEMBER, ref, signal === undefined ? {} : { signal });
    const known = options.own();
    if (known === undefined || found?.metadata.uid !== known.metadata.uid) {
      throw unknownHere(cluster, "its ClusterMember");
    }
    return page;
  }

  return {
    list,
    watch: (resource, watching, onEvent) =>
      store.watch(resource, watching, (event) => {
        onEvent(event);
        if (event.type === "DELETED") options.onDeleted(event.object);
      }),
  };
}
