// Server-side apply, the difference: two versions of an object in; the sets of added, modified and removed fields out.

import { FieldSetBuilder, fieldElement, type FieldPath, type FieldSet } from "./fieldset.ts";
import { equalJson, getField, isJsonObject } from "../json.ts";
import {
  commonShape,
  fieldTypeOrFree,
  groupItems,
  isEmptyValue,
  type ListShape,
  type Type,
} from "./typed.ts";
import type { Json } from "../types.ts";

export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

/** What changed from `before` to `after`. */
export function compareValues(type: Type, before: Json, after: Json): Comparison {
  const out = {
    added: new FieldSetBuilder(),
    modified: new FieldSetBuilder(),
    removed: new FieldSetBuilder(),
  };
  compare(type, before, after, [], out);
  return { added: out.added.build(), modified: out.modified.build(), removed: out.removed.build() };
}

interface ComparisonBuilder {
  readonly added: FieldSetBuilder;
  readonly modified: FieldSetBuilder;
  readonly removed: FieldSetBuilder;
}

function compare(
  type: Type,
  before: Json | undefined,
  after: Json | undefined,
  path: FieldPath,
  out: ComparisonBuilder,
): void {
  // Most of an object is untouched by most writes.
  if (before === after) return;
  const shape = commonShape(type, before, after);
  if (shape === undefined) {
    // A value of another kind: the old one goes with all it held, the new one comes with all it holds.
    out.modified.insert(path);
    compareChildren(type, before, undefined, path, out);
    compareChildren(type, undefined, after, path, out);
    return;
  }
  if (shape.kind === "leaf" || (isEmptyValue(before) && isEmptyValue(after))) {
    if (before === undefined) out.added.insert(path);
    else if (after === undefined) out.removed.insert(path);
    else if (!equalJson(before, after)) out.modified.insert(path);
    return;
  }
  compareChildren(type, before, after, path, out);
  if (before === undefined) out.added.insert(path);
  else if (after === undefined) out.removed.insert(path);
}

function compareChildren(
  type: Type,
  before: Json | undefined,
  after: Json | undefined,
  path: FieldPath,
  out: ComparisonBuilder,
): void {
  const shape = commonShape(type, before, after);
  if (shape?.kind === "map") {
    const left = isJsonObject(before) ? before : {};
    const right = isJsonObject(after) ? after : {};
    for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
      const child = fieldTypeOrFree(type, key);
      compare(child, getField(left, key), getField(right, key), [...path, fieldElement(key)], out);
    }
  } else if (shape?.kind === "list") {
    compareItems(shape, before, after, path, out);
  }
}

function compareItems(
  shape: ListShape,
  before: Json | undefined,
  after: Json | undefined,
  path: FieldPath,
  out: ComparisonBuilder,
): void {
  const left = groupItems(shape, before);
  const right = groupItems(shape, after);
  for (const element of new Set([...left.keys(), ...right.keys()])) {
    const lefts = left.get(element) ?? [];
    const rights = right.get(element) ?? [];
    const childPath = [...path, element];
    if (lefts.length <= 1 && rights.length <= 1) {
      compare(shape.item, lefts[0], rights[0], childPath, out);
    } else if (lefts.length >= 2 && rights.length >= 2) {
      if (!equalJson(lefts, rights)) out.modified.insert(childPath);
    } else if (lefts.length >= 2) {
      if (rights.length > 0) compare(shape.item, undefined, rights[0], childPath, out);
      out.removed.insert(childPath);
    } else {
      if (lefts.length > 0) compare(shape.item, lefts[0], undefined, childPath, out);
      out.added.insert(childPath);
    }
  }
}
