// Schema, validation: a schema and an object in, every failure in the API server's words out. Never defaults, prunes or throws.

import {
  duplicate,
  invalid,
  NO_FIELD,
  notSupported,
  required,
  tooLong,
  tooMany,
  typeInvalid,
} from "./failure.ts";
import { fitsFormat, isEnforcedFormat } from "./format.ts";
import { canonicalJson, equalJson, getField, isJsonArray, isJsonObject } from "../json.ts";
import { childSchema, isBuiltin, resolveSchema, rootSchema } from "./resolve.ts";
import type { Definitions, FieldFailure, Json, JsonObject, Schema } from "../types.ts";

/** Of a whole resource, after pruning and defaulting. */
export function validateObject(
  schema: Schema,
  definitions: Definitions,
  object: JsonObject,
): readonly FieldFailure[] {
  const failures: FieldFailure[] = [];
  const check: Check = { definitions, failures };
  validate(check, schema, object, "");
  const metadata = rootSchema(schema, definitions).properties?.["metadata"];
  const value = getField(object, "metadata");
  // The CRD says nothing of metadata, so its types are checked beside it.
  if (!isBuiltin(definitions) && metadata !== undefined && isJsonObject(value)) {
    validate(check, metadata, value, "metadata");
  }
  return failures;
}

/** Of any value; fields are named from it. */
export function validateValue(
  schema: Schema,
  definitions: Definitions,
  value: Json,
): readonly FieldFailure[] {
  const failures: FieldFailure[] = [];
  validate({ definitions, failures }, schema, value, "");
  return failures;
}

interface Check {
  readonly definitions: Definitions;
  readonly failures: FieldFailure[];
}

function validate(check: Check, unresolved: Schema, value: Json, path: string): void {
  const schema = resolveSchema(unresolved, check.definitions);
  validateType(check, schema, value, path);
  if (schema.enum !== undefined && !schema.enum.some((allowed) => equalJson(allowed, value))) {
    // Null is what a nullable field may hold beside its enumeration.
    if (value !== null || schema.nullable !== true) {
      check.failures.push(notSupported(path, value, schema.enum));
    }
  }
  if (value === null) return;
  validateJunctors(check, schema, value, path);
  if (typeof value === "string") validateString(check, schema, value, path);
  else if (typeof value === "number") validateNumber(check, schema, value, path);
  else if (isJsonArray(value)) validateArray(check, schema, value, path);
  else if (isJsonObject(value)) validateFields(check, schema, value, path);
}

function validateType(check: Check, schema: Schema, value: Json, path: string): void {
  const types = typesOf(schema);
  if (types.length === 0) return;
  const actual = typeName(value);
  if (value === null) {
    if (schema.nullable === true) return;
  } else {
    const isWhole = actual === "integer" && types.includes("number");
    if (types.includes(actual) || isWhole) return;
  }
  // A scalar of the wrong type is named by its Go type when the schema has a format.
  const format = enforcedFormat(schema);
  const isScalar = typeof value === "number" || typeof value === "boolean" || isJsonObject(value);
  const expected = format !== undefined && isScalar ? format : types.join(",");
  const found = format !== undefined && isScalar ? goFormat(value) : actual;
  check.failures.push(
    typeInvalid(
      path,
      found,
      `${path} in body must be of type ${expected}: ${JSON.stringify(found)}`,
    ),
  );
}

function typesOf(schema: Schema): readonly string[] {
  if (schema["x-kubernetes-int-or-string"] === true) return ["integer", "string"];
  return schema.type === undefined ? [] : [schema.type];
}

