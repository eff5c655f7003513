// Server-side apply, the sets: FieldsV1 in, a tree of path elements with set algebra, FieldsV1 out. Knows neither objects nor schemas.

import { canonicalJson, isJsonObject } from "../json.ts";
import type { Json, JsonObject } from "../types.ts";

/**
 * One step of a path in its FieldsV1 spelling, which is also its identity: `f:spec`, `k:{"port":80}`, `v:"x"`, `i:0`.
 * Keys inside `k:` are sorted, so equal steps are equal strings.
 */
export type PathElement = string;
export type FieldPath = readonly PathElement[];

export interface FieldSet {
  /** Elements that are in the set themselves. */
  readonly members: ReadonlySet<PathElement>;
  /** Elements below which something is in the set; never an empty set. */
  readonly children: ReadonlyMap<PathElement, FieldSet>;
}

interface Draft {
  readonly members: Set<PathElement>;
  readonly children: Map<PathElement, Draft>;
}

export const EMPTY_SET: FieldSet = { members: new Set(), children: new Map() };

export function fieldElement(name: string): PathElement {
  return `f:${name}`;
}

export function keyElement(keys: JsonObject): PathElement {
  return `k:${canonicalJson(keys)}`;
}

export function valueElement(value: Json): PathElement {
  return `v:${canonicalJson(value)}`;
}

/** Collects paths; `build` may be called once, at the end. */
export class FieldSetBuilder {
  readonly #root: Draft = { members: new Set(), children: new Map() };

  insert(path: FieldPath): void {
    const last = path.at(-1);
    // The root itself is owned by nobody.
    if (last === undefined) return;
    let node = this.#root;
    for (const element of path.slice(0, -1)) {
      let child = node.children.get(element);
      if (child === undefined) {
        child = { members: new Set(), children: new Map() };
        node.children.set(element, child);
      }
      node = child;
    }
    node.members.add(last);
  }

  build(): FieldSet {
    return this.#root;
  }
}

export function fieldSetOf(paths: Iterable<FieldPath>): FieldSet {
  const builder = new FieldSetBuilder();
  for (const path of paths) builder.insert(path);
  return builder.build();
}

export function isEmptySet(set: FieldSet): boolean {
  return set.members.size === 0 && set.children.size === 0;
}

export function unionSets(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(a)) return b;
  if (isEmptySet(b)) return a;
  const children = new Map(a.children);
  for (const [element, child] of b.children) {
    const other = children.get(element);
    children.set(element, other === undefined ? child : unionSets(other, child));
  }
  return { members: new Set([...a.members, ...b.members]), children };
}

export function intersectSets(a: FieldSet, b: FieldSet): FieldSet {
  const members = new Set<PathElement>();
  for (const element of a.members) if (b.members.has(element)) members.add(element);
  const children = new Map<PathElement, FieldSet>();
  for (const [element, child] of a.children) {
    const other = b.children.get(element);
    if (other === undefined) continue;
    const both = intersectSets(child, other);
    if (!isEmptySet(both)) children.set(element, both);
  }
  return { members, children };
}

/** What is in `a` and not in `b`: path by path, so `b` holding `.spec` leaves `.spec.x` of `a` alone. */
export function differenceSets(a: FieldSet, b: FieldSet): FieldSet {
  return subtract(a, b, false);
}

/** As `differenceSets`, but a path of `b` also takes away everything below it. */
export function differenceSubtrees(a: FieldSet, b: FieldSet): FieldSet {
  return subtract(a, b, true);
}

function subtract(a: FieldSet, b: FieldSet, subtrees: boolean): FieldSet {
  if (isEmptySet(a) || isEmptySet(b)) return a;
  const members = new Set<PathElement>();
  for (const element of a.members) if (!b.members.has(element)) members.add(element);
  const children = new Map<PathElement, FieldSet>();
  for (const [element, child] of a.children) {
    if (subtrees && b.members.has(element)) continue;
    const other = b.children.get(element);
    const rest = other === undefined ? child : subtract(child, other, subtrees);
    if (!isEmptySet(rest)) children.set(element, rest);
  }
  return { members, children };
}

