// Embedded server, plain JSON: predicates and equality that every data part shares. Knows no schema and never mutates.

import type { Json, JsonObject } from "./types.ts";

/** Trusts what is inside: everything here was parsed from JSON text. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// Array.isArray alone does not narrow a union that holds a readonly array.
export function isJsonArray(value: unknown): value is readonly Json[] {
  return Array.isArray(value);
}

/** Own properties only: user data may hold keys such as "constructor". */
export function getField(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Writes an own property even for "__proto__", which a plain assignment would swallow. */
export function setField(target: Record<string, Json>, key: string, value: Json): void {
  if (key === "__proto__") {
    Object.defineProperty(target, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  } else {
    target[key] = value;
  }
}

/** Order of object keys does not count; order of arrays does. */
export function equalJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isJsonArray(a)) {
    return (
      isJsonArray(b) && a.length === b.length && a.every((item, index) => equalJson(item, b[index]))
    );
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && equalJson(a[key], b[key]))
  );
}

/** Text that is equal exactly when the values are: keys sorted, no spaces. */
export function canonicalJson(value: Json): string {
  if (isJsonArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const fields = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] ?? null)}`);
  return `{${fields.join(",")}}`;
}

/** Copy without one key; the same object when the key is absent. */
export function omitField(object: JsonObject, key: string): JsonObject {
  if (!Object.hasOwn(object, key)) return object;
  const copy: Record<string, Json> = {};
  for (const [name, value] of Object.entries(object)) {
    if (name !== key) setField(copy, name, value);
  }
  return copy;
}
