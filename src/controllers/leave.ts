// Leave, in the cluster itself: everything that Isthmus made there gone, what others made left as they made it. Exports and
// ServiceImports written by hand stay, without what we added to them.

import { CLUSTER_PROPERTY } from "../api/about.ts";
import {
  CONFIG_MAP,
  ENDPOINT_SLICE,
  LEASE,
  NAMESPACE,
  POD,
  SECRET,
  SERVICE,
  SERVICE_ACCOUNT,
} from "../api/builtin.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT } from "../api/mcs.ts";
import {
  CLUSTER_ID_PROPERTY,
  CLUSTERSET_PROPERTY,
  FIELD_MANAGER,
  KUBE_SERVICE_NAME_LABEL,
  MANAGED_BY_LABEL,
  MANAGED_LABEL,
  SERVICE_NAME_LABEL,
  SLICE_MANAGER,
  SYSTEM_NAMESPACE,
} from "../api/names.ts";
import { apiVersionOf, type KubeObject, type Resource } from "../api/object.ts";
import { HUB_SECRET } from "../hub/credential.ts";
import { AGENT_LEASE, renderAgentAccess } from "../hub/local.ts";
import type { Removal } from "../hub/manifest/resource.ts";
import { renderClusterPolicyRemoval } from "../policy/cluster.ts";
import type { Clock } from "../ports/clock.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import { refOf } from "./place.ts";
import { isPolicyRefusal, persist } from "./register.ts";
import { listKnown, removeAll, removeInOrder } from "./remove.ts";

export interface LocalDeparture {
  /** They keep everybody but the agent from its work: an administrator, too. */
  readonly policies: readonly Removal[];
  /** Imports, in order: what users look at first, what carries traffic last. */
  readonly imports: readonly Removal[];
  /** The agent's permissions, its Lease and the credentials. */
  readonly access: readonly Removal[];
  /** Others' objects that carry something of ours. */
  readonly released: readonly Release[];
  /** The namespace; undefined when it is not ours, or somebody else lives there. */
  readonly namespace: Removal | undefined;
  /** What else lives in the namespace. */
  readonly lodgers: readonly Removal[];
}

interface Release extends Removal {
  readonly subresource?: "status";
}

const OURS = `${MANAGED_LABEL}=true`;

export async function planLocalDeparture(
  store: Store,
  signal: AbortSignal,
): Promise<LocalDeparture> {
  const find = async (resource: Resource, labelSelector: string): Promise<readonly Removal[]> =>
    (await listKnown(store, resource, signal, { labelSelector })).map((object) => ({
      resource,
      ref: refOf(object),
    }));
  const namespace = await store.get(NAMESPACE, { name: SYSTEM_NAMESPACE }, { signal });
  const lodgers = namespace === undefined ? [] : await findLodgers(store, signal);
  const isOurs = namespace?.metadata.labels?.[MANAGED_LABEL] === "true";
  return {
    policies: await findPolicies(store, signal),
    imports: [
      ...(await find(SERVICE_IMPORT, OURS)),
      ...(await find(SERVICE, OURS)),
      ...(await find(ENDPOINT_SLICE, `${MANAGED_BY_LABEL}=${SLICE_MANAGER}`)),
    ],
    released: await findReleases(store, signal),
    access: [
      ...renderAgentAccess()
        .filter(({ resource }) => resource !== NAMESPACE)
        .map(({ resource, object }) => ({ resource, ref: refOf(object) }))
        .toReversed(),
      ...(await findProperties(store, signal)),
      { resource: SECRET, ref: HUB_SECRET },
      { resource: LEASE, ref: AGENT_LEASE },
    ],
    namespace:
      isOurs && lodgers.length === 0
        ? { resource: NAMESPACE, ref: { name: SYSTEM_NAMESPACE } }
        : undefined,
    lodgers,
  };
}

/** None where there are none, or none that whoever leaves may see. Those of a hub in the same cluster have other names. */
async function findPolicies(store: Store, signal: AbortSignal): Promise<readonly Removal[]> {
  const [binding] = renderClusterPolicyRemoval();
  if (binding === undefined) return [];
  try {
    const bindings = await listKnown<KubeObject>(store, binding.resource, signal);
    const names = new Set(bindings.map(({ metadata }) => metadata.name));
    return renderClusterPolicyRemoval().filter(({ ref }) => names.has(ref.name));
  } catch (error) {
    if (isStoreError(error, "Forbidden")) return [];
    throw error;
  }
}

/** What join wrote, and not what was there before. */
async function findProperties(store: Store, signal: AbortSignal): Promise<readonly Removal[]> {
  const properties = await listKnown(store, CLUSTER_PROPERTY, signal, { labelSelector: OURS });
  // The set last: while it is there, the cluster counts as a member.
  return [CLUSTER_ID_PROPERTY, CLUSTERSET_PROPERTY].flatMap((name) =>
    properties.some(({ metadata }) => metadata.name === name)
      ? [{ resource: CLUSTER_PROPERTY, ref: { name } }]
      : [],
  );
}

