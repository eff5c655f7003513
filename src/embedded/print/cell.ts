// Printing: how the columns of built-in kinds read an object that may lack any field. Missing is null, never a throw.

import type { KubeObject } from "../../api/object.ts";
import { renderAge } from "./age.ts";
import { isJsonArray, isJsonObject } from "../json.ts";
import type { Column, Json, JsonObject } from "../types.ts";

type Read<T> = (object: JsonObject) => T;

export function text(name: string, read: Read<Json>): Column {
  return { name, type: "string", cell: (object) => asText(read(asJson(object))) };
}

// kube-apiserver declares these as strings, too, and sends numbers.
export function number(name: string, read: Read<number>): Column {
  return { name, type: "string", cell: (object) => read(asJson(object)) };
}

export function age(name: string, read: Read<string>): Column {
  return {
    name,
    type: "string",
    cell: (object, nowMs) => renderAge(read(asJson(object)), nowMs),
  };
}

/** Shown by `-o wide` only. */
export function wide(name: string, read: Read<Json>): Column {
  return { ...text(name, read), priority: 1 };
}

export const AGE: Column = age("Age", (o) => asText(pick(o, "metadata", "creationTimestamp")));

export function asText(value: Json | undefined): string {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}

export function items(value: Json): readonly Json[] {
  return isJsonArray(value) ? value : [];
}

export function field(value: Json, key: string): Json {
  return isJsonObject(value) ? (value[key] ?? null) : null;
}

export function pick(object: JsonObject, ...path: readonly string[]): Json {
  return path.reduce<Json>(field, object);
}

export function countKeys(value: Json): number {
  return isJsonObject(value) ? Object.keys(value).length : 0;
}

function asJson(object: KubeObject): JsonObject {
  const value: unknown = object;
  return isStored(value) ? value : {};
}

// Stored objects were decoded from JSON.
function isStored(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null;
}
