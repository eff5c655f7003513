// Test double: who owns which field of an object, as in server-side apply: an owner that stops applying a field takes it
// away, unless somebody else owns it too. Lists are atomic but for the few that Kubernetes merges by key.

import type { KubeObject } from "../src/api/object.ts";

type Fields = Map<string, unknown>;
type Data = Record<string, unknown>;

const LIST_KEYS: Readonly<Record<string, readonly string[]>> = {
  "metadata/ownerReferences": ["uid"],
  "Service spec/ports": ["port", "protocol"],
  "status/conditions": ["type"],
  "status/clusters": ["cluster"],
};
/** The entry that says that a list item, a map or a list is there at all. */
const PRESENCE = ".";

export interface Owned<T extends KubeObject = KubeObject> {
  readonly object: T;
  readonly owners: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Forced server-side apply of `config` by `manager`. */
export function applyFields(before: Owned | undefined, manager: string, config: KubeObject): Owned {
  const wanted = flatten(config);
  const live = before === undefined ? new Map<string, unknown>() : flatten(before.object);
  const owners = new Map(before?.owners);
  const others = [...owners].filter(([name]) => name !== manager);
  for (const path of owners.get(manager) ?? []) {
    if (wanted.has(path) || others.some(([, paths]) => paths.has(path))) continue;
    removeField(live, path);
  }
  for (const [name, paths] of others) {
    const kept = [...paths].filter((path) => !wanted.has(path) || same(live, wanted, path));
    owners.set(name, new Set(kept));
  }
  owners.set(manager, new Set(wanted.keys()));
  return { object: unflatten(new Map([...wanted, ...without(live, wanted)])), owners };
}

/** Replacement: what is gone is gone for every owner. */
export function replaceFields(before: Owned, manager: string, object: KubeObject): Owned {
  const live = flatten(before.object);
  const wanted = flatten(object);
  const changed = [...wanted.keys()].filter((path) => !same(live, wanted, path));
  const owners = new Map(
    [...before.owners].map(([name, paths]) => {
      const kept = [...paths].filter((path) => wanted.has(path) && same(live, wanted, path));
      return [name, new Set(kept)] as const;
    }),
  );
  const update = `${manager} (update)`;
  owners.set(update, new Set([...(owners.get(update) ?? []), ...changed]));
  // Empty maps do not survive the way through a real server either.
  return { object: unflatten(wanted), owners };
}

function same(a: Fields, b: Fields, path: string): boolean {
  return a.has(path) && JSON.stringify(a.get(path)) === JSON.stringify(b.get(path));
}

function without(fields: Fields, taken: Fields): Fields {
  return new Map([...fields].filter(([path]) => !taken.has(path)));
}

/** An item that its owner takes away takes the server's defaults along. */
function removeField(fields: Fields, path: string): void {
  fields.delete(path);
  if (!path.endsWith(`]/${PRESENCE}`)) return;
  const item = path.slice(0, -PRESENCE.length);
  for (const other of fields.keys()) if (other.startsWith(item)) fields.delete(other);
}

function flatten(object: KubeObject): Fields {
  const fields: Fields = new Map();
  const visit = (value: unknown, segments: readonly string[]): void => {
    const path = segments.map(escape).join("/");
    if (value === undefined) return;
    const keys = LIST_KEYS[path] ?? LIST_KEYS[`${object.kind} ${path}`];
    if (Array.isArray(value) && keys !== undefined) {
      if (value.length === 0) fields.set(path, []);
      for (const item of value as readonly Data[]) {
        const key = JSON.stringify(keys.map((name) => item[name]));
        fields.set(`${path}/${escape(`[${key}]`)}/${PRESENCE}`, true);
        visit(item, [...segments, `[${key}]`]);
      }
    } else if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      for (const [key, child] of Object.entries(value)) visit(child, [...segments, key]);
    } else fields.set(path, value);
  };
  const { apiVersion: _, kind: __, ...rest } = object;
  visit(rest, []);
  fields.set("apiVersion", object.apiVersion);
  fields.set("kind", object.kind);
  return fields;
}

function unflatten(fields: Fields): KubeObject {
  const root: Data = {};
  for (const [path, value] of fields) {
    const segments = path.split("/").map((segment) => segment.replaceAll("~1", "/"));
    const last = segments.pop() ?? "";
    let place = root;
    for (const segment of segments) {
      const next = place[segment];
      const map = typeof next === "object" && next !== null && !Array.isArray(next) ? next : {};
      place[segment] = map;
      place = map as Data;
    }
    // An empty list gives way to its items.
    if (last !== PRESENCE && typeof place[last] !== "object") place[last] = value;
  }
  return toLists(root) as KubeObject;
}

function toLists(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value);
  if (entries.length > 0 && entries.every(([key]) => key.startsWith("[["))) {
    return entries.map(([, item]) => toLists(item));
  }
  return Object.fromEntries(entries.map(([key, child]) => [key, toLists(child)]));
}

function escape(segment: string): string {
  return segment.replaceAll("/", "~1");
}
