// Patches that need no schema: RFC 7386 merge patches and RFC 6902 JSON patches. A document and a patch in, the new document out; never mutates.

import { equalJson, getField, isJsonArray, isJsonObject, omitField, setField } from "./json.ts";
import type { Json, JsonObject } from "./types.ts";

/** The patch is malformed ("BadRequest") or does not fit the document ("Invalid"). */
export class PatchError extends Error {
  override readonly name = "PatchError";
  readonly reason: "BadRequest" | "Invalid";

  constructor(reason: "BadRequest" | "Invalid", message: string) {
    super(message);
    this.reason = reason;
  }
}

/** RFC 7386: null removes, objects merge, everything else replaces. */
export function applyMergePatch(target: Json | undefined, patch: Json): Json {
  if (!isJsonObject(patch)) return patch;
  const merged: Record<string, Json> = {};
  const base = isJsonObject(target) ? target : {};
  for (const [key, value] of Object.entries(base)) {
    if (!Object.hasOwn(patch, key)) setField(merged, key, value);
    else if (patch[key] !== null) setField(merged, key, applyMergePatch(value, patch[key] ?? null));
  }
  for (const [key, value] of Object.entries(patch)) {
    if (value !== null && !Object.hasOwn(base, key)) {
      setField(merged, key, applyMergePatch(undefined, value));
    }
  }
  return merged;
}

type Pointer = readonly string[];

/** RFC 6902. Throws a PatchError; then nothing of the patch counts. */
export function applyJsonPatch(document: Json, patch: Json): Json {
  if (!isJsonArray(patch)) {
    throw new PatchError("BadRequest", "error decoding patch: a JSON patch is an array");
  }
  // Operations are read before any is applied, so that a malformed one is told from one that fails.
  const operations = patch.map(readOperation);
  return operations.reduce<Json>((current, operation) => operation(current), document);
}

type Operation = (document: Json) => Json;

function readOperation(operation: Json): Operation {
  if (!isJsonObject(operation)) {
    throw new PatchError("BadRequest", "error decoding patch: an operation is an object");
  }
  const op = String(getField(operation, "op") ?? "");
  const path = readPointer(operation, "path");
  switch (op) {
    case "add": {
      const value = readValue(operation);
      return (document) => add(document, path, value);
    }
    case "remove":
      return (document) => remove(document, path, "remove");
    case "replace": {
      const value = readValue(operation);
      return (document) => {
        if (path.length === 0) return value;
        requireAt(document, path, "replace");
        return edit(document, path, "replace", (parent, key) => setAt(parent, key, value));
      };
    }
    case "move": {
      const from = readPointer(operation, "from");
      if (from.length < path.length && from.every((step, index) => step === path[index])) {
        throw new PatchError("Invalid", "move operation cannot move a value into itself");
      }
      return (document) => {
        const value = requireAt(document, from, "move");
        return add(remove(document, from, "move"), path, value);
      };
    }
    case "copy": {
      const from = readPointer(operation, "from");
      return (document) => add(document, path, requireAt(document, from, "copy"));
    }
    case "test": {
      const value = readValue(operation);
      return (document) => {
        if (equalJson(valueAt(document, path), value)) return document;
        throw new PatchError("Invalid", `testing value ${renderPointer(path)} failed: test failed`);
      };
    }
    default:
      throw new PatchError("Invalid", `Unexpected kind: ${op}`);
  }
}

function readValue(operation: JsonObject): Json {
  const value = getField(operation, "value");
  if (value !== undefined) return value;
  throw new PatchError("BadRequest", "error decoding patch: the operation has no value");
}

function readPointer(operation: JsonObject, name: "path" | "from"): Pointer {
  const text = getField(operation, name);
  if (typeof text !== "string") {
    throw new PatchError("BadRequest", `error decoding patch: the operation has no ${name}`);
  }
  if (text === "") return [];
  if (!text.startsWith("/")) {
    throw new PatchError(
      "Invalid",
      `jsonpatch: ${name} ${JSON.stringify(text)} does not start with "/"`,
    );
  }
  // "~01" is "~1": the order of the two replacements matters.
  return text
    .slice(1)
    .split("/")
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function renderPointer(pointer: Pointer): string {
  return pointer.map((step) => `/${step.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

function valueAt(document: Json, pointer: Pointer): Json | undefined {
  let value: Json | undefined = document;
  for (const step of pointer) {
    if (isJsonArray(value)) value = /^(0|[1-9]\d*)$/.test(step) ? value[Number(step)] : undefined;
    else value = isJsonObject(value) ? getField(value, step) : undefined;
  }
  return value;
}

function missing(op: string, pointer: Pointer): PatchError {
  const where = renderPointer(pointer);
  return new PatchError(
    "Invalid",
    `${op} operation does not apply: doc is missing path: "${where}": missing value`,
  );
}

function requireAt(document: Json, pointer: Pointer, op: string): Json {
  const value = valueAt(document, pointer);
  if (value === undefined) throw missing(op, pointer);
  return value;
}

/** Rebuilds the containers on the way to the pointer's parent. */
function edit(
  document: Json,
  pointer: Pointer,
  op: string,
  change: (parent: Json, key: string) => Json,
): Json {
  const [step, ...rest] = pointer;
  if (step === undefined) return document;
  if (rest.length === 0) {
    if (!isJsonArray(document) && !isJsonObject(document)) throw missing(op, pointer);
    return change(document, step);
  }
  const child = valueAt(document, [step]);
  if (child === undefined) throw missing(op, pointer);
  return setAt(document, step, edit(child, rest, op, change));
}

function setAt(parent: Json, key: string, value: Json): Json {
  if (isJsonArray(parent)) return parent.with(Number(key), value);
  const copy: Record<string, Json> = {};
  if (isJsonObject(parent)) {
    for (const [name, current] of Object.entries(parent)) setField(copy, name, current);
  }
  setField(copy, key, value);
  return copy;
}

function add(document: Json, pointer: Pointer, value: Json): Json {
  if (pointer.length === 0) return value;
  return edit(document, pointer, "add", (parent, key) => {
    if (!isJsonArray(parent)) return setAt(parent, key, value);
    const index = key === "-" ? parent.length : arrayIndex(key, parent.length, "add");
    return parent.toSpliced(index, 0, value);
  });
}

function remove(document: Json, pointer: Pointer, op: string): Json {
  if (pointer.length === 0)
    throw new PatchError("Invalid", `${op} operation does not apply to the whole document`);
  requireAt(document, pointer, op);
  return edit(document, pointer, op, (parent, key) => {
    if (isJsonArray(parent)) return parent.toSpliced(arrayIndex(key, parent.length - 1, op), 1);
    return isJsonObject(parent) ? omitField(parent, key) : parent;
  });
}

function arrayIndex(step: string, max: number, op: string): number {
  const index = /^(0|[1-9]\d*)$/.test(step) ? Number(step) : Number.NaN;
  if (index <= max) return index;
  throw new PatchError(
    "Invalid",
    `${op} operation does not apply: index ${step} is out of bounds: invalid index referenced`,
  );
}