function typeName(value: Json): string {
  if (value === null) return "null";
  if (isJsonArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

function goFormat(value: Json): string {
  if (typeof value !== "number") return "";
  return Number.isInteger(value) ? "int64" : "float64";
}

const INTEGER_FORMATS: ReadonlySet<string> = new Set(["int32", "int64"]);
const NUMBER_FORMATS: ReadonlySet<string> = new Set(["float", "double"]);

function enforcedFormat(schema: Schema): string | undefined {
  const { type, format } = schema;
  if (format === undefined) return undefined;
  if (type === "integer") return INTEGER_FORMATS.has(format) ? format : undefined;
  if (type === "number") return NUMBER_FORMATS.has(format) ? format : undefined;
  if (type !== undefined && type !== "string") return undefined;
  return isEnforcedFormat(format) ? format : undefined;
}

function validateString(check: Check, schema: Schema, value: string, path: string): void {
  const { failures } = check;
  const isBounded = schema.maxLength !== undefined || schema.minLength !== undefined;
  // Code points, as Go counts runes.
  const length = isBounded ? Array.from(value).length : 0;
  if (schema.maxLength !== undefined && length > schema.maxLength) {
    failures.push(tooLong(path, schema.maxLength));
  }
  if (schema.minLength !== undefined && length < schema.minLength) {
    const detail = `${path} in body should be at least ${schema.minLength} chars long`;
    failures.push(invalid(path, value, detail));
  }
  if (schema.pattern !== undefined && !compilePattern(schema.pattern).test(value)) {
    failures.push(invalid(path, value, `${path} in body should match '${schema.pattern}'`));
  }
  const format = schema.type === "string" ? enforcedFormat(schema) : undefined;
  if (format !== undefined && !fitsFormat(format, value)) {
    const detail = `${path} in body must be of type ${format}: ${JSON.stringify(value)}`;
    failures.push(typeInvalid(path, value, detail));
  }
}

const patterns = new Map<string, RegExp>();

/** Go's syntax, as far as it differs: flags for the whole pattern come first, in `(?i)`; \z and \A are the ends. */
export function compilePattern(pattern: string): RegExp {
  let compiled = patterns.get(pattern);
  if (compiled === undefined) {
    const [, flags = "", body = ""] = /^(?:\(\?([ims]+)\))?([\s\S]*)$/.exec(pattern) ?? [];
    compiled = new RegExp(body.replaceAll("\\z", "$").replaceAll("\\A", "^"), `${flags}u`);
    patterns.set(pattern, compiled);
  }
  return compiled;
}

function validateNumber(check: Check, schema: Schema, value: number, path: string): void {
  const { failures } = check;
  const { minimum, maximum, multipleOf } = schema;
  const format = schema.type === "integer" ? enforcedFormat(schema) : undefined;
  if (format !== undefined && !fitsInteger(format, value)) {
    const detail = `Checked value must be of type integer with format ${format} in ${path}`;
    failures.push(invalid(NO_FIELD, "", detail));
  }
  if (multipleOf !== undefined) {
    const factor = value / multipleOf;
    if (Math.abs(factor - Math.round(factor)) > 1e-9) {
      failures.push(invalid(path, value, `${path} in body should be a multiple of ${multipleOf}`));
    }
  }
  if (maximum !== undefined) {
    const excluded = schema.exclusiveMaximum === true;
    if (excluded ? value >= maximum : value > maximum) {
      const words = excluded ? "less than" : "less than or equal to";
      failures.push(invalid(path, value, `${path} in body should be ${words} ${maximum}`));
    }
  }
  if (minimum !== undefined) {
    const excluded = schema.exclusiveMinimum === true;
    if (excluded ? value <= minimum : value < minimum) {
      const words = excluded ? "greater than" : "greater than or equal to";
      failures.push(invalid(path, value, `${path} in body should be ${words} ${minimum}`));
    }
  }
}

function fitsInteger(format: string, value: number): boolean {
  const limit = format === "int32" ? 2 ** 31 : 2 ** 63;
  return Number.isInteger(value) && value >= -limit && value < limit;
}

function validateArray(check: Check, schema: Schema, value: readonly Json[], path: string): void {
  const { failures } = check;
  if (schema.items !== undefined) {
    for (const [index, item] of value.entries()) {
      validate(check, schema.items, item, `${path}[${index}]`);
    }
  }
  if (schema.minItems !== undefined && value.length < schema.minItems) {
    const detail = `${path} in body should have at least ${schema.minItems} items`;
    failures.push(invalid(path, value.length, detail));
  }
  if (schema.maxItems !== undefined && value.length > schema.maxItems) {
    failures.push(tooMany(path, value.length, schema.maxItems));
  }
  if (schema.uniqueItems === true && new Set(value.map(canonicalJson)).size < value.length) {
    failures.push(invalid(path, "", `${path} in body shouldn't contain duplicates`));
  }
  validateUniqueness(check, schema, value, path);
}

/** Sets may not repeat an item, maps not a key; each repeated one is reported once. */
function validateUniqueness(
  check: Check,
  schema: Schema,
  value: readonly Json[],
  path: string,
): void {
  const listType = schema["x-kubernetes-list-type"];
  if (listType !== "set" && listType !== "map") return;
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const counts = new Map<string, number>();
  for (const [index, item] of value.entries()) {
    const identity = listType === "map" && isJsonObject(item) ? pick(item, keys) : item;
    const text = canonicalJson(identity);
    const count = (counts.get(text) ?? 0) + 1;
    counts.set(text, count);
    if (count === 2) check.failures.push(duplicate(`${path}[${index}]`, identity));
  }
}

function pick(object: JsonObject, keys: readonly string[]): JsonObject {
  const picked: Record<string, Json> = {};
  for (const key of [...keys].sort()) {
    const value = getField(object, key);
    if (value !== undefined) picked[key] = value;
  }
  return picked;
}

function validateFields(check: Check, schema: Schema, value: JsonObject, path: string): void {
  const { failures } = check;
  const keys = Object.keys(value);
  if (schema.minProperties !== undefined && keys.length < schema.minProperties) {
    const detail = `${path} in body should have at least ${schema.minProperties} properties`;
    failures.push(invalid(path, keys.length, detail));
  }
  if (schema.maxProperties !== undefined && keys.length > schema.maxProperties) {
    failures.push(tooMany(path, keys.length, schema.maxProperties));
  }
  const prefix = path === "" ? "" : `${path}.`;
  for (const [key, child] of Object.entries(value)) {
    const property = childSchema(schema, key);
    if (property !== undefined) validate(check, property, child, `${prefix}${key}`);
  }
  for (const key of schema.required ?? []) {
    if (!Object.hasOwn(value, key)) failures.push(required(`${prefix}${key}`));
  }
  if (schema["x-kubernetes-embedded-resource"] === true) {
    for (const key of ["apiVersion", "kind"]) {
      if ((getField(value, key) ?? "") === "") failures.push(required(`${prefix}${key}`));
    }
  }
}

/** allOf, anyOf, oneOf, not. The failures of the first branch help to see why none fits. */
function validateJunctors(check: Check, schema: Schema, value: Json, path: string): void {
  const { allOf, anyOf, oneOf, not } = schema;
  if ((allOf ?? anyOf ?? oneOf ?? not) === undefined) return;
  const { failures } = check;
  const fail = (detail: string): void => {
    failures.push(invalid(NO_FIELD, "", `"${path}" ${detail}`));
  };
  const judge = (branch: Schema): readonly FieldFailure[] => {
    const inner: Check = { definitions: check.definitions, failures: [] };
    validate(inner, branch, value, path);
    return inner.failures;
  };
  if (schema.anyOf !== undefined && schema.anyOf.length > 0) {
    const results = schema.anyOf.map(judge);
    if (results.every((result) => result.length > 0)) {
      fail("must validate at least one schema (anyOf)");
      failures.push(...(results[0] ?? []));
    }
  }
  if (schema.oneOf !== undefined && schema.oneOf.length > 0) {
    const results = schema.oneOf.map(judge);
    const valid = results.filter((result) => result.length === 0).length;
    if (valid === 0) {
      fail("must validate one and only one schema (oneOf). Found none valid");
      failures.push(...(results[0] ?? []));
    } else if (valid > 1) {
      fail(`must validate one and only one schema (oneOf). Found ${valid} valid alternatives`);
    }
  }
  if (schema.allOf !== undefined && schema.allOf.length > 0) {
    const results = schema.allOf.map(judge);
    const valid = results.filter((result) => result.length === 0).length;
    failures.push(...results.flat());
    if (valid < results.length) {
      fail(`must validate all the schemas (allOf)${valid === 0 ? ". None validated" : ""}`);
    }
  }
  if (schema.not !== undefined && judge(schema.not).length === 0) {
    fail("must not validate the schema (not)");
  }
}
