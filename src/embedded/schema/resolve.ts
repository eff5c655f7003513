// Schema, step one: follow references, say which schema governs a child, give custom resources the metadata schema that their CRD may not write.

import type { Definitions, Schema } from "../types.ts";

const REF_PREFIX = "#/definitions/";

// Schemas are immutable and shared, so what a reference resolves to never changes.
const resolved = new WeakMap<Definitions, WeakMap<Schema, Schema>>();

/**
 * The schema without its reference: `{$ref}` and `{allOf: [{$ref}], default}` become the definition, overlaid with
 * what stands beside the reference. Throws when a reference leads nowhere.
 */
export function resolveSchema(schema: Schema, definitions: Definitions): Schema {
  const ref = referenceOf(schema);
  if (ref === undefined) return schema;
  let cache = resolved.get(definitions);
  if (cache === undefined) {
    cache = new WeakMap();
    resolved.set(definitions, cache);
  }
  const known = cache.get(schema);
  if (known !== undefined) return known;
  const name = ref.startsWith(REF_PREFIX) ? ref.slice(REF_PREFIX.length) : ref;
  const target = Object.hasOwn(definitions, name) ? definitions[name] : undefined;
  if (target === undefined) throw new Error(`schema refers to unknown definition ${name}`);
  const { $ref: _ref, allOf: _allOf, ...beside } = schema;
  const whole: Schema = { ...resolveSchema(target, definitions), ...beside };
  cache.set(schema, whole);
  return whole;
}

function referenceOf(schema: Schema): string | undefined {
  if (schema.$ref !== undefined) return schema.$ref;
  return schema.allOf?.length === 1 ? schema.allOf[0]?.$ref : undefined;
}

/** Built-in types bring definitions; CRDs may not refer to anything. */
export function isBuiltin(definitions: Definitions): boolean {
  let known = builtins.get(definitions);
  if (known === undefined) {
    known = Object.keys(definitions).length > 0;
    builtins.set(definitions, known);
  }
  return known;
}

/** Asked for every field of every object: to look into hundreds of definitions each time was an eighth of a simulated fleet's time. */
const builtins = new WeakMap<Definitions, boolean>();

/** The property's own schema, or that of additional properties; undefined when the schema does not know the key. */
export function childSchema(schema: Schema, key: string): Schema | undefined {
  if (schema.properties !== undefined && Object.hasOwn(schema.properties, key)) {
    return schema.properties[key];
  }
  const additional = schema.additionalProperties;
  if (additional === true) return FREE;
  return additional === false ? undefined : additional;
}

/** Anything goes, nothing is pruned. */
export const FREE: Schema = { "x-kubernetes-preserve-unknown-fields": true };

const TEXT: Schema = { type: "string" };
const TIME: Schema = { type: "string", format: "date-time" };
const TEXTS: Schema = { type: "object", additionalProperties: TEXT };

/** metav1.ObjectMeta, for custom resources; built-in types bring their own copy. */
const OBJECT_META: Schema = {
  type: "object",
  properties: {
    name: TEXT,
    generateName: TEXT,
    namespace: TEXT,
    selfLink: TEXT,
    uid: TEXT,
    resourceVersion: TEXT,
    generation: { type: "integer", format: "int64" },
    creationTimestamp: TIME,
    deletionTimestamp: TIME,
    deletionGracePeriodSeconds: { type: "integer", format: "int64" },
    labels: TEXTS,
    annotations: TEXTS,
    finalizers: { type: "array", items: TEXT, "x-kubernetes-list-type": "set" },
    ownerReferences: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["uid"],
      items: {
        type: "object",
        required: ["apiVersion", "kind", "name", "uid"],
        "x-kubernetes-map-type": "atomic",
        properties: {
          apiVersion: TEXT,
          kind: TEXT,
          name: TEXT,
          uid: TEXT,
          controller: { type: "boolean" },
          blockOwnerDeletion: { type: "boolean" },
        },
      },
    },
    managedFields: {
      type: "array",
      "x-kubernetes-list-type": "atomic",
      items: {
        type: "object",
        properties: {
          manager: TEXT,
          operation: TEXT,
          apiVersion: TEXT,
          time: TIME,
          fieldsType: TEXT,
          fieldsV1: { type: "object", ...FREE },
          subresource: TEXT,
        },
      },
    },
  },
};

const roots = new WeakMap<Schema, Schema>();

/** The schema of a whole resource: apiVersion, kind and metadata are known even where a CRD does not say so. */
export function rootSchema(schema: Schema, definitions: Definitions): Schema {
  const root = resolveSchema(schema, definitions);
  if (isBuiltin(definitions)) return root;
  let known = roots.get(root);
  if (known === undefined) {
    known = {
      ...root,
      properties: { ...root.properties, apiVersion: TEXT, kind: TEXT, metadata: OBJECT_META },
    };
    roots.set(root, known);
  }
  return known;
}