export function equalSets(a: FieldSet, b: FieldSet): boolean {
  if (a.members.size !== b.members.size || a.children.size !== b.children.size) return false;
  for (const element of a.members) if (!b.members.has(element)) return false;
  for (const [element, child] of a.children) {
    const other = b.children.get(element);
    if (other === undefined || !equalSets(child, other)) return false;
  }
  return true;
}

export function hasPath(set: FieldSet, path: FieldPath): boolean {
  const last = path.at(-1);
  if (last === undefined) return false;
  let node: FieldSet | undefined = set;
  for (const element of path.slice(0, -1)) node = node?.children.get(element);
  return node?.members.has(last) ?? false;
}

/** Every path of the set in the order in which servers list conflicts: at each level what ends there first. */
export function listPaths(set: FieldSet): readonly FieldPath[] {
  const own = [...set.members].sort(compareElements).map((element) => [element]);
  const below = [...set.children]
    .sort(([a], [b]) => compareElements(a, b))
    .flatMap(([element, child]) => listPaths(child).map((path) => [element, ...path]));
  return [...own, ...below];
}

// Fields first, then list keys, then values, then indices.
const KIND_ORDER = "fkvi";

function compareElements(a: PathElement, b: PathElement): number {
  const kinds = KIND_ORDER.indexOf(a.charAt(0)) - KIND_ORDER.indexOf(b.charAt(0));
  if (kinds !== 0) return kinds;
  return a < b ? -1 : a > b ? 1 : 0;
}

function sortedElements(set: FieldSet): readonly PathElement[] {
  return [...new Set([...set.members, ...set.children.keys()])].sort(compareElements);
}

export function encodeFieldSet(set: FieldSet): JsonObject {
  const fields: Record<string, Json> = {};
  for (const element of sortedElements(set)) {
    const child = set.children.get(element);
    const below = child === undefined ? {} : encodeFieldSet(child);
    fields[element] =
      child !== undefined && set.members.has(element) ? { ".": {}, ...below } : below;
  }
  return fields;
}

/** Throws an Error on anything that is not FieldsV1. */
export function parseFieldSet(fields: unknown): FieldSet {
  if (!isJsonObject(fields)) throw new Error("fieldsV1 must be an object");
  const members = new Set<PathElement>();
  const children = new Map<PathElement, FieldSet>();
  for (const [key, below] of Object.entries(fields)) {
    // The set's own membership is read by its parent.
    if (key === ".") continue;
    const element = parseElement(key);
    if (!isJsonObject(below)) throw new Error(`fieldsV1: ${key} must be an object`);
    const child = parseFieldSet(below);
    if (isEmptySet(child) || Object.hasOwn(below, ".")) members.add(element);
    if (!isEmptySet(child)) children.set(element, child);
  }
  return { members, children };
}

function parseElement(text: string): PathElement {
  const kind = text.slice(0, 2);
  const rest = text.slice(2);
  switch (kind) {
    case "f:":
      return text;
    case "i:":
      if (!/^\d+$/.test(rest)) break;
      return text;
    case "k:":
    case "v:":
      return `${kind}${canonicalJson(parseJson(rest, text))}`;
    default:
  }
  throw new Error(`fieldsV1: unknown path element ${JSON.stringify(text)}`);
}

function parseJson(text: string, element: string): Json {
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch (cause) {
    throw new Error(`fieldsV1: unknown path element ${JSON.stringify(element)}`, { cause });
  }
}

/** As the API server prints it: `.spec.ports[port=80,protocol="TCP"].nodePort`, `.metadata.finalizers[="x"]`. */
export function renderPath(path: FieldPath): string {
  return path.map(renderElement).join("");
}

export function renderElement(element: PathElement): string {
  const rest = element.slice(2);
  switch (element.charAt(0)) {
    case "k": {
      const keys: JsonObject = JSON.parse(rest);
      const pairs = Object.entries(keys).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
      return `[${pairs.join(",")}]`;
    }
    case "v":
      return `[=${rest}]`;
    case "i":
      return `[${rest}]`;
    default:
      return `.${rest}`;
  }
}
