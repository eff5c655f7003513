// Built-in behaviour: garbage collection by owner references. Keys are objects; each look decides from the state alone:
// owners gone ─▶ delete · owner waits in the foreground ─▶ delete, owner's finalizer goes when no blocker is left ·
// owner orphans ─▶ drop the reference, then its finalizer

import type { KubeObject, OwnerReference } from "../../api/object.ts";
import type { Kind } from "../kind.ts";
import { FOREGROUND, ORPHAN } from "../remove.ts";
import { type ObjectKey, objectKeyOf, type ResourceKey } from "../storage.ts";
import type { Host } from "../system.ts";
import { withMetadata } from "../write.ts";

interface Place {
  readonly resource: ResourceKey;
  readonly key: ObjectKey;
}

export function startGarbage(host: Host): void {
  const collector = new Collector(host);
  host.engine.storage.onChange((change) => {
    const { resource, key, object, previous, type } = change;
    collector.index({ resource, key }, previous, type === "DELETED" ? undefined : object);
    if (type === "DELETED") collector.ownerChanged(object);
    else {
      if ((object.metadata.ownerReferences ?? []).length > 0) collector.look({ resource, key });
      if (isWaiting(object)) collector.ownerChanged(object, { resource, key });
    }
    // An owner in the foreground may have waited for this one.
    for (const owner of previous?.metadata.ownerReferences ?? [])
      collector.ownerWaits(object, owner);
  });
}

function isWaiting(object: KubeObject): boolean {
  if (object.metadata.deletionTimestamp === undefined) return false;
  const finalizers = object.metadata.finalizers ?? [];
  return finalizers.includes(FOREGROUND) || finalizers.includes(ORPHAN);
}

class Collector {
  readonly #host: Host;
  /** uid of an owner → who names it. */
  readonly #dependents = new Map<string, Map<string, Place>>();

  constructor(host: Host) {
    this.#host = host;
  }

  index(place: Place, before: KubeObject | undefined, after: KubeObject | undefined): void {
    const id = `${place.resource} ${place.key}`;
    for (const { uid } of before?.metadata.ownerReferences ?? []) {
      const held = this.#dependents.get(uid);
      held?.delete(id);
      if (held?.size === 0) this.#dependents.delete(uid);
    }
    for (const { uid } of after?.metadata.ownerReferences ?? []) {
      const held = this.#dependents.get(uid) ?? new Map<string, Place>();
      held.set(id, place);
      this.#dependents.set(uid, held);
    }
  }

  look(place: Place): void {
    this.#host.background.add(`garbage/${place.resource} ${place.key}`, () => this.#judge(place));
  }

  /** Its dependents have something to decide, and so has an owner that waits for them. */
  ownerChanged(owner: KubeObject, place?: Place): void {
    for (const dependent of this.#dependentsOf(owner)) this.look(dependent);
    if (place !== undefined) this.#lookAtOwner(place);
  }

  ownerWaits(dependent: KubeObject, reference: OwnerReference): void {
    const kind = this.#host.engine.registry.findOwner(reference);
    if (kind === undefined) return;
    const owner = this.#find(kind, dependent, reference);
    if (owner === undefined || !isWaiting(owner)) return;
    this.#lookAtOwner({ resource: kind.key, key: keyOf(owner) });
  }

  #lookAtOwner(place: Place): void {
    this.#host.background.add(`owner/${place.resource} ${place.key}`, () => this.#release(place));
  }

  #dependentsOf(owner: KubeObject): Place[] {
    return [...(this.#dependents.get(owner.metadata.uid ?? "")?.values() ?? [])];
  }

  /** The owner that the reference means: same namespace, same uid. */
  #find(kind: Kind, dependent: KubeObject, reference: OwnerReference): KubeObject | undefined {
    const namespace = kind.served.resource.namespaced ? dependent.metadata.namespace : undefined;
    const found = this.#host.engine.storage.get(kind.key, objectKeyOf(namespace, reference.name));
    return found?.metadata.uid === reference.uid ? found : undefined;
  }

