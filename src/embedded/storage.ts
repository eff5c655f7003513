// Embedded server, storage: frozen objects by resource and key, one revision counter, a bounded history of changes.
// In: whole objects. Out: objects, lists in key order, past states, change notices. Never validates and never alters content.

import type { KubeObject } from "../api/object.ts";

/** One kind of object, all versions together: "services", "endpointslices.discovery.k8s.io". */
export type ResourceKey = string;
/** "namespace/name", or "name" for cluster-scoped resources. */
export type ObjectKey = string;

export interface Change {
  readonly revision: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly resource: ResourceKey;
  readonly key: ObjectKey;
  /** The new state; for DELETED the last state, under the revision of the deletion. */
  readonly object: KubeObject;
  readonly previous: KubeObject | undefined;
}

interface Table {
  readonly objects: Map<ObjectKey, KubeObject>;
  /** Sorted as etcd sorts keys: bytewise, so "a-b/x" comes before "a/x". */
  readonly keys: ObjectKey[];
}

export function resourceKeyOf(resource: {
  readonly group: string;
  readonly plural: string;
}): ResourceKey {
  return resource.group === "" ? resource.plural : `${resource.plural}.${resource.group}`;
}

export function objectKeyOf(namespace: string | undefined, name: string): ObjectKey {
  return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
}

export class Storage {
  readonly #tables = new Map<ResourceKey, Table>();
  readonly #listeners: ((change: Change) => void)[] = [];
  readonly #historyLimit: number;
  /** Changes at revisions #compacted + 1 … #revision, without gaps. */
  #history: Change[] = [];
  // Real servers start above 1 as well: "0" and "1" keep their special meanings.
  #revision = 1;
  #compacted = 1;

  constructor(options: { readonly historyLimit: number }) {
    this.#historyLimit = options.historyLimit;
  }

  get revision(): number {
    return this.#revision;
  }

  /** States at or before this revision can no longer be told, except the newest. */
  get compacted(): number {
    return this.#compacted;
  }

  get(resource: ResourceKey, key: ObjectKey): KubeObject | undefined {
    return this.#tables.get(resource)?.objects.get(key);
  }

  /** In key order; of one namespace when one is given. */
  list(resource: ResourceKey, namespace?: string): KubeObject[] {
    const table = this.#tables.get(resource);
    if (table === undefined) return [];
    const objects: KubeObject[] = [];
    if (namespace === undefined) {
      for (const key of table.keys) {
        const object = table.objects.get(key);
        if (object !== undefined) objects.push(object);
      }
      return objects;
    }
    const prefix = `${namespace}/`;
    for (let at = lowerBound(table.keys, prefix); at < table.keys.length; at++) {
      const key = table.keys[at];
      if (key === undefined || !key.startsWith(prefix)) break;
      const object = table.objects.get(key);
      if (object !== undefined) objects.push(object);
    }
    return objects;
  }

  count(resource: ResourceKey): number {
    return this.#tables.get(resource)?.objects.size ?? 0;
  }

