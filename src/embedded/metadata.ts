// Embedded server, metadata: what the server itself maintains (uid, times, generated names) and what it refuses in it. Never stores.

import type { KubeObject, ObjectMeta } from "../api/object.ts";
import type { Random } from "../ports/clock.ts";
import {
  forbidden as forbiddenValue,
  invalid as invalidValue,
  required as requiredValue,
  tooLong,
} from "./schema/failure.ts";
import { checkLabelName, checkLabelValue, checkQualifiedName, type NameRule } from "./name.ts";
import type { FieldFailure, Json, JsonObject } from "./types.ts";

/** Without vowels and look-alikes, so that no word arises: the real server's choice. */
const NAME_ALPHABET = "bcdfghjklmnpqrstvwxz2456789";
const GENERATED_LENGTH = 5;
const LONGEST_PREFIX = 63 - GENERATED_LENGTH;
const ANNOTATION_BYTES = 256 * 1024;
const STANDARD_FINALIZERS = new Set(["kubernetes", "orphan", "foregroundDeletion"]);

export function generateUid(random: Random): string {
  const hex = Array.from({ length: 32 }, (_, at) => {
    if (at === 12) return "4";
    const digit = Math.floor(random() * 16);
    return (at === 16 ? (digit & 3) | 8 : digit).toString(16);
  }).join("");
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join("-");
}

export function generateName(prefix: string, random: Random): string {
  const suffix = Array.from(
    { length: GENERATED_LENGTH },
    () => NAME_ALPHABET[Math.floor(random() * NAME_ALPHABET.length)] ?? "x",
  ).join("");
  return prefix.slice(0, LONGEST_PREFIX) + suffix;
}

export interface MetadataRules {
  readonly namespaced: boolean;
  readonly checkName: NameRule;
  /** Built-in kinds of the core group insist on "domain/name" or a standard name. */
  readonly qualifiedFinalizers: boolean;
}

export function validateMetadata(meta: ObjectMeta, rules: MetadataRules): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const name = meta.name ?? "";
  if (name === "") {
    failures.push(requiredValue("metadata.name", "name or generateName is required"));
  } else {
    failures.push(...rules.checkName(name).map((why) => invalidValue("metadata.name", name, why)));
  }
  const namespace = meta.namespace ?? "";
  if (rules.namespaced) {
    const complaints = checkLabelName(namespace);
    failures.push(...complaints.map((why) => invalidValue("metadata.namespace", namespace, why)));
  } else if (namespace !== "") {
    failures.push(forbiddenValue("metadata.namespace", "not allowed on this type"));
  }
  failures.push(...validateLabels(meta.labels ?? {}, "metadata.labels"));
  failures.push(...validateAnnotations(meta.annotations ?? {}));
  failures.push(...validateOwners(meta));
  failures.push(...validateFinalizers(meta.finalizers ?? [], rules.qualifiedFinalizers));
  return failures;
}

export function validateLabels(
  labels: Readonly<Record<string, string>>,
  field: string,
): FieldFailure[] {
  const failures: FieldFailure[] = [];
  for (const [key, value] of Object.entries(labels)) {
    failures.push(
      ...checkQualifiedName(key).map((why) => invalidValue(field, key, why)),
      ...checkLabelValue(value).map((why) => invalidValue(field, value, why)),
    );
  }
  return failures;
}

function validateAnnotations(annotations: Readonly<Record<string, string>>): FieldFailure[] {
  const failures: FieldFailure[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    // Keys of annotations may be written in capitals; only the check folds them.
    failures.push(
      ...checkQualifiedName(key.toLowerCase()).map((why) =>
        invalidValue("metadata.annotations", key, why),
      ),
    );
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > ANNOTATION_BYTES) failures.push(tooLong("metadata.annotations", ANNOTATION_BYTES));
  return failures;
}

function validateOwners(meta: ObjectMeta): FieldFailure[] {
  const field = "metadata.ownerReferences";
  const failures: FieldFailure[] = [];
  let controller: string | undefined;
  for (const owner of meta.ownerReferences ?? []) {
    if ((owner.apiVersion ?? "") === "") {
      failures.push(invalidValue(`${field}.apiVersion`, "", "version must not be empty"));
    }
    for (const part of ["kind", "name", "uid"] as const) {
      if ((owner[part] ?? "") === "") {
        failures.push(invalidValue(`${field}.${part}`, "", "must not be empty"));
      }
    }
    if (owner.controller !== true) continue;
    const named = `${owner.kind}/${owner.name}`;
    if (controller === undefined) controller = named;
    else {
      const why = `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${named}`;
      failures.push(invalidValue(field, asJson(meta.ownerReferences), why));
    }
  }
  return failures;
}

function validateFinalizers(finalizers: readonly string[], qualified: boolean): FieldFailure[] {
  const failures: FieldFailure[] = [];
  for (const [at, name] of finalizers.entries()) {
    failures.push(
      ...checkQualifiedName(name).map((why) => invalidValue("metadata.finalizers", name, why)),
    );
    if (qualified && !name.includes("/") && !STANDARD_FINALIZERS.has(name)) {
      const why = "name is neither a standard finalizer name nor is it fully qualified";
      failures.push(invalidValue(`metadata.finalizers[${at}]`, name, why));
    }
  }
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion")) {
    const why = "finalizer orphan and foregroundDeletion cannot be both set";
    failures.push(invalidValue("metadata.finalizers", [...finalizers], why));
  }
  return failures;
}

/** Empty lists, maps and texts are the same as absent ones, and are written as absent ones. */
export function normalizeMetadata(meta: ObjectMeta): ObjectMeta {
  const kept: Record<string, unknown> = {};
  let changed = false;
  for (const [key, value] of Object.entries(meta)) {
    if (isEmpty(value)) changed = true;
    else kept[key] = value;
  }
  return changed ? kept : meta;
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

/** What an update may not change; the caller has already put back what updates silently keep. */
export function validateMetadataUpdate(next: ObjectMeta, old: ObjectMeta): FieldFailure[] {
  const failures: FieldFailure[] = [];
  if (old.deletionTimestamp !== undefined) {
    const known = new Set(old.finalizers);
    const added = [...new Set(next.finalizers)].filter((name) => !known.has(name)).sort();
    if (added.length > 0) {
      const listed = added.map((name) => JSON.stringify(name)).join(", ");
      const why = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${listed}}`;
      failures.push(forbiddenValue("metadata.finalizers", why));
    }
  }
  for (const part of IMMUTABLE_PARTS) {
    if (next[part] !== old[part]) {
      failures.push(invalidValue(`metadata.${part}`, next[part], "field is immutable"));
    }
  }
  return failures;
}

const IMMUTABLE_PARTS = [
  "name",
  "namespace",
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
] as const;

/** Objects in the engine are plain JSON; the interfaces of src/api only describe parts of it. */
export function asJson(value: unknown): Json {
  return value as Json;
}

/** The same object, seen as plain JSON. */
export function jsonOf(object: KubeObject): JsonObject {
  return asJson(object) as JsonObject;
}

/** A copy as if through JSON text: undefined fields vanish, nothing is shared with the caller. */
export function copyJson<T>(value: T): T {
  return copyValue(value) as T;
}

function copyValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => copyValue(item) ?? null);
  if (typeof value !== "object" || value === null) return value;
  const copy: Record<string, unknown> = {};
  for (const [key, part] of Object.entries(value)) {
    if (part === undefined) continue;
    if (key === "__proto__") {
      Object.defineProperty(copy, key, { value: copyValue(part), enumerable: true });
    } else {
      copy[key] = copyValue(part);
    }
  }
  return copy;
}
