// Test double: what an administrator does on a hub when a cluster joins or is evicted, without credentials.

import { LEASE, NAMESPACE } from "../src/api/builtin.ts";
import { CLUSTER_MEMBER, type ClusterMember } from "../src/api/isthmus.ts";
import { type ClusterId, HUB_NAMESPACE, memberNamespace } from "../src/api/names.ts";
import { apiVersionOf, type KubeObject, type Resource } from "../src/api/object.ts";
import { isStoreError, type Store } from "../src/ports/store.ts";

/** What is there already stays as it is. */
export async function registerMember(
  hub: Store,
  cluster: ClusterId,
  spec: ClusterMember["spec"],
): Promise<void> {
  const namespace = memberNamespace(cluster);
  await createOnce(hub, NAMESPACE, objectOf(NAMESPACE, { name: HUB_NAMESPACE }));
  await createOnce(hub, NAMESPACE, objectOf(NAMESPACE, { name: namespace }));
  await createOnce(hub, LEASE, objectOf(LEASE, { namespace: HUB_NAMESPACE, name: cluster }));
  const member = { ...objectOf(CLUSTER_MEMBER, { namespace, name: cluster }), spec };
  await createOnce(hub, CLUSTER_MEMBER, member);
}

export async function evictMember(hub: Store, cluster: ClusterId): Promise<void> {
  const namespace = memberNamespace(cluster);
  await hub.delete(CLUSTER_MEMBER, { namespace, name: cluster });
  await hub.delete(LEASE, { namespace: HUB_NAMESPACE, name: cluster });
  await hub.delete(NAMESPACE, { name: namespace });
}

function objectOf(resource: Resource, metadata: KubeObject["metadata"]): KubeObject {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata };
}

async function createOnce<T extends KubeObject>(
  hub: Store,
  resource: Resource<T>,
  object: T,
): Promise<void> {
  try {
    await hub.create(resource, object);
  } catch (error) {
    if (!isStoreError(error, "AlreadyExists")) throw error;
  }
}
