// Embedded server, its own hand: what built-in controllers read and write, through the same pipelines as requests. Never bypasses validation.

import type { KubeObject } from "../api/object.ts";
import type { Background } from "./background.ts";
import { isJsonObject } from "./json.ts";
import type { Kind } from "./kind.ts";
import { asJson, jsonOf } from "./metadata.ts";
import type { WriteOptions } from "./options.ts";
import { type DeleteOptions, deleteObject } from "./remove.ts";
import { applyDefaults } from "./schema/defaults.ts";
import { ApiError } from "./status.ts";
import { type ObjectKey, objectKeyOf, type ResourceKey } from "./storage.ts";
import { createObject, type Engine, updateObject, withMetadata } from "./write.ts";

/** What a built-in controller works with. */
export interface Host {
  readonly engine: Engine;
  readonly background: Background;
  readonly system: System;
}

export class System {
  readonly #engine: Engine;
  readonly #manager: string;

  constructor(engine: Engine, manager: string) {
    this.#engine = engine;
    this.#manager = manager;
  }

  /** Undefined when the server refused it: a level-triggered controller looks again when the world changes. */
  create(resource: ResourceKey, object: KubeObject): KubeObject | undefined {
    const kind = this.#engine.registry.findStored(resource);
    if (kind === undefined) return undefined;
    const { schema, definitions } = kind.served;
    const body = asJson(
      applyDefaults(schema, definitions, jsonOf(object)),
    ) as unknown as KubeObject;
    const request = { kind, namespace: object.metadata.namespace, options: this.#options() };
    return ignoreRefusal(() => createObject(this.#engine, request, body).object);
  }

  update(
    resource: ResourceKey,
    key: ObjectKey,
    change: (object: KubeObject) => KubeObject,
    subresource?: string,
  ): void {
    const kind = this.#engine.registry.findStored(resource);
    const stored = this.#engine.storage.get(resource, key);
    if (kind === undefined || stored === undefined) return;
    const old = kind.fromStored(stored);
    const proposed = change(old);
    if (proposed === old) return;
    const request = {
      kind,
      namespace: old.metadata.namespace,
      name: old.metadata.name ?? "",
      ...(subresource === undefined ? {} : { subresource }),
      options: this.#options(),
    };
    ignoreRefusal(() => updateObject(this.#engine, request, { old, proposed }));
  }

  delete(kind: Kind, object: KubeObject, options: Partial<DeleteOptions> = {}): void {
    const { namespace, name = "", uid } = object.metadata;
    ignoreRefusal(() =>
      deleteObject(this.#engine, {
        kind,
        namespace,
        name,
        options: { dryRun: false, ...(uid === undefined ? {} : { uid }), ...options },
      }),
    );
  }

  dropFinalizer(resource: ResourceKey, object: KubeObject, finalizer: string): void {
    const key = objectKeyOf(object.metadata.namespace, object.metadata.name ?? "");
    this.update(resource, key, (current) =>
      withMetadata(current, {
        ...current.metadata,
        finalizers: (current.metadata.finalizers ?? []).filter((name) => name !== finalizer),
      }),
    );
  }

  #options(): WriteOptions {
    return { dryRun: false, fieldManager: this.#manager, fieldValidation: "Ignore", force: false };
  }
}

function ignoreRefusal<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

/** A part of an object that is itself an object; empty when it is not there. */
export function partOf(object: KubeObject, field: string): Readonly<Record<string, unknown>> {
  const part = jsonOf(object)[field];
  return isJsonObject(part) ? part : {};
}

/** The object with some fields of one part set. */
export function withPart(
  object: KubeObject,
  field: string,
  values: Readonly<Record<string, unknown>>,
): KubeObject {
  return { ...object, [field]: { ...partOf(object, field), ...values } };
}