  #judge(place: Place): void {
    const { storage, registry } = this.#host.engine;
    const object = storage.get(place.resource, place.key);
    const kind = registry.findStored(place.resource);
    const references = object?.metadata.ownerReferences ?? [];
    if (object === undefined || kind === undefined || references.length === 0) return;
    // Already on its way; its own finalizers decide the rest.
    if (object.metadata.deletionTimestamp !== undefined) return;
    const solid: OwnerReference[] = [];
    const dangling: OwnerReference[] = [];
    const waiting: OwnerReference[] = [];
    for (const reference of references) {
      const ownerKind = registry.findOwner(reference);
      // An unknown kind may come back: nobody deletes on a guess.
      if (ownerKind === undefined) {
        solid.push(reference);
        continue;
      }
      const owner = this.#find(ownerKind, object, reference);
      const finalizers = owner?.metadata.finalizers ?? [];
      const isDeleted = owner?.metadata.deletionTimestamp !== undefined;
      if (owner === undefined) dangling.push(reference);
      else if (isDeleted && finalizers.includes(FOREGROUND)) waiting.push(reference);
      else solid.push(reference);
    }
    if (dangling.length === 0 && waiting.length === 0) return;
    if (solid.length > 0) {
      this.#dropReferences(place, [...dangling, ...waiting]);
      return;
    }
    const hasBlockers = this.#blockersOf(object).length > 0;
    const propagation = waiting.length > 0 && hasBlockers ? "Foreground" : "Background";
    const explicit = (object.metadata.finalizers ?? []).includes(ORPHAN) ? {} : { propagation };
    this.#host.system.delete(
      kind,
      object,
      explicit as { readonly propagation?: "Foreground" | "Background" },
    );
  }

  #release(place: Place): void {
    const { storage } = this.#host.engine;
    const owner = storage.get(place.resource, place.key);
    if (owner === undefined || !isWaiting(owner)) return;
    const finalizers = owner.metadata.finalizers ?? [];
    if (finalizers.includes(ORPHAN)) {
      for (const dependent of this.#dependentsOf(owner)) {
        const object = storage.get(dependent.resource, dependent.key);
        const mine = (object?.metadata.ownerReferences ?? []).filter(
          ({ uid }) => uid === owner.metadata.uid,
        );
        this.#dropReferences(dependent, mine);
      }
      this.#host.system.dropFinalizer(place.resource, owner, ORPHAN);
      return;
    }
    if (this.#blockersOf(owner).length === 0) {
      this.#host.system.dropFinalizer(place.resource, owner, FOREGROUND);
    }
  }

  /** Dependents that the owner must outlive. */
  #blockersOf(owner: KubeObject): KubeObject[] {
    const { storage } = this.#host.engine;
    const blockers: KubeObject[] = [];
    for (const { resource, key } of this.#dependentsOf(owner)) {
      const object = storage.get(resource, key);
      const blocks = (object?.metadata.ownerReferences ?? []).some(
        ({ uid, blockOwnerDeletion }) => uid === owner.metadata.uid && blockOwnerDeletion === true,
      );
      if (object !== undefined && blocks) blockers.push(object);
    }
    return blockers;
  }

  #dropReferences(place: Place, references: readonly OwnerReference[]): void {
    const gone = new Set(references.map(({ uid }) => uid));
    if (gone.size === 0) return;
    this.#host.system.update(place.resource, place.key, (object) =>
      withMetadata(object, {
        ...object.metadata,
        ownerReferences: (object.metadata.ownerReferences ?? []).filter(
          ({ uid }) => !gone.has(uid),
        ),
      }),
    );
  }
}

function keyOf(object: KubeObject): ObjectKey {
  return objectKeyOf(object.metadata.namespace, object.metadata.name ?? "");
}
