// Server-side apply: live object, its managedFields and one write in; the merged object and who owns what out, or the conflicts. Never stores, defaults or validates.

import type { ManagedFieldsEntry } from "../../api/object.ts";
import { type Comparison, compareValues } from "./compare.ts";
import { checkConfiguration } from "./configuration.ts";
import { type ConflictResult, type OwnedConflict, renderConflicts } from "./conflict.ts";
import {
  differenceSets,
  differenceSubtrees,
  EMPTY_SET,
  equalSets,
  type FieldPath,
  type FieldSet,
  fieldElement,
  fieldSetOf,
  intersectSets,
  isEmptySet,
  unionSets,
} from "./fieldset.ts";
import { equalJson, getField, isJsonArray, isJsonObject, omitField } from "../json.ts";
import {
  capUpdaters,
  encodeManagedFields,
  type Owner,
  type Owners,
  ownerId,
  parseManagedFields,
} from "./managed.ts";
import { mergeValues, removeFields } from "./merge.ts";
import { renewValues } from "./renew.ts";
import { isBuiltin, resolveSchema, rootSchema } from "../schema/resolve.ts";
import { fieldSetOfValue, rootType, type Type, withNamedParents } from "./typed.ts";
import type { Definitions, Json, JsonObject, Schema } from "../types.ts";

interface Write {
  readonly schema: Schema;
  readonly definitions: Definitions;
  readonly manager: string;
  readonly apiVersion: string;
  readonly subresource?: string;
  /**
   * Fields that this endpoint resets to what they were, with everything below: `[["status"]]` on the main resource of
   * a kind with a status subresource, `[["metadata"], ["spec"]]` on /status. They are neither tracked nor in conflict.
   */
  readonly resetFields?: readonly (readonly string[])[];
  /** RFC 3339, of now. */
  readonly time: string;
}

export interface ApplyRequest extends Write {
  /** Undefined when the apply creates the object. */
  readonly live: JsonObject | undefined;
  readonly liveManagedFields: readonly ManagedFieldsEntry[];
  readonly patch: JsonObject;
  readonly force: boolean;
}

export type ApplyResult =
  | {
      readonly kind: "applied";
      /** Without metadata.managedFields. */
      readonly object: JsonObject;
      readonly managedFields: readonly ManagedFieldsEntry[];
    }
  | ConflictResult;

export interface UpdateRequest extends Write {
  /** Undefined when the write creates the object. */
  readonly before: JsonObject | undefined;
  /** As it will be stored. Its own managedFields count when they are valid, so that a client may edit them. */
  readonly after: JsonObject;
  readonly operation: "Update";
}

/** Never owned by anyone: identity, and what only the server writes. */
const UNTRACKED = fieldSetOf(
  [
    ["apiVersion"],
    ["kind"],
    ["metadata"],
    ...[
      "name",
      "namespace",
      "creationTimestamp",
      "deletionTimestamp",
      "deletionGracePeriodSeconds",
      "selfLink",
      "uid",
      "generation",
      "managedFields",
      "resourceVersion",
    ].map((name) => ["metadata", name]),
  ].map(pathOf),
);

/** Owner of everything that an object held before anyone applied to it. */
const BEFORE_FIRST_APPLY = "before-first-apply";

function pathOf(names: readonly string[]): FieldPath {
  return names.map(fieldElement);
}

/**
 * Throws a TypedError when the patch cannot be applied at all: a field that the schema does not declare, two items
 * with one key.
 */
