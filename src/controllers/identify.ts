// Observe: an API server in, who the cluster is and which IP families it can serve out. Two reads and a dry run, no change.

import { CLUSTER_PROPERTY } from "../api/about.ts";
import { type IPFamily, SERVICE, type Service } from "../api/builtin.ts";
import { CLUSTER_ID_PROPERTY, type ClusterId, type Parsed } from "../api/names.ts";
import { apiVersionOf } from "../api/object.ts";
import { resolveIdentity } from "../core/identity.ts";
import type { Store } from "../ports/store.ts";

export async function identifyCluster(
  store: Store,
  configured: { readonly name: string; readonly givenId?: string },
  signal: AbortSignal,
): Promise<Parsed<ClusterId>> {
  // Undefined also while the CRD is not installed: then there is no property either.
  const property = await store.get(CLUSTER_PROPERTY, { name: CLUSTER_ID_PROPERTY }, { signal });
  return resolveIdentity(configured.name, configured.givenId, property);
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
