// Schema, defaulting: a schema and an object in; the object with defaults filled in and meaningless nulls gone out.

import { isJsonArray, isJsonObject, setField } from "../json.ts";
import { childSchema, isBuiltin, resolveSchema, rootSchema } from "./resolve.ts";
import type { Definitions, Json, JsonObject, Schema } from "../types.ts";

/** Of a whole resource. Gives back the same object when there was nothing to fill in. */
export function applyDefaults(
  schema: Schema,
  definitions: Definitions,
  object: JsonObject,
): JsonObject {
  return defaultFields(definitions, rootSchema(schema, definitions), object);
}

function defaultValue(definitions: Definitions, unresolved: Schema, value: Json): Json {
  const schema = resolveSchema(unresolved, definitions);
  if (isJsonArray(value)) {
    const { items } = schema;
    if (items === undefined) return value;
    const filled = value.map((item) =>
      defaultValue(definitions, items, replaceNull(definitions, items, item) ?? item),
    );
    return filled.every((item, index) => item === value[index]) ? value : filled;
  }
  return isJsonObject(value) ? defaultFields(definitions, schema, value) : value;
}

function defaultFields(definitions: Definitions, schema: Schema, value: JsonObject): JsonObject {
  const filled: Record<string, Json> = {};
  let changed = false;
  for (const [key, child] of Object.entries(value)) {
    const property = childSchema(schema, key);
    if (property === undefined) {
      setField(filled, key, child);
      continue;
    }
    const present = replaceNull(definitions, property, child);
    const next = present === undefined ? undefined : defaultValue(definitions, property, present);
    changed ||= next !== child;
    if (next !== undefined) setField(filled, key, next);
  }
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    if (Object.hasOwn(filled, key)) continue;
    const fallback = defaultOf(definitions, property);
    if (fallback === undefined) continue;
    setField(filled, key, defaultValue(definitions, property, fallback));
    changed = true;
  }
  return changed ? filled : value;
}

/** A null where none is allowed stands for the default; undefined when there is no default, so that the field goes. */
function replaceNull(definitions: Definitions, unresolved: Schema, value: Json): Json | undefined {
  if (value !== null) return value;
  const schema = resolveSchema(unresolved, definitions);
  if (schema.nullable === true || schema["x-kubernetes-preserve-unknown-fields"] === true) {
    return null;
  }
  return schema.default;
}

/**
 * The schemas of built-in types give every required scalar its Go zero value as default. Filling those in would hide
 * that a required field is missing. An empty struct is filled in only where the type is a struct.
 */
function defaultOf(definitions: Definitions, unresolved: Schema): Json | undefined {
  const schema = resolveSchema(unresolved, definitions);
  const fallback = schema.default;
  if (fallback === undefined || !isBuiltin(definitions)) return fallback;
  if (fallback === "" || fallback === 0 || fallback === false) return undefined;
  return isJsonObject(fallback) && schema.type !== "object" ? undefined : fallback;
}
