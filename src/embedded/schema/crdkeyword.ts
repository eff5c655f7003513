// Schema, of CRDs, step one: a schema that a user wrote in; the keywords and list declarations that servers refuse out.

import { forbidden, invalid, notSupported, required } from "./failure.ts";
import type { FieldFailure, Schema } from "../types.ts";

export type Level = "root" | "item" | "field";

const TYPES = ["array", "boolean", "integer", "number", "object", "string"];

/** Items, properties and additional properties. */
export function eachChild(
  schema: Schema,
  path: string,
  visit: (child: Schema, path: string, level: Level) => void,
): void {
  if (schema.items !== undefined) visit(schema.items, `${path}.items`, "item");
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    visit(property, `${path}.properties[${key}]`, "field");
  }
  if (typeof schema.additionalProperties === "object") {
    visit(schema.additionalProperties, `${path}.additionalProperties`, "field");
  }
}

/** What stands below allOf, anyOf, oneOf and not. */
export function eachBranch(
  schema: Schema,
  path: string,
  visit: (branch: Schema, path: string) => void,
): void {
  for (const junctor of ["allOf", "anyOf", "oneOf"] as const) {
    for (const [index, branch] of (schema[junctor] ?? []).entries()) {
      visit(branch, `${path}.${junctor}[${index}]`);
    }
  }
  if (schema.not !== undefined) visit(schema.not, `${path}.not`);
}

export function checkKeywords(schema: Schema, path: string, failures: FieldFailure[]): void {
  if (schema.$ref !== undefined) {
    failures.push(forbidden(`${path}.$ref`, "$ref is not supported"));
  }
  if (schema.type !== undefined && !TYPES.includes(schema.type)) {
    failures.push(notSupported(`${path}.type`, schema.type, TYPES));
  }
  if (schema.uniqueItems === true) {
    const detail =
      "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
    failures.push(forbidden(`${path}.uniqueItems`, detail));
  }
  if (schema.additionalProperties !== undefined && schema.properties !== undefined) {
    const detail = "additionalProperties and properties are mutual exclusive";
    if (Object.keys(schema.properties).length > 0) {
      failures.push(forbidden(`${path}.additionalProperties`, detail));
    }
  }
  if (schema["x-kubernetes-preserve-unknown-fields"] === false) {
    const field = `${path}.x-kubernetes-preserve-unknown-fields`;
    failures.push(invalid(field, false, "must be true or undefined"));
  }
  const mapType = schema["x-kubernetes-map-type"];
  if (mapType !== undefined) {
    if (schema.type !== "object") {
      const detail = "must be object if x-kubernetes-map-type is specified";
      failures.push(
        schema.type === undefined
          ? required(`${path}.type`, detail)
          : invalid(`${path}.type`, schema.type, detail),
      );
    }
    if (mapType !== "atomic" && mapType !== "granular") {
      const field = `${path}.x-kubernetes-map-type`;
      failures.push(notSupported(field, mapType, ["granular", "atomic"]));
    }
  }
  checkListType(schema, path, failures);
  eachChild(schema, path, (child, childPath) => checkKeywords(child, childPath, failures));
  eachBranch(schema, path, (branch, branchPath) => checkKeywords(branch, branchPath, failures));
}

function checkListType(schema: Schema, path: string, failures: FieldFailure[]): void {
  const listType = schema["x-kubernetes-list-type"];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  if (listType !== undefined && schema.type !== "array") {
    const detail = "must be array if x-kubernetes-list-type is specified";
    failures.push(
      schema.type === undefined
        ? required(`${path}.type`, detail)
        : invalid(`${path}.type`, schema.type, detail),
    );
    return;
  }
  switch (listType) {
    case undefined:
    case "atomic":
      break;
    case "set":
      checkSetItems(schema.items, `${path}.items`, failures);
      break;
    case "map":
      checkMapKeys(schema, keys, path, failures);
      break;
    default:
      failures.push(
        notSupported(`${path}.x-kubernetes-list-type`, listType, ["atomic", "set", "map"]),
      );
  }
  if (keys.length > 0 && listType !== "map") {
    const field = `${path}.x-kubernetes-list-type`;
    const detail = "must be map if x-kubernetes-list-map-keys is non-empty";
    failures.push(
      listType === undefined ? required(field, detail) : invalid(field, listType, detail),
    );
  }
}

function checkSetItems(items: Schema | undefined, path: string, failures: FieldFailure[]): void {
  if (items === undefined) return;
  const suffix = "as item of a list with x-kubernetes-list-type=set";
  if (items.nullable === true) {
    failures.push(
      forbidden(`${path}.nullable`, `cannot be nullable when x-kubernetes-list-type is set`),
    );
  }
  const mapType = items["x-kubernetes-map-type"] ?? null;
  if (items.type === "object" && mapType !== "atomic") {
    failures.push(invalid(`${path}.x-kubernetes-map-type`, mapType, `must be atomic ${suffix}`));
  }
  const listType = items["x-kubernetes-list-type"] ?? "atomic";
  if (items.type === "array" && listType !== "atomic") {
    failures.push(invalid(`${path}.x-kubernetes-list-type`, listType, `must be atomic ${suffix}`));
  }
}

function checkMapKeys(
  schema: Schema,
  keys: readonly string[],
  path: string,
  failures: FieldFailure[],
): void {
  const keysPath = `${path}.x-kubernetes-list-map-keys`;
  if (keys.length === 0) {
    failures.push(required(keysPath, "must not be empty if x-kubernetes-list-type is map"));
    return;
  }
  const { items } = schema;
  if (items === undefined) return;
  if (items.type !== "object") {
    const detail = "must be object if parent array's x-kubernetes-list-type is map";
    failures.push(invalid(`${path}.items.type`, items.type ?? "", detail));
    return;
  }
  const properties = items.properties ?? {};
  if (keys.some((key) => !Object.hasOwn(properties, key))) {
    failures.push(invalid(keysPath, keys, "entries must all be names of item properties"));
  }
  if (new Set(keys).size < keys.length) {
    failures.push(invalid(keysPath, keys, "must not contain duplicate entries"));
  }
  for (const key of keys) {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (property === undefined) continue;
    const propertyPath = `${path}.items.properties[${key}]`;
    if (property.type === "object" || property.type === "array") {
      const detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
      failures.push(invalid(`${propertyPath}.type`, property.type, detail));
    }
    const isRequired = items.required?.includes(key) === true;
    if (!isRequired && property.default === undefined) {
      const detail =
        "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
      failures.push(required(`${propertyPath}.default`, detail));
    }
    if (isRequired && property.default !== undefined) continue;
    if (property.nullable === true) {
      const detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
      failures.push(forbidden(`${propertyPath}.nullable`, detail));
    }
  }
}
