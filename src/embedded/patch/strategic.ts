// Strategic merge patch: a schema, an object and a patch in, the patched object out. Lists merge by the schema's patch strategy; never mutates.

import { equalJson, getField, isJsonArray, isJsonObject, omitField, setField } from "../json.ts";
import { PatchError } from "./patch.ts";
import { childSchema, resolveSchema } from "../schema/resolve.ts";
import type { Definitions, Json, JsonObject, Schema } from "../types.ts";

const PATCH = "$patch";
const RETAIN_KEYS = "$retainKeys";
const SET_ORDER = "$setElementOrder/";
const DELETE_PRIMITIVES = "$deleteFromPrimitiveList/";

interface Strategy {
  readonly merge: boolean;
  readonly mergeKey: string | undefined;
}

/** Throws a PatchError. */
export function applyStrategicPatch(
  schema: Schema,
  definitions: Definitions,
  object: JsonObject,
  patch: JsonObject,
): JsonObject {
  return mergeMap({ schema, definitions }, object, patch);
}

interface Typed {
  readonly schema: Schema | undefined;
  readonly definitions: Definitions;
}

function childOf({ schema, definitions }: Typed, key: string): Typed {
  const resolved = schema === undefined ? undefined : resolveSchema(schema, definitions);
  return { schema: resolved === undefined ? undefined : childSchema(resolved, key), definitions };
}

function itemOf({ schema, definitions }: Typed): Typed {
  const resolved = schema === undefined ? undefined : resolveSchema(schema, definitions);
  return { schema: resolved?.items, definitions };
}

function strategyOf({ schema, definitions }: Typed): Strategy & { readonly replaceMap: boolean } {
  const resolved = schema === undefined ? undefined : resolveSchema(schema, definitions);
  const strategies = resolved?.["x-kubernetes-patch-strategy"]?.split(",") ?? [];
  return {
    merge: strategies.includes("merge"),
    mergeKey: resolved?.["x-kubernetes-patch-merge-key"],
    replaceMap: strategies.includes("replace"),
  };
}

function mergeMap(typed: Typed, target: JsonObject, patch: JsonObject): JsonObject {
  const directive = getField(patch, PATCH);
  const body = omitField(patch, PATCH);
  if (directive === "replace") return body;
  if (directive === "delete") return {};
  if (directive !== undefined && directive !== "merge") throw unknownDirective(directive, patch);
  const merged: Record<string, Json> = {};
  for (const [key, value] of Object.entries(retained(target, body))) setField(merged, key, value);
  const consumed = new Set<string>([RETAIN_KEYS]);
  for (const [key, value] of Object.entries(body)) {
    if (key.startsWith(DELETE_PRIMITIVES)) {
      const field = key.slice(DELETE_PRIMITIVES.length);
      const list = getField(merged, field);
      if (isJsonArray(list)) merged[field] = withoutPrimitives(list, value, key);
      consumed.add(key);
    } else if (key.startsWith(SET_ORDER)) {
      consumed.add(key);
    }
  }
  for (const [key, value] of Object.entries(body)) {
    if (consumed.has(key)) continue;
    const order = getField(body, `${SET_ORDER}${key}`);
    mergeField(childOf(typed, key), merged, key, value, order);
  }
  // An order may come alone, for a list whose items did not change.
  for (const [key, value] of Object.entries(body)) {
    const field = key.startsWith(SET_ORDER) ? key.slice(SET_ORDER.length) : undefined;
    if (field === undefined || Object.hasOwn(body, field)) continue;
    const list = getField(merged, field);
    if (isJsonArray(list)) {
      setField(
        merged,
        field,
        reorder(list, value, list, strategyOf(childOf(typed, field)).mergeKey),
      );
    }
  }
  return merged;
}

function internal(message: string): PatchError {
  return new PatchError("InternalError", message);
}

function unknownDirective(directive: Json, patch: JsonObject): PatchError {
  return internal(`unknown patch type: ${renderGo(directive)} in map: ${renderGo(patch)}`);
}

/** As Go prints maps and slices, which servers put into these messages. */
function renderGo(value: Json): string {
  if (isJsonArray(value)) return `[${value.map(renderGo).join(" ")}]`;
  if (!isJsonObject(value)) return typeof value === "string" ? value : JSON.stringify(value);
  const fields = Object.keys(value)
    .sort()
    .map((key) => `${key}:${renderGo(value[key] ?? null)}`);
  return `map[${fields.join(" ")}]`;
}

/** With $retainKeys, every other key of the object goes. */
function retained(target: JsonObject, patch: JsonObject): JsonObject {
  const keys = getField(patch, RETAIN_KEYS);
  if (keys === undefined) return target;
  if (!isJsonArray(keys)) {
    throw new PatchError("BadRequest", "invalid patch format of retainKeys");
  }
  for (const key of Object.keys(patch)) {
    const isDirective = key.startsWith("$");
    if (!isDirective && patch[key] !== null && !keys.includes(key)) {
      throw new PatchError("BadRequest", "invalid patch format of retainKeys");
    }
  }
  const kept: Record<string, Json> = {};
  for (const [key, value] of Object.entries(target))
    if (keys.includes(key)) setField(kept, key, value);
  return kept;
}

function mergeField(
  typed: Typed,
  merged: Record<string, Json>,
  key: string,
  value: Json,
  order: Json | undefined,
): void {
  const current = getField(merged, key);
  if (value === null) {
    delete merged[key];
  } else if (isJsonObject(value)) {
    if (getField(value, PATCH) === "delete") {
      delete merged[key];
      return;
    }
    const base = isJsonObject(current) && !strategyOf(typed).replaceMap ? current : {};
    setField(merged, key, mergeMap(typed, base, value));
  } else if (isJsonArray(value)) {
    const base = isJsonArray(current) ? current : [];
    setField(merged, key, mergeList(typed, base, value, order));
  } else {
    setField(merged, key, value);
  }
}

