// Observe: an API server in, who the cluster is, whether it is drained and which IP families it can serve out. Reads and a
// dry run, no change.

import { CLUSTER_PROPERTY, type ClusterProperty } from "../api/about.ts";
import { type IPFamily, SERVICE, type Service } from "../api/builtin.ts";
import { CLUSTER_ID_PROPERTY, type ClusterId, type Parsed } from "../api/names.ts";
import { apiVersionOf } from "../api/object.ts";
import { readDrain } from "../core/drain.ts";
import { resolveIdentity } from "../core/identity.ts";
import { isStoreError, type Store } from "../ports/store.ts";

export interface SelfDescription {
  readonly identity: Parsed<ClusterId>;
  /** Absent: it could not be read, and what was known of it stands. */
  readonly drain?: { readonly why: string | undefined };
}

export async function identifyCluster(
  store: Store,
  configured: { readonly name: string; readonly givenId?: string },
  signal: AbortSignal,
): Promise<SelfDescription> {
  const { properties, isWhole } = await readProperties(store, signal);
  const idProperty = properties.find(({ metadata }) => metadata.name === CLUSTER_ID_PROPERTY);
  return {
    identity: resolveIdentity(configured.name, configured.givenId, idProperty),
    ...(isWhole && { drain: { why: readDrain(properties) } }),
  };
}

async function readProperties(
  store: Store,
  signal: AbortSignal,
): Promise<{ readonly properties: readonly ClusterProperty[]; readonly isWhole: boolean }> {
  try {
    const { items } = await store.list(CLUSTER_PROPERTY, { signal });
    return { properties: items, isWhole: true };
  } catch (error) {
    // Where the kind is not known there is no property either.
    if (isStoreError(error, "NotFound")) return { properties: [], isWhole: true };
    if (!isStoreError(error, "Forbidden")) throw error;
  }
  return { properties: await readId(store, signal), isWhole: false };
}

/** A role of a release that knew no drains allows no more. */
async function readId(store: Store, signal: AbortSignal): Promise<readonly ClusterProperty[]> {
  try {
    const found = await store.get(CLUSTER_PROPERTY, { name: CLUSTER_ID_PROPERTY }, { signal });
    return found === undefined ? [] : [found];
  } catch (error) {
    if (isStoreError(error, "NotFound")) return [];
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