  /** Undefined when the revision was compacted away. */
  listAt(resource: ResourceKey, revision: number, namespace?: string): KubeObject[] | undefined {
    if (revision >= this.#revision) return this.list(resource, namespace);
    if (revision < this.#compacted) return undefined;
    const past = this.#rewind(resource, revision);
    if (past.size === 0) return this.list(resource, namespace);
    const prefix = namespace === undefined ? "" : `${namespace}/`;
    const present = this.list(resource, namespace);
    const merged = new Map<ObjectKey, KubeObject>();
    for (const object of present) {
      merged.set(objectKeyOf(object.metadata.namespace, object.metadata.name ?? ""), object);
    }
    for (const [key, object] of past) {
      if (!key.startsWith(prefix)) continue;
      if (object === undefined) merged.delete(key);
      else merged.set(key, object);
    }
    return [...merged.entries()].sort(byKey).map(([, object]) => object);
  }

  getAt(resource: ResourceKey, key: ObjectKey, revision: number): KubeObject | undefined {
    const past = this.#rewind(resource, Math.max(revision, this.#compacted));
    return past.has(key) ? past.get(key) : this.get(resource, key);
  }

  /** Changes after `revision`, oldest first; undefined when some of them are gone. */
  changesSince(resource: ResourceKey, revision: number): Change[] | undefined {
    if (revision < this.#compacted) return undefined;
    const changes: Change[] = [];
    for (let at = revision - this.#compacted; at < this.#history.length; at++) {
      const change = this.#history[at];
      if (change?.resource === resource) changes.push(change);
    }
    return changes;
  }

  /** Writes the object under the next revision and tells every listener. */
  put(resource: ResourceKey, object: KubeObject): KubeObject {
    const key = objectKeyOf(object.metadata.namespace, object.metadata.name ?? "");
    let table = this.#tables.get(resource);
    if (table === undefined) {
      table = { objects: new Map(), keys: [] };
      this.#tables.set(resource, table);
    }
    const previous = table.objects.get(key);
    const stored = stampRevision(object, this.#revision + 1);
    if (previous === undefined) table.keys.splice(lowerBound(table.keys, key), 0, key);
    table.objects.set(key, stored);
    this.#record(resource, key, previous === undefined ? "ADDED" : "MODIFIED", stored, previous);
    return stored;
  }

  /** The last stored state under the revision of its deletion. */
  remove(resource: ResourceKey, key: ObjectKey): KubeObject | undefined {
    const table = this.#tables.get(resource);
    const previous = table?.objects.get(key);
    if (table === undefined || previous === undefined) return undefined;
    table.objects.delete(key);
    table.keys.splice(lowerBound(table.keys, key), 1);
    const gone = stampRevision(previous, this.#revision + 1);
    this.#record(resource, key, "DELETED", gone, previous);
    return gone;
  }

  /** Listeners are told within the write and must neither throw nor write. */
  onChange(listener: (change: Change) => void): void {
    this.#listeners.push(listener);
  }

  /** Forgets all history: what etcd's compaction does. */
  compact(): void {
    this.#history = [];
    this.#compacted = this.#revision;
  }

  #record(
    resource: ResourceKey,
    key: ObjectKey,
    type: Change["type"],
    object: KubeObject,
    previous: KubeObject | undefined,
  ): void {
    this.#revision += 1;
    const change: Change = { revision: this.#revision, type, resource, key, object, previous };
    this.#history.push(change);
    // Dropped in blocks: a shift per write would cost the whole history each time.
    const slack = Math.max(1, this.#historyLimit >> 2);
    if (this.#history.length >= this.#historyLimit + slack) {
      const dropped = this.#history.length - this.#historyLimit;
      this.#history = this.#history.slice(dropped);
      this.#compacted += dropped;
    }
    for (const listener of this.#listeners) listener(change);
  }

  /** What differs between now and then: key → state then (undefined: it did not exist). */
  #rewind(resource: ResourceKey, revision: number): Map<ObjectKey, KubeObject | undefined> {
    const past = new Map<ObjectKey, KubeObject | undefined>();
    for (let at = this.#history.length - 1; at >= 0; at--) {
      const change = this.#history[at];
      if (change === undefined || change.revision <= revision) break;
      if (change.resource === resource) past.set(change.key, change.previous);
    }
    return past;
  }
}

function stampRevision(object: KubeObject, revision: number): KubeObject {
  const stamped = { ...object, metadata: { ...object.metadata, resourceVersion: `${revision}` } };
  return deepFreeze(stamped);
}

/** Shared, frozen parts are not walked again, so that a write costs what changed. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const part of Object.values(value)) deepFreeze(part);
  return value;
}

function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((keys[middle] ?? "") < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function byKey(a: readonly [string, unknown], b: readonly [string, unknown]): number {
  if (a[0] === b[0]) return 0;
  return a[0] < b[0] ? -1 : 1;
}