export function applyPatch(request: ApplyRequest): ApplyResult {
  const { definitions, force, time } = request;
  const type = rootType(rootSchema(request.schema, definitions), definitions);
  const reset = fieldSetOf((request.resetFields ?? []).map(pathOf));
  const empty = (): JsonObject => emptyObject(request.schema, definitions, request.patch);
  const live = request.live === undefined ? empty() : withoutManagedFields(request.live);

  let owners = parseManagedFields(request.liveManagedFields);
  const self = identify(request, "Apply");
  const id = ownerId(self);
  const renewed = renewValues(live, request.patch, { owners, id, reset });
  if (renewed !== undefined) {
    const ledger = new Map(owners).set(id, { ...self, time, fields: renewed.held });
    return { kind: "applied", object: renewed.object, managedFields: encodeManagedFields(ledger) };
  }

  checkConfiguration(type, request.patch);
  if (owners.size === 0 && request.live !== undefined) {
    owners = recordUpdate(
      { ...request, manager: BEFORE_FIRST_APPLY },
      { type, reset, owners, before: empty(), after: live },
    );
  }

  const previous = owners.get(id);
  const config = differenceSubtrees(fieldSetOfValue(type, request.patch), reset);
  const claimed = new Map(owners).set(id, { ...self, time, fields: config });
  const merged = objectOf(mergeValues(type, live, request.patch));
  // Who applies at least what he held before abandons nothing: nearly every apply.
  const isHeld = previous === undefined || isEmptySet(differenceSets(previous.fields, config));
  const object = isHeld ? merged : pruneAbandoned(type, merged, previous.fields, claimed);

  const comparison = filterComparison(compareValues(type, live, object), reset);
  const { conflicts, rest } = confront(claimed, id, comparison);
  if (conflicts.length > 0 && !force) return renderConflicts(conflicts);

  const owned = differenceSets(config, UNTRACKED);
  const fields =
    previous !== undefined && equalSets(previous.fields, owned) ? previous.fields : owned;
  const unchanged = request.live !== undefined && equalJson(live, object);
  // The time tells when this applier last changed the object, not when it last asked.
  const stamp = unchanged ? previous?.time : time;
  const managedFields = encodeManagedFields(rest.set(id, { ...self, time: stamp, fields }));
  return {
    kind: "applied",
    object: unchanged ? live : object,
    managedFields:
      unchanged && equalEntries(managedFields, request.liveManagedFields)
        ? request.liveManagedFields
        : managedFields,
  };
}

/** The managedFields after a create, update or patch by a writer that does not apply. */
export function trackUpdate(request: UpdateRequest): readonly ManagedFieldsEntry[] {
  const { definitions } = request;
  const type = rootType(rootSchema(request.schema, definitions), definitions);
  const reset = fieldSetOf((request.resetFields ?? []).map(pathOf));
  const stored = readManagedFields(request.before);
  const { owners, edited } = ownersOfUpdate(request, stored);
  // An object that was never tracked stays so until somebody applies to it.
  if (owners.size === 0 && request.before !== undefined) return [];
  const before =
    request.before === undefined
      ? emptyObject(request.schema, definitions, request.after)
      : withoutManagedFields(request.before);
  const after = withoutManagedFields(request.after);
  const updated = recordUpdate(request, { type, reset, owners, before, after });
  const entries = encodeManagedFields(capUpdaters(updated));
  return !edited && equalEntries(entries, stored) ? stored : entries;
}

/**
 * A write that changes nothing but times of managedFields is no write: gives back the stored object then, so that
 * the caller sees an equal object and stores nothing.
 */
export function retainTimestamps(before: JsonObject, after: JsonObject): JsonObject {
  const same =
    equalJson(withoutVolatile(before), withoutVolatile(after)) &&
    equalEntries(readManagedFields(after), readManagedFields(before));
  return same ? before : after;
}

function withoutVolatile(object: JsonObject): JsonObject {
  const plain = withoutManagedFields(object);
  const metadata = getField(plain, "metadata");
  return isJsonObject(metadata)
    ? { ...plain, metadata: omitField(metadata, "resourceVersion") }
    : plain;
}

interface Recording {
  readonly type: Type;
  readonly reset: FieldSet;
  readonly owners: Owners;
  readonly before: JsonObject;
  readonly after: JsonObject;
}

/** Changed fields go to the writer and are taken from everyone else; removed ones from all. */
function recordUpdate(write: Write, recording: Recording): Owners {
  const { type, reset, owners, before, after } = recording;
  const self = identify(write, "Update");
  const comparison = filterComparison(compareValues(type, before, after), reset);
  const { rest } = confront(owners, undefined, comparison);
  const taken = differenceSets(unionSets(comparison.added, comparison.modified), UNTRACKED);
  if (isEmptySet(taken)) return rest;
  const id = ownerId(self);
  const held = rest.get(id)?.fields ?? EMPTY_SET;
  return rest.set(id, { ...self, time: write.time, fields: unionSets(held, taken) });
}

function ownersOfUpdate(
  request: UpdateRequest,
  stored: readonly ManagedFieldsEntry[],
): { readonly owners: Owners; readonly edited: boolean } {
  const sent = readManagedFields(request.after);
  // The documented way to forget all owners.
  const isReset = sent.length === 1 && sent[0] !== undefined && Object.keys(sent[0]).length === 0;
  if (request.subresource === undefined && isReset) return { owners: new Map(), edited: true };
  if (request.subresource === undefined && sent.length > 0) {
    try {
      const owners = parseManagedFields(sent);
      return { owners, edited: !equalJson(sent, stored) };
    } catch {
      // What cannot be read is ignored: clients that do not know managedFields must not destroy them.
    }
  }
  return { owners: parseManagedFields(stored), edited: false };
}

