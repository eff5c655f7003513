// Embedded server, registry: which kinds are served, built-in and from CRDs. In: types and rules; out: lookups by path and by kind.

import type { OwnerReference } from "../api/object.ts";
import builtin from "./builtin.json" with { type: "json" };
import { builtinColumns } from "./print/columns.ts";
import type { Kind } from "./kind.ts";
import { type ResourceKey, resourceKeyOf } from "./storage.ts";
import type { Definitions, Schema, ServedType } from "./types.ts";

interface BuiltinFile {
  readonly definitions: Definitions;
  readonly types: readonly {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
    readonly plural: string;
    readonly singular: string;
    readonly shortNames: readonly string[];
    readonly namespaced: boolean;
    readonly categories: readonly string[];
    readonly hasStatus: boolean;
    readonly schema: Schema;
  }[];
}

let builtinTypes: readonly ServedType[] | undefined;

/** Made once per process: schemas are immutable and shared by all clusters. */
export function loadBuiltinTypes(): readonly ServedType[] {
  if (builtinTypes !== undefined) return builtinTypes;
  const file = builtin as unknown as BuiltinFile;
  builtinTypes = file.types.map((type) => {
    const { group, version, kind, plural, namespaced } = type;
    return {
      resource: { group, version, kind, plural, namespaced },
      singular: type.singular,
      listKind: `${kind}List`,
      shortNames: type.shortNames,
      categories: type.categories,
      hasStatus: type.hasStatus,
      schema: type.schema,
      definitions: file.definitions,
      columns: builtinColumns({ group, kind }),
      builtin: true,
      storageVersion: version,
    };
  });
  return builtinTypes;
}

export class Registry {
  readonly #builtin: readonly Kind[];
  /** By name of the CRD. */
  readonly #custom = new Map<string, readonly Kind[]>();
  readonly #byPath = new Map<string, Kind>();
  readonly #byKind = new Map<string, Kind>();
  readonly #stored = new Map<ResourceKey, Kind>();
  readonly #listeners: (() => void)[] = [];

  constructor(builtin: readonly Kind[]) {
    this.#builtin = builtin;
    this.#index();
  }

  types(): readonly ServedType[] {
    return this.#kinds().map((kind) => kind.served);
  }

  find(group: string, version: string, plural: string): Kind | undefined {
    return this.#byPath.get(`${group}/${version}/${plural}`);
  }

  findOwner(owner: OwnerReference): Kind | undefined {
    return this.#byKind.get(`${owner.apiVersion}/${owner.kind}`);
  }

  /** The kind in the version that is stored. */
  findStored(key: ResourceKey): Kind | undefined {
    return this.#stored.get(key);
  }

  /** One kind per stored resource. */
  storedKinds(): readonly Kind[] {
    return [...this.#stored.values()];
  }

  setCustom(crd: string, kinds: readonly Kind[]): void {
    if (kinds.length === 0) this.#custom.delete(crd);
    else this.#custom.set(crd, kinds);
    this.#index();
    for (const listener of this.#listeners) listener();
  }

  getCustom(crd: string): readonly Kind[] {
    return this.#custom.get(crd) ?? [];
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  #kinds(): Kind[] {
    return [...this.#builtin, ...[...this.#custom.values()].flat()];
  }

  #index(): void {
    this.#byPath.clear();
    this.#byKind.clear();
    this.#stored.clear();
    for (const kind of this.#kinds()) {
      const { resource, storageVersion } = kind.served;
      this.#byPath.set(`${resource.group}/${resource.version}/${resource.plural}`, kind);
      this.#byKind.set(`${kind.apiVersion}/${resource.kind}`, kind);
      const isStored = resource.version === storageVersion && kind.key === resourceKeyOf(resource);
      // A storage version may be unserved: any served one then stands for the resource.
      if (isStored || !this.#stored.has(kind.key)) this.#stored.set(kind.key, kind);
    }
  }
}
