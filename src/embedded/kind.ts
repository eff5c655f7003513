// Embedded server, one served version of a kind with its rules: objects between their stored and their served form. Never stores.

import type { KubeObject } from "../api/object.ts";
import { apiVersionOf } from "../api/object.ts";
import type { Rules } from "./rules.ts";
import type { ResourceKey } from "./storage.ts";
import { deepFreeze } from "./storage.ts";
import type { ServedType } from "./types.ts";

export interface Conversion {
  readonly fromStored: (object: KubeObject) => KubeObject;
  readonly toStored: (object: KubeObject) => KubeObject;
}

export class Kind {
  readonly served: ServedType;
  readonly key: ResourceKey;
  readonly rules: Rules;
  readonly apiVersion: string;
  readonly #conversion: Conversion | undefined;
  // Watchers and lists of one version share one converted, frozen object per stored object.
  readonly #converted = new WeakMap<KubeObject, KubeObject>();

  constructor(parts: {
    readonly served: ServedType;
    readonly key: ResourceKey;
    readonly rules: Rules;
    readonly conversion?: Conversion;
  }) {
    this.served = parts.served;
    this.key = parts.key;
    this.rules = parts.rules;
    this.apiVersion = apiVersionOf(parts.served.resource);
    this.#conversion = parts.conversion;
  }

  fromStored(object: KubeObject): KubeObject {
    if (this.#conversion === undefined) return object;
    const known = this.#converted.get(object);
    if (known !== undefined) return known;
    const converted = deepFreeze(this.#conversion.fromStored(object));
    this.#converted.set(object, converted);
    return converted;
  }

  toStored(object: KubeObject): KubeObject {
    return this.#conversion === undefined ? object : this.#conversion.toStored(object);
  }

  /** Spares the conversion of an object that this kind has just written as it is stored. */
  seed(stored: KubeObject): void {
    if (stored.apiVersion === this.apiVersion) this.#converted.set(stored, stored);
  }
}
