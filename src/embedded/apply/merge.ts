// Server-side apply, the merge: a live value and an applied one in, or a value and fields to take away; the resulting value out.

import { type FieldSet, fieldElement, isEmptySet, type PathElement } from "./fieldset.ts";
import { getField, isJsonArray, isJsonObject, setField } from "../json.ts";
import {
  commonShape,
  fieldTypeOrFree,
  groupItems,
  isEmptyValue,
  itemElement,
  type ListShape,
  shapeOf,
  type Type,
} from "./typed.ts";
import type { Json } from "../types.ts";

/** `over` laid on `base`: leaves are replaced, maps and keyed lists merged, nothing removed. */
export function mergeValues(
  type: Type,
  base: Json | undefined,
  over: Json | undefined,
): Json | undefined {
  if (over === undefined) return base;
  if (base === undefined) return over;
  const shape = commonShape(type, base, over);
  if (shape === undefined || shape.kind === "leaf") return over;
  if (isEmptyValue(base) && isEmptyValue(over)) return over;
  // A null laid on a map or list that merges leaves it as it is.
  if (over === null) return base;
  if (shape.kind === "list") return mergeItems(shape, base, over);
  if (!isJsonObject(over)) return over;
  const left = isJsonObject(base) ? base : {};
  const merged: Record<string, Json> = {};
  for (const key of new Set([...Object.keys(left), ...Object.keys(over)])) {
    const value = mergeValues(fieldTypeOrFree(type, key), getField(left, key), getField(over, key));
    if (value !== undefined) setField(merged, key, value);
  }
  return merged;
}

/**
 * The applied order wins for shared items; items only in `base` stay before the shared item they preceded.
 */
function mergeItems(shape: ListShape, base: Json, over: Json): readonly Json[] {
  const left = isJsonArray(base) ? base : [];
  const right = isJsonArray(over) ? over : [];
  const leftElements = left.map((item) => itemElement(shape, item));
  const rightElements = right.map((item) => itemElement(shape, item));
  const leftItems = groupItems(shape, left);
  const rightItems = groupItems(shape, right);
  const sharedOrder = rightElements.filter((element) => leftItems.has(element));
  const done = new Set<PathElement>();
  const out: Json[] = [];
  const takeRight = (element: PathElement): void => {
    done.add(element);
    if (sharedOrder[0] === element) sharedOrder.shift();
    const lefts = leftItems.get(element) ?? [];
    // Live duplicates cannot be told apart, so the applied item replaces them all.
    const under = lefts.length === 1 ? lefts[0] : undefined;
    const item = mergeValues(shape.item, under, rightItems.get(element)?.[0]);
    if (item !== undefined) out.push(item);
  };
  let l = 0;
  let r = 0;
  while (l < leftElements.length || r < rightElements.length) {
    const lElement = leftElements[l];
    const rElement = rightElements[r];
    if (lElement !== undefined && rElement !== undefined) {
      if (lElement === rElement) {
        takeRight(lElement);
        l += 1;
        r += 1;
        continue;
      }
      const next = sharedOrder[0];
      if (rightItems.has(lElement) && next !== undefined && next !== lElement) {
        // Shared, but the applied order wants it elsewhere.
        l += 1;
        continue;
      }
    }
    if (lElement !== undefined) {
      if (!rightItems.has(lElement)) {
        out.push(left[l] ?? null);
        l += 1;
        continue;
      }
      if (done.has(lElement)) l += 1;
    }
    if (rElement !== undefined) {
      takeRight(rElement);
      r += 1;
    }
  }
  return out;
}

/** The value without the paths of the set. What is not in the set itself stays, if empty. */
export function removeFields(type: Type, value: Json, set: FieldSet): Json {
  if (isEmptySet(set)) return value;
  const shape = shapeOf(type, value);
  if (shape.kind === "map" && isJsonObject(value)) {
    const kept: Record<string, Json> = {};
    for (const [key, child] of Object.entries(value)) {
      const element = fieldElement(key);
      if (set.members.has(element)) continue;
      const below = set.children.get(element);
      const rest =
        below === undefined ? child : removeFields(fieldTypeOrFree(type, key), child, below);
      setField(kept, key, rest);
    }
    return kept;
  }
  if (shape.kind === "list" && isJsonArray(value)) {
    return value.flatMap((item) => {
      const element = itemElement(shape, item);
      if (set.members.has(element)) return [];
      const below = set.children.get(element);
      return [below === undefined ? item : removeFields(shape.item, item, below)];
    });
  }
  return value;
}
