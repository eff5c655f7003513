// Server-side apply, the values: objects seen through their schema's merge rules. A value and its schema in; its shape and its field set out.

import {
  FieldSetBuilder,
  fieldElement,
  type FieldPath,
  type FieldSet,
  keyElement,
  type PathElement,
  valueElement,
} from "./fieldset.ts";
import { getField, isJsonArray, isJsonObject } from "../json.ts";
import { childSchema, resolveSchema } from "../schema/resolve.ts";
import type { Definitions, Json, Schema } from "../types.ts";

/** A schema, and whether something above it keeps unknown fields: then unknown keys are tracked one by one. */
export interface Type {
  readonly schema: Schema;
  readonly definitions: Definitions;
  readonly free: boolean;
}

/** How a value merges. A leaf is owned and replaced as one: scalars, atomic lists and maps. */
export type Shape =
  | { readonly kind: "leaf" }
  | { readonly kind: "map"; readonly schema: Schema; readonly type: Type }
  | ListShape;
export interface ListShape {
  readonly kind: "list";
  /** None for a set. */
  readonly keys: readonly string[];
  readonly item: Type;
}

const LEAF: Shape = { kind: "leaf" };

/** The applied object breaks a rule that merging needs: a duplicate, a missing key. The message is the server's. */
export class TypedError extends Error {
  override readonly name = "TypedError";
}

export function rootType(schema: Schema, definitions: Definitions): Type {
  return typeOf(schema, definitions, false);
}

export function typeOf(schema: Schema, definitions: Definitions, free: boolean): Type {
  const resolved = resolveSchema(schema, definitions);
  return {
    schema: resolved,
    definitions,
    free: free || resolved["x-kubernetes-preserve-unknown-fields"] === true,
  };
}

export function shapeOf(type: Type, value: Json): Shape {
  const { schema, definitions, free } = type;
  if (isJsonObject(value) || (value === null && schema.type === "object")) {
    if (schema.type !== undefined && schema.type !== "object") return LEAF;
    return schema["x-kubernetes-map-type"] === "atomic" ? LEAF : { kind: "map", schema, type };
  }
  if (isJsonArray(value) || (value === null && schema.type === "array")) {
    if (schema.type !== "array") return LEAF;
    const keys = listKeys(schema);
    if (keys === undefined) return LEAF;
    return { kind: "list", keys, item: typeOf(schema.items ?? {}, definitions, free) };
  }
  return LEAF;
}

/** Undefined for atomic lists; no keys for sets. Without a list type the patch strategy decides. */
function listKeys(schema: Schema): readonly string[] | undefined {
  switch (schema["x-kubernetes-list-type"]) {
    case "map":
      return schema["x-kubernetes-list-map-keys"] ?? [];
    case "set":
      return [];
    case "atomic":
      return undefined;
    case undefined:
  }
  if (schema["x-kubernetes-patch-strategy"]?.split(",").includes("merge") !== true)
    return undefined;
  const key = schema["x-kubernetes-patch-merge-key"];
  return key === undefined ? [] : [key];
}

/** Undefined for a key that the schema does not declare. */
export function fieldType(type: Type, key: string): Type | undefined {
  const child = childSchema(type.schema, key);
  if (child !== undefined) return typeOf(child, type.definitions, type.free);
  // An object that declares nothing is free-form.
  const declaresNothing =
    type.schema.properties === undefined && type.schema.additionalProperties === undefined;
  return type.free || declaresNothing ? UNDECLARED : undefined;
}

const UNDECLARED: Type = { schema: {}, definitions: {}, free: true };

export function fieldTypeOrFree(type: Type, key: string): Type {
  return fieldType(type, key) ?? UNDECLARED;
}

function isNamedField(type: Type, key: string): boolean {
  return type.schema.properties !== undefined && Object.hasOwn(type.schema.properties, key);
}