/** Objects of others to which we may have added something. Where we have not, giving it back changes nothing. */
async function findReleases(store: Store, signal: AbortSignal): Promise<readonly Release[]> {
  const exports = await listKnown(store, SERVICE_EXPORT, signal);
  const imports = await listKnown(store, SERVICE_IMPORT, signal);
  const attached = `${SERVICE_NAME_LABEL},${KUBE_SERVICE_NAME_LABEL}`;
  const slices = await listKnown(store, ENDPOINT_SLICE, signal, { labelSelector: attached });
  const statusOf = (resource: Resource, objects: readonly KubeObject[]): readonly Release[] =>
    objects.map((object) => ({ resource, ref: refOf(object), subresource: "status" }));
  const bodyOf = (resource: Resource, objects: readonly KubeObject[]): readonly Release[] =>
    objects.map((object) => ({ resource, ref: refOf(object) }));
  const handmade = imports.filter((object) => !isOwn(object));
  return [
    ...statusOf(
      SERVICE_EXPORT,
      exports.filter(({ status }) => status?.conditions !== undefined),
    ),
    ...statusOf(SERVICE_IMPORT, handmade),
    ...bodyOf(SERVICE_IMPORT, handmade),
    ...bodyOf(
      ENDPOINT_SLICE,
      slices.filter((object) => !isOwn(object)),
    ),
  ];
}

function isOwn({ metadata }: KubeObject): boolean {
  const { labels } = metadata;
  return labels?.[MANAGED_LABEL] === "true" || labels?.[MANAGED_BY_LABEL] === SLICE_MANAGER;
}

/** Kubernetes puts these into every namespace. */
const FURNITURE: ReadonlySet<string> = new Set(["kube-root-ca.crt", "default"]);
const LODGINGS = [POD, CONFIG_MAP, SECRET, SERVICE, SERVICE_ACCOUNT, LEASE] as const;

async function findLodgers(store: Store, signal: AbortSignal): Promise<readonly Removal[]> {
  const own = new Set([
    HUB_SECRET.name,
    AGENT_LEASE.name,
    ...renderAgentAccess().map(({ object }) => object.metadata.name),
  ]);
  const lodgers: Removal[] = [];
  for (const resource of LODGINGS) {
    const objects = await listKnown<KubeObject>(store, resource, signal, {
      namespace: SYSTEM_NAMESPACE,
    });
    const strangers = objects.filter(
      ({ metadata }) => !FURNITURE.has(metadata.name ?? "") && !own.has(metadata.name),
    );
    lodgers.push(...strangers.map((object) => ({ resource, ref: refOf(object) })));
  }
  return lodgers;
}

/** Those that were there. */
export async function carryOutLocalDeparture(
  {
    store,
    clock,
    signal,
  }: { readonly store: Store; readonly clock: Clock; readonly signal: AbortSignal },
  plan: LocalDeparture,
): Promise<readonly Removal[]> {
  const policies = await removeInOrder(store, plan.policies, signal);
  const freed = policies.length === 0 ? store : outlastPolicies(store, { clock, signal });
  const imports = await removeAll(freed, plan.imports, signal);
  for (const release of plan.released) await releaseFields(freed, release, signal);
  const access = await removeInOrder(store, plan.access, signal);
  const { namespace } = plan;
  const last = namespace === undefined ? [] : await removeInOrder(store, [namespace], signal);
  return [...policies, ...imports, ...access, ...last];
}

/** An API server goes on refusing for a moment what a policy forbade that is gone. */
function outlastPolicies(
  store: Store,
  waiting: { readonly clock: Clock; readonly signal: AbortSignal },
): Store {
  return {
    ...store,
    apply: (resource, object, options) =>
      persist(waiting, isPolicyRefusal, () => store.apply(resource, object, options)),
    delete: (resource, ref, options) =>
      persist(waiting, isPolicyRefusal, () => store.delete(resource, ref, options)),
  };
}

/** An apply without fields gives back all that was applied before. */
async function releaseFields(store: Store, release: Release, signal: AbortSignal): Promise<void> {
  const { resource, ref, subresource } = release;
  const object: KubeObject = {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { ...ref },
  };
  const options = { fieldManager: FIELD_MANAGER, ...(subresource && { subresource }), signal };
  try {
    await store.apply(resource, object, options);
  } catch (error) {
    // Somebody deleted it meanwhile, or it cannot be without what we gave it: then it stays as it is.
    if (!isStoreError(error, "NotFound", "Invalid")) throw error;
  }
}