function mergeList(
  typed: Typed,
  target: readonly Json[],
  patch: readonly Json[],
  order: Json | undefined,
): readonly Json[] {
  const { merge, mergeKey } = strategyOf(typed);
  const replaces = patch.some((item) => isJsonObject(item) && getField(item, PATCH) === "replace");
  const items = patch.filter((item) => !isReplaceMarker(item));
  if (!merge || replaces) return items.map((item) => cleanItem(typed, item));
  requireOneKind(target, items);
  if (order !== undefined) requireOrder(items, order, mergeKey);
  const isKeyed = mergeKey !== undefined && [...target, ...items].every(isJsonObject);
  const result = isKeyed
    ? mergeKeyed(typed, target, items, mergeKey)
    : [...target, ...items.filter((item) => !target.some((other) => equalJson(item, other)))];
  // Without an order of its own, the patch is the order.
  return reorder(result, order ?? items, target, mergeKey);
}

function requireOneKind(target: readonly Json[], patch: readonly Json[]): void {
  const all = [...target, ...patch];
  if (all.every(isJsonObject) || !all.some(isJsonObject)) return;
  throw internal(`list element types are not identical: ${renderGo([target, patch])}`);
}

/** What the patch brings must stand in the order list, in the same order. */
function requireOrder(items: readonly Json[], order: Json, mergeKey: string | undefined): void {
  if (!isJsonArray(order)) return;
  const brought = items.filter((item) => !isJsonObject(item) || getField(item, PATCH) !== "delete");
  let at = 0;
  for (const item of brought) {
    const key = keyOf(item, mergeKey);
    while (at < order.length && !equalJson(keyOf(order[at] ?? null, mergeKey), key)) at += 1;
    if (at < order.length) continue;
    throw internal(
      `The order in patch list:\n${renderGo(brought)}\n doesn't match $setElementOrder list:\n${renderGo(order)}\n`,
    );
  }
}

/** An item that only says that the list is replaced. */
function isReplaceMarker(item: Json): boolean {
  return (
    isJsonObject(item) && getField(item, PATCH) === "replace" && Object.keys(item).length === 1
  );
}

/** Directives inside a list that is taken as it is must not end up in the object. */
function cleanItem(typed: Typed, item: Json): Json {
  return isJsonObject(item) ? mergeMap(itemOf(typed), {}, omitField(item, PATCH)) : item;
}

function mergeKeyed(
  typed: Typed,
  target: readonly Json[],
  patch: readonly Json[],
  mergeKey: string,
): readonly Json[] {
  let result = [...target];
  for (const item of patch) {
    if (!isJsonObject(item)) continue;
    const key = getField(item, mergeKey);
    if (key === undefined) {
      throw internal(`map: ${renderGo(item)} does not contain declared merge key: ${mergeKey}`);
    }
    const directive = getField(item, PATCH);
    if (directive === "delete") {
      result = result.filter(
        (other) => keyOf(other, mergeKey) === undefined || !equalJson(keyOf(other, mergeKey), key),
      );
      continue;
    }
    if (directive !== undefined && directive !== "merge") throw unknownDirective(directive, item);
    const index = result.findIndex((other) => equalJson(keyOf(other, mergeKey), key));
    const base = index < 0 ? {} : result[index];
    const merged = mergeMap(itemOf(typed), isJsonObject(base) ? base : {}, omitField(item, PATCH));
    if (index < 0) result.push(merged);
    else result[index] = merged;
  }
  return result;
}

function keyOf(item: Json, mergeKey: string | undefined): Json | undefined {
  if (mergeKey === undefined) return item;
  return isJsonObject(item) ? getField(item, mergeKey) : item;
}

function withoutPrimitives(
  list: readonly Json[],
  values: Json,
  directive: string,
): readonly Json[] {
  if (!isJsonArray(values)) {
    throw new PatchError("BadRequest", `failed to parse the list in the patch: ${directive}`);
  }
  return list.filter((item) => !values.some((value) => equalJson(item, value)));
}

/** Items named by the order come in that order; items that only the server has keep their place before their old successor. */
function reorder(
  list: readonly Json[],
  order: Json,
  live: readonly Json[],
  mergeKey: string | undefined,
): readonly Json[] {
  if (!isJsonArray(order)) {
    throw new PatchError("BadRequest", "failed to parse the list in the patch: $setElementOrder");
  }
  const orderKeys = order.map((item) => keyOf(item, mergeKey));
  const rank = (item: Json): number => {
    const key = keyOf(item, mergeKey);
    return orderKeys.findIndex((other) => equalJson(other, key));
  };
  const position = (item: Json): number => {
    const key = keyOf(item, mergeKey);
    return live.findIndex((other) => equalJson(keyOf(other, mergeKey), key));
  };
  const ordered = list.filter((item) => rank(item) >= 0).sort((a, b) => rank(a) - rank(b));
  const others = list.filter((item) => rank(item) < 0).sort((a, b) => position(a) - position(b));
  const result: Json[] = [];
  let next = 0;
  for (const item of ordered) {
    for (; next < others.length; next += 1) {
      const other = others[next];
      // A new item has no old place, so nothing comes before it.
      if (other === undefined || position(other) > position(item)) break;
      result.push(other);
    }
    result.push(item);
  }
  return [...result, ...others.slice(next)];
}
