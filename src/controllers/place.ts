// Apply: whole objects in, written by server-side apply in order, and what became of each out. For installers: nothing is
// watched, nothing is kept in step later. What the chart has installed is the chart's.

import { NAMESPACE } from "../api/builtin.ts";
import { FIELD_MANAGER } from "../api/names.ts";
import type { KubeObject, ObjectRef, Resource } from "../api/object.ts";
import type { Store } from "../ports/store.ts";

/** An object and where it belongs. */
export interface Manifest {
  readonly resource: Resource;
  readonly object: KubeObject;
}

export interface Placed {
  readonly resource: Resource;
  readonly ref: ObjectRef;
  readonly outcome: "created" | "updated" | "unchanged" | "left to Helm";
}

/** Helm puts it on all that it installs. */
const HELM = ["app.kubernetes.io/managed-by", "Helm"] as const;

export async function placeObjects(
  store: Store,
  manifests: readonly Manifest[],
  signal: AbortSignal,
): Promise<readonly Placed[]> {
  const placed: Placed[] = [];
  for (const manifest of manifests) placed.push(await placeObject(store, manifest, signal));
  return placed;
}

async function placeObject(
  store: Store,
  { resource, object }: Manifest,
  signal: AbortSignal,
): Promise<Placed> {
  const ref = refOf(object);
  const before = await store.get(resource, ref, { signal });
  if (before !== undefined && isHelms(resource, before)) {
    return { resource, ref, outcome: "left to Helm" };
  }
  // Everything in such an object is ours by right.
  const options = { fieldManager: FIELD_MANAGER, force: true, signal };
  const after = await store.apply(resource, object, options);
  if (before === undefined) return { resource, ref, outcome: "created" };
  const isSame = before.metadata.resourceVersion === after.metadata.resourceVersion;
  return { resource, ref, outcome: isSame ? "unchanged" : "updated" };
}

/**
 * A field that two have applied can be changed by neither alone: the next `helm upgrade` would be refused. A Namespace has none that a
 * release of the chart would change.
 */
function isHelms(resource: Resource, { metadata }: KubeObject): boolean {
  const [label, helm] = HELM;
  return resource !== NAMESPACE && metadata.labels?.[label] === helm;
}

export function refOf(object: KubeObject): ObjectRef {
  const { namespace, name = "" } = object.metadata;
  return namespace === undefined ? { name } : { namespace, name };
}
