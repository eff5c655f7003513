// Server-side apply, the short way: a live object and a configuration of fields that its applier holds already in; the object
// with the new values out. Only where nothing but scalars changes, as when a Lease is renewed; undefined where more does.

import { EMPTY_SET, type FieldSet, fieldElement } from "./fieldset.ts";
import { getField, isJsonArray, isJsonObject, setField } from "../json.ts";
import type { Owners } from "./managed.ts";
import type { Json, JsonObject } from "../types.ts";

/** Held by nobody. Who sends something else of the kind says more than this can judge. */
const IDENTITY: ReadonlySet<string> = new Set(["apiVersion", "kind"]);
const NAME: ReadonlySet<string> = new Set(["name", "namespace", "uid"]);

export interface Renewed {
  readonly object: JsonObject;
  /** By the applier, before and after. */
  readonly held: FieldSet;
}

/**
 * A value of the same type as the live one passes the same checks, and what is held is neither gained nor lost: neither the
 * schema nor the sets need to be gone through. Undefined too where nothing changes at all.
 */
export function renewValues(
  live: JsonObject,
  patch: JsonObject,
  claim: { readonly owners: Owners; readonly id: string; readonly reset: FieldSet },
): Renewed | undefined {
  const { owners, id, reset } = claim;
  const held = owners.get(id)?.fields;
  if (held === undefined || !isJsonObject(getField(patch, "metadata"))) return undefined;
  for (const element of reset.members) {
    if (held.members.has(element) || held.children.has(element)) return undefined;
  }
  const others = [...owners].flatMap(([other, { fields }]) => (other === id ? [] : [fields]));
  const object = renew(live, patch, { held, others, isRoot: true });
  return object === undefined || object === live ? undefined : { object, held };
}

interface Level {
  readonly held: FieldSet;
  /** What everybody else holds. */
  readonly others: readonly FieldSet[];
  readonly isRoot?: boolean;
  readonly isMetadata?: boolean;
}

function renew(live: JsonObject, patch: JsonObject, level: Level): JsonObject | undefined {
  const { held } = level;
  let renewed: Record<string, Json> | undefined;
  let seen = 0;
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    const before = getField(live, key);
    if (value === undefined || before === undefined || isJsonArray(value)) return undefined;
    const element = fieldElement(key);
    if (typeof value === "object") {
      if (value === null || !isJsonObject(before)) return undefined;
      const below = held.children.get(element);
      const isMetadata = level.isRoot === true && key === "metadata";
      if (below === undefined && !isMetadata) return undefined;
      // Held as a whole besides: its being there says something of its own.
      if (held.members.has(element)) return undefined;
      if (below !== undefined) seen += 1;
      const next = renew(before, value, {
        held: below ?? EMPTY_SET,
        others: level.others.flatMap(({ children }) => children.get(element) ?? []),
        isMetadata,
      });
      if (next === undefined) return undefined;
      if (next !== before) setField((renewed ??= { ...live }), key, next);
      continue;
    }
    if (isUntracked(key, level)) {
      if (value !== before) return undefined;
      continue;
    }
    if (typeof value !== typeof before || !held.members.has(element)) return undefined;
    seen += 1;
    if (value === before) continue;
    if (level.others.some(({ members }) => members.has(element))) return undefined;
    setField((renewed ??= { ...live }), key, value);
  }
  // Something is held that is not applied any more.
  if (seen !== held.members.size + held.children.size) return undefined;
  return renewed ?? live;
}

function isUntracked(key: string, { isRoot, isMetadata }: Level): boolean {
  return (isRoot === true && IDENTITY.has(key)) || (isMetadata === true && NAME.has(key));
}