/** The list's key fields of one item, defaults filled in. */
export function itemElement(shape: ListShape, item: Json): PathElement {
  if (shape.keys.length === 0) {
    if (typeof item === "object") {
      throw new TypedError("associative list without keys has an element that's not a scalar");
    }
    return valueElement(item);
  }
  if (!isJsonObject(item)) {
    throw new TypedError("associative list with keys may not have non-map elements");
  }
  const keys: Record<string, Json> = {};
  for (const key of shape.keys) {
    const property = shape.item.schema.properties?.[key];
    const fallback =
      property === undefined ? undefined : resolveSchema(property, shape.item.definitions).default;
    const value = getField(item, key) ?? fallback;
    if (value !== undefined) keys[key] = value;
  }
  if (Object.keys(keys).length === 0) {
    const names = shape.keys.map((key) => JSON.stringify(key)).join(" ");
    throw new TypedError(
      `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`,
    );
  }
  return keyElement(keys);
}

export function isEmptyValue(value: Json | undefined): boolean {
  if (value === undefined || value === null) return true;
  return isJsonArray(value)
    ? value.length === 0
    : isJsonObject(value) && Object.keys(value).length === 0;
}

/** The paths of a configuration: what its applier will own. */
export function fieldSetOfValue(type: Type, value: Json): FieldSet {
  const builder = new FieldSetBuilder();
  collect(type, value, [], builder);
  return builder.build();
}

function collect(type: Type, value: Json, path: FieldPath, into: FieldSetBuilder): void {
  const shape = shapeOf(type, value);
  if (shape.kind === "leaf") {
    into.insert(path);
  } else if (shape.kind === "map" && isJsonObject(value)) {
    for (const [key, child] of Object.entries(value)) {
      const childPath = [...path, fieldElement(key)];
      collect(fieldTypeOrFree(type, key), child, childPath, into);
      const isEmptyMap = isJsonObject(child) && isEmptyValue(child);
      if (child === null || isEmptyMap || !isNamedField(type, key)) into.insert(childPath);
    }
  } else if (shape.kind === "list" && isJsonArray(value)) {
    const counts = new Map<PathElement, number>();
    const elements = value.map((item) => itemElement(shape, item));
    for (const element of elements) counts.set(element, (counts.get(element) ?? 0) + 1);
    for (const [index, element] of elements.entries()) {
      const childPath = [...path, element];
      // Duplicates are owned as one, because nothing tells them apart.
      if (counts.get(element) === 1) collect(shape.item, value[index] ?? null, childPath, into);
      into.insert(childPath);
    }
  }
}

/** The shape of whichever side is there; undefined when the two sides differ in kind. */
export function commonShape(
  type: Type,
  before: Json | undefined,
  after: Json | undefined,
): Shape | undefined {
  const right = after === undefined ? undefined : shapeOf(type, after);
  const left = before === undefined ? undefined : shapeOf(type, before);
  if (left === undefined || before === null) return right ?? left ?? LEAF;
  if (right === undefined || after === null) return left;
  return left.kind === right.kind ? right : undefined;
}

export function groupItems(shape: ListShape, value: Json | undefined): Map<PathElement, Json[]> {
  const groups = new Map<PathElement, Json[]>();
  for (const item of isJsonArray(value) ? value : []) {
    const element = itemElement(shape, item);
    const group = groups.get(element);
    if (group === undefined) groups.set(element, [item]);
    else group.push(item);
  }
  return groups;
}

/** Adds the declared fields on the way to each path, which a set of leaves leaves out. */
export function withNamedParents(type: Type, set: FieldSet): FieldSet {
  const members = new Set(set.members);
  const children = new Map<PathElement, FieldSet>();
  for (const [element, child] of set.children) {
    let childType = UNDECLARED;
    if (element.startsWith("f:")) {
      const key = element.slice(2);
      if (isNamedField(type, key)) members.add(element);
      childType = fieldTypeOrFree(type, key);
    } else if (element.startsWith("k:") && type.schema.items !== undefined) {
      childType = typeOf(type.schema.items, type.definitions, type.free);
    }
    children.set(element, withNamedParents(childType, child));
  }
  return { members, children };
}
