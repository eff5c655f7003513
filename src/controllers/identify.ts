// Observe: an API server in, who the cluster is and which IP families it can serve out. Two reads and a dry run, no change.

import { CLUSTER_PROPERTY, type ClusterProperty } from "../api/about.ts";
import { type IPFamily, SERVICE, type Service } from "../api/builtin.ts";
import { CLUSTER_ID_PROPERTY, type ClusterId, type Parsed } from "../api/names.ts";
import { apiVersionOf } from "../api/object.ts";
import { resolveIdentity } from "../core/identity.ts";
import { isStoreError, type Store } from "../ports/store.ts";

export async function identifyCluster(
  store: Store,
  configured: { readonly name: string; readonly givenId?: string },
  signal: AbortSignal,
): Promise<Parsed<ClusterId>> {
  const property = await getProperty(store, signal);
  return resolveIdentity(configured.name, configured.givenId, property);
}

/** Undefined also where the kind is not known: then there is no property either. */
async function getProperty(
  store: Store,
  signal: AbortSignal,
): Promise<ClusterProperty | undefined> {
  try {
    return await store.get(CLUSTER_PROPERTY, { name: CLUSTER_ID_PROPERTY }, { signal });
  } catch (error) {
    if (isStoreError(error, "NotFound")) return undefined;
    throw error;
  }
}

/** No API says which families a cluster's Services may have; a Service that takes all it can get does. */
export async function detectFamilies(
  store: Store,
  signal: AbortSignal,
): Promise<readonly IPFamily[]> {
  const probe: Service = {
    apiVersion: apiVersionOf(SERVICE),
    kind: SERVICE.kind,
    metadata: { namespace: "default", name: "isthmus-family-probe" },
    spec: { ipFamilyPolicy: "PreferDualStack", ports: [{ port: 1, protocol: "TCP" }] },
  };
  const answer = await store.create(SERVICE, probe, { dryRun: true, signal });
  return answer.spec?.ipFamilies ?? ["IPv4"];
}
