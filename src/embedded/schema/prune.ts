// Schema, pruning: a schema and an object in; the object without what the schema does not know, and the paths of what went, out.

import { getField, isJsonArray, isJsonObject, setField } from "../json.ts";
import { childSchema, isBuiltin, resolveSchema, rootSchema } from "./resolve.ts";
import type { Definitions, Json, JsonObject, Schema } from "../types.ts";

export interface Pruned {
  /** The same object when nothing was unknown. */
  readonly object: JsonObject;
  /** As in "spec.ports[0].prot", sorted. */
  readonly unknown: readonly string[];
}

/** Of a whole resource: apiVersion, kind and metadata stay; what is not ObjectMeta inside metadata goes. */
export function pruneUnknown(schema: Schema, definitions: Definitions, object: JsonObject): Pruned {
  const root = rootSchema(schema, definitions);
  if (isKnown(definitions, root, object)) return { object: withoutEmptyMeta(object), unknown: [] };
  const unknown: string[] = [];
  const pruned = pruneFields({ definitions, unknown }, root, object, "");
  return { object: withoutEmptyMeta(pruned), unknown: unknown.sort() };
}

/** Servers hold metadata as a struct that leaves out what is empty, so an empty map of labels is none. */
function withoutEmptyMeta(object: JsonObject): JsonObject {
  const metadata = getField(object, "metadata");
  if (!isJsonObject(metadata)) return object;
  if (!Object.values(metadata).some(isEmptyMeta)) return object;
  const kept = Object.entries(metadata).filter(([, value]) => !isEmptyMeta(value));
  return { ...object, metadata: Object.fromEntries(kept) };
}

function isEmptyMeta(value: Json): boolean {
  if (value === null || value === "") return true;
  return isJsonArray(value)
    ? value.length === 0
    : isJsonObject(value) && Object.keys(value).length === 0;
}

interface Pruning {
  readonly definitions: Definitions;
  readonly unknown: string[];
}

function prune(pruning: Pruning, unresolved: Schema, value: Json, path: string): Json {
  const schema = resolveSchema(unresolved, pruning.definitions);
  if (isJsonArray(value)) {
    const { items } = schema;
    if (items === undefined) return value;
    return keepIfSame(
      value,
      value.map((item, index) => prune(pruning, items, item, `${path}[${index}]`)),
    );
  }
  return isJsonObject(value) ? pruneFields(pruning, schema, value, path) : value;
}

function keepIfSame(before: readonly Json[], after: readonly Json[]): readonly Json[] {
  return after.every((item, index) => item === before[index]) ? before : after;
}

/** As `prune` would leave it, found without a copy or a path: nearly every object. */
function isKnown(definitions: Definitions, unresolved: Schema, value: Json): boolean {
  if (typeof value !== "object" || value === null) return true;
  const schema = resolveSchema(unresolved, definitions);
  if (isJsonArray(value)) {
    const { items } = schema;
    return items === undefined || value.every((item) => isKnown(definitions, items, item));
  }
  if (schema["x-kubernetes-embedded-resource"] === true || !isJsonObject(value)) return false;
  const keepsUnknown = isOpen(definitions, schema);
  for (const key of Object.keys(value)) {
    const property = childSchema(schema, key);
    if (
      property === undefined ? !keepsUnknown : !isKnown(definitions, property, value[key] ?? null)
    ) {
      return false;
    }
  }
  return true;
}

function pruneFields(
  pruning: Pruning,
  schema: Schema,
  value: JsonObject,
  path: string,
): JsonObject {
  const keepsUnknown = isOpen(pruning.definitions, schema);
  const kept: Record<string, Json> = {};
  let changed = false;
  for (const [key, child] of Object.entries(value)) {
    const childPath = path === "" ? key : `${path}.${key}`;
    const property = isEmbeddedMeta(schema, key)
      ? rootSchema(schema, pruning.definitions).properties?.[key]
      : childSchema(schema, key);
    if (property !== undefined) {
      const pruned = prune(pruning, property, child, childPath);
      changed ||= pruned !== child;
      setField(kept, key, pruned);
    } else if (keepsUnknown) {
      setField(kept, key, child);
    } else {
      changed = true;
      pruning.unknown.push(childPath);
    }
  }
  return changed ? kept : value;
}

function isEmbeddedMeta(schema: Schema, key: string): boolean {
  if (schema["x-kubernetes-embedded-resource"] !== true) return false;
  return key === "apiVersion" || key === "kind" || key === "metadata";
}

/**
 * Built-in types hold raw extensions: objects that declare no fields. In a CRD an object that declares no fields
 * has none, unless it says otherwise.
 */
function isOpen(definitions: Definitions, schema: Schema): boolean {
  if (schema["x-kubernetes-preserve-unknown-fields"] === true) return true;
  const declaresNothing =
    schema.properties === undefined && schema.additionalProperties === undefined;
  return isBuiltin(definitions) && declaresNothing;
}