/** Which other owners hold a field that changed, and the owners with those and the removed fields taken away. */
function confront(
  owners: Owners,
  self: string | undefined,
  comparison: Comparison,
): { readonly conflicts: readonly OwnedConflict[]; readonly rest: Map<string, Owner> } {
  const changed = unionSets(comparison.modified, comparison.added);
  const conflicts: OwnedConflict[] = [];
  const rest = new Map<string, Owner>();
  for (const [id, owner] of owners) {
    if (id === self) continue;
    const fields = intersectSets(owner.fields, changed);
    if (!isEmptySet(fields)) conflicts.push({ owner, fields });
    const left = differenceSets(differenceSets(owner.fields, fields), comparison.removed);
    if (!isEmptySet(left)) rest.set(id, { ...owner, fields: left });
  }
  return { conflicts, rest };
}

function filterComparison(comparison: Comparison, reset: FieldSet): Comparison {
  return {
    added: differenceSubtrees(comparison.added, reset),
    modified: differenceSubtrees(comparison.modified, reset),
    removed: differenceSubtrees(comparison.removed, reset),
  };
}

/** Removes what this applier held before, holds no longer, and nobody else holds. */
function pruneAbandoned(
  type: Type,
  merged: JsonObject,
  previous: FieldSet,
  claimed: Owners,
): JsonObject {
  const last = withNamedParents(type, previous);
  let managed = EMPTY_SET;
  for (const owner of claimed.values()) managed = unionSets(managed, owner.fields);
  const kept = withNamedParents(type, managed);
  const all = withNamedParents(type, fieldSetOfValue(type, merged));
  // First drop everything held before, then put back what anyone holds now, then what was never held.
  const dropped = objectOf(removeFields(type, merged, last));
  const remaining = withNamedParents(type, fieldSetOfValue(type, dropped));
  const restored = objectOf(
    removeFields(type, merged, differenceSets(all, unionSets(remaining, kept))),
  );
  const present = withNamedParents(type, fieldSetOfValue(type, restored));
  return objectOf(removeFields(type, merged, intersectSets(differenceSets(all, present), last)));
}

function identify(write: Write, operation: "Apply" | "Update"): Omit<Owner, "time" | "fields"> {
  return {
    manager: write.manager === "" ? "unknown" : write.manager,
    operation,
    apiVersion: write.apiVersion,
    subresource: write.subresource ?? "",
  };
}

/**
 * What a create starts from. Built-in types are Go structs whose nested structs exist before anything is set: their
 * schemas say so with `default: {}`, and nobody comes to own them.
 */
function emptyObject(schema: Schema, definitions: Definitions, like: JsonObject): JsonObject {
  const identity: Record<string, Json> = {};
  for (const key of ["apiVersion", "kind"]) {
    const value = getField(like, key);
    if (value !== undefined) identity[key] = value;
  }
  return isBuiltin(definitions) ? { ...identity, ...emptyStruct(schema, definitions) } : identity;
}

function emptyStruct(schema: Schema, definitions: Definitions): JsonObject {
  const struct: Record<string, Json> = {};
  for (const [key, property] of Object.entries(
    resolveSchema(schema, definitions).properties ?? {},
  )) {
    if (isJsonObject(property.default)) struct[key] = emptyStruct(property, definitions);
  }
  return struct;
}

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function withoutManagedFields(object: JsonObject): JsonObject {
  const metadata = getField(object, "metadata");
  if (!isJsonObject(metadata) || !Object.hasOwn(metadata, "managedFields")) return object;
  return { ...object, metadata: omitField(metadata, "managedFields") };
}

function isEntries(value: unknown): value is readonly ManagedFieldsEntry[] {
  return isJsonArray(value) && value.every(isJsonObject);
}

function readManagedFields(object: JsonObject | undefined): readonly ManagedFieldsEntry[] {
  const metadata = object === undefined ? undefined : getField(object, "metadata");
  const entries = isJsonObject(metadata) ? getField(metadata, "managedFields") : undefined;
  return isEntries(entries) ? entries : [];
}

/** Equal but for times. */
function equalEntries(a: readonly ManagedFieldsEntry[], b: readonly ManagedFieldsEntry[]): boolean {
  return equalJson(a.map(withoutTime), b.map(withoutTime));
}

function withoutTime({
  time: _time,
  ...entry
}: ManagedFieldsEntry): Omit<ManagedFieldsEntry, "time"> {
  return entry;
}
