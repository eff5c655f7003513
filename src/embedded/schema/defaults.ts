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

type Fallbacks = readonly (readonly [key: string, fallback: Json, property: Schema])[];

// Schemas are immutable and shared, and most of their fields have no default: those are passed over once and for all.
const fallbacks = new WeakMap<Definitions, WeakMap<Schema, Fallbacks>>();
const NO_FALLBACKS: Fallbacks = [];

function fallbacksOf(definitions: Definitions, schema: Schema): Fallbacks {
  if (schema.properties === undefined) return NO_FALLBACKS;
  let known = fallbacks.get(definitions);
  if (known === undefined) {
    known = new WeakMap();
    fallbacks.set(definitions, known);
  }
  let found = known.get(schema);
  if (found === undefined) {
    found = Object.entries(schema.properties).flatMap(([key, property]) => {
      const fallback = defaultOf(definitions, property);
      return fallback === undefined ? [] : [[key, fallback, property] as const];
    });
    known.set(schema, found);
  }
  return found;
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
  // Made when the first field differs: most objects are complete.
  let filled: Record<string, Json> | undefined;
  for (const key of Object.keys(value)) {
    const child = value[key] ?? null;
    const property = childSchema(schema, key);
    if (property === undefined || (typeof child !== "object" && filled === undefined)) {
      if (filled !== undefined) setField(filled, key, child);
      continue;
    }
    const present = replaceNull(definitions, property, child);
    const next = present === undefined ? undefined : defaultValue(definitions, property, present);
    if (next !== child) filled ??= fieldsBefore(value, key);
    if (next !== undefined && filled !== undefined) setField(filled, key, next);
  }
  for (const [key, fallback, property] of fallbacksOf(definitions, schema)) {
    if (Object.hasOwn(filled ?? value, key)) continue;
    filled ??= { ...value };
    setField(filled, key, defaultValue(definitions, property, fallback));
  }
  return filled ?? value;
}

/** A copy of what comes before the key. */
function fieldsBefore(value: JsonObject, end: string): Record<string, Json> {
  const copy: Record<string, Json> = {};
  for (const [key, child] of Object.entries(value)) {
    if (key === end) break;
    setField(copy, key, child);
  }
  return copy;
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
