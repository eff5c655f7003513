// Patches that need no schema: RFC 7386 merge patches and RFC 6902 JSON patches. A document and a patch in, the new document out; never mutates.

import { equalJson, getField, isJsonArray, isJsonObject, omitField, setField } from "../json.ts";
import type { Json, JsonObject } from "../types.ts";

/** BadRequest, Invalid and InternalError are what servers answer, status 400, 422 and 500; the cause says more. */
export class PatchError extends Error {
  override readonly name = "PatchError";
  readonly reason: "BadRequest" | "Invalid" | "InternalError";

  constructor(reason: PatchError["reason"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** Servers do not say which operation failed, or why. */
function rejected(detail: string): PatchError {
  const message = "the server rejected our request due to an error in our request";
  return new PatchError("Invalid", message, { cause: new Error(detail) });
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

/**
 * RFC 6902, as lenient as API servers are: a missing value is null, `replace` may add a key, a missing key equals null.
 * Throws a PatchError; then nothing of the patch counts.
 */
export function applyJsonPatch(document: Json, patch: Json): Json {
  if (!isJsonArray(patch)) throw malformed(patch, "[]handlers.jsonPatchOp");
  // All operations are read before any is applied, so that a malformed one is told from one that fails.
  const operations = patch.map((operation) => {
    if (!isJsonObject(operation)) throw malformed(operation, "handlers.jsonPatchOp");
    return operation;
  });
  return operations.reduce<Json>(applyOperation, document);
}

function malformed(value: Json, expected: string): PatchError {
  const found = isJsonArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
  return new PatchError(
    "BadRequest",
    `error decoding patch: json: cannot unmarshal ${found} into Go value of type ${expected}`,
  );
}

function applyOperation(document: Json, operation: JsonObject): Json {
  const op = getField(operation, "op");
  const path = readPointer(operation, "path");
  const value = getField(operation, "value") ?? null;
  if (op === "add") return add(document, path, value);
  if (op === "remove") return remove(document, path);
  if (op === "replace") return replace(document, path, value);
  if (op === "test") {
    if (path.length > 0) requireParent(document, path);
    if (equalJson(valueAt(document, path) ?? null, value)) return document;
    throw rejected(`testing value ${renderPointer(path)} failed`);
  }
  if (op === "copy") {
    const from = readPointer(operation, "from");
    requireParent(document, from);
    return add(document, path, valueAt(document, from) ?? null);
  }
  if (op === "move") {
    const from = readPointer(operation, "from");
    const moved = valueAt(document, from);
    return add(remove(document, from), path, moved ?? null);
  }
  throw rejected(`unexpected kind of operation: ${JSON.stringify(op)}`);
}

function readPointer(operation: JsonObject, name: "path" | "from"): Pointer {
  const text = getField(operation, name);
  if (typeof text !== "string") throw rejected(`the operation has no ${name}`);
  if (text === "") return [];
  // Servers ignore what stands before the first slash. "~01" is "~1": the order of the two replacements matters.
  const [, ...steps] = text.split("/");
  if (steps.length === 0) throw rejected(`${JSON.stringify(text)} is no pointer`);
  return steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function renderPointer(pointer: Pointer): string {
  return pointer.map((step) => `/${step.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

const INDEX = /^(0|[1-9]\d*)$/;

function valueAt(document: Json, pointer: Pointer): Json | undefined {
  let value: Json | undefined = document;
  for (const step of pointer) {
    if (isJsonArray(value)) value = INDEX.test(step) ? value[Number(step)] : undefined;
    else value = isJsonObject(value) ? getField(value, step) : undefined;
  }
  return value;
}

function requireParent(document: Json, pointer: Pointer): void {
  const parent = valueAt(document, pointer.slice(0, -1));
  if (isJsonArray(parent)) arrayIndex(pointer.at(-1) ?? "", parent.length - 1);
  else if (!isJsonObject(parent)) throw missing(pointer);
}

function missing(pointer: Pointer): PatchError {
  return rejected(`doc is missing path: ${renderPointer(pointer)}`);
}

/** Rebuilds the containers on the way to the pointer's parent. */
function edit(document: Json, pointer: Pointer, change: (parent: Json, key: string) => Json): Json {
  const [step, ...rest] = pointer;
  if (step === undefined) return document;
  if (rest.length === 0) {
    if (!isJsonArray(document) && !isJsonObject(document)) throw missing(pointer);
    return change(document, step);
  }
  const child = valueAt(document, [step]);
  if (child === undefined) throw missing(pointer);
  return setAt(document, step, edit(child, rest, change));
}

function setAt(parent: Json, key: string, value: Json): Json {
  if (isJsonArray(parent)) return parent.with(arrayIndex(key, parent.length - 1), value);
  const copy: Record<string, Json> = {};
  if (isJsonObject(parent)) {
    for (const [name, current] of Object.entries(parent)) setField(copy, name, current);
  }
  setField(copy, key, value);
  return copy;
}

function add(document: Json, pointer: Pointer, value: Json): Json {
  if (pointer.length === 0) return value;
  return edit(document, pointer, (parent, key) => {
    if (!isJsonArray(parent)) return setAt(parent, key, value);
    const index = key === "-" ? parent.length : arrayIndex(key, parent.length);
    return parent.toSpliced(index, 0, value);
  });
}

function replace(document: Json, pointer: Pointer, value: Json): Json {
  if (pointer.length === 0) return value;
  return edit(document, pointer, (parent, key) => setAt(parent, key, value));
}

function remove(document: Json, pointer: Pointer): Json {
  if (valueAt(document, pointer) === undefined || pointer.length === 0) throw missing(pointer);
  return edit(document, pointer, (parent, key) => {
    if (isJsonArray(parent)) return parent.toSpliced(arrayIndex(key, parent.length - 1), 1);
    return isJsonObject(parent) ? omitField(parent, key) : parent;
  });
}

function arrayIndex(step: string, max: number): number {
  const index = INDEX.test(step) ? Number(step) : Number.NaN;
  if (index <= max) return index;
  throw rejected(`index ${step} is out of bounds`);
}
