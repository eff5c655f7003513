// Schema, of CRDs: a schema that a user wrote in; why an API server would refuse it out. Covers structure and lists, not CEL.

import { forbidden, invalid, notSupported, required } from "./failure.ts";
import { validateObject, compilePattern } from "./validate.ts";
import type { FieldFailure, JsonObject, Schema } from "./types.ts";

type Level = "root" | "item" | "field";

const TYPES = ["array", "boolean", "integer", "number", "object", "string"];

const NO_TYPE: Readonly<Record<Level, string>> = {
  root: "must not be empty at the root",
  item: "must not be empty for specified array items",
  field: "must not be empty for specified object fields",
};

/** `path` is where the schema stands in the CRD; servers name a schema that all versions share by the default one. */
export function validateCrdSchema(
  schema: Schema,
  path = "spec.validation.openAPIV3Schema",
): readonly FieldFailure[] {
  const failures: FieldFailure[] = [];
  checkKeywords(schema, path, failures);
  // As servers do: structure is judged only when every keyword is legal.
  if (failures.length === 0) checkStructure(schema, path, "root", failures);
  return failures;
}

function eachChild(
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

function eachBranch(
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

function checkKeywords(schema: Schema, path: string, failures: FieldFailure[]): void {
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
  if (schema.additionalProperties === false) {
    failures.push(
      forbidden(`${path}.additionalProperties`, "additionalProperties cannot be set to false"),
    );
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

function checkStructure(
  schema: Schema,
  path: string,
  level: Level,
  failures: FieldFailure[],
): void {
  const isIntOrString = schema["x-kubernetes-int-or-string"] === true;
  const isFree = schema["x-kubernetes-preserve-unknown-fields"] === true;
  const isEmbedded = schema["x-kubernetes-embedded-resource"] === true;
  if (isEmbedded && schema.type !== "object") {
    const detail = "must be object if x-kubernetes-embedded-resource is true";
    failures.push(
      schema.type === undefined
        ? required(`${path}.type`, detail)
        : invalid(`${path}.type`, schema.type, detail),
    );
  } else if (schema.type === undefined && !isIntOrString && !isFree) {
    failures.push(required(`${path}.type`, NO_TYPE[level]));
  }
  if (level === "root" && schema.type !== undefined && schema.type !== "object") {
    failures.push(invalid(`${path}.type`, schema.type, "must be object at the root"));
  }
  if (level === "root" && schema.additionalProperties !== undefined) {
    failures.push(forbidden(`${path}.additionalProperties`, "must not be used at the root"));
  }
  if (schema.type === "array" && schema.items === undefined) {
    failures.push(required(`${path}.items`, "must be specified"));
  }
  if (isIntOrString && schema.type !== undefined) {
    const detail = "must be empty if x-kubernetes-int-or-string is true";
    failures.push(invalid(`${path}.type`, schema.type, detail));
  }
  if (isEmbedded && !isFree && Object.keys(schema.properties ?? {}).length === 0) {
    const detail =
      "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
    failures.push(required(`${path}.properties`, detail));
  }
  if (level === "root") checkMetadata(schema.properties?.["metadata"], path, failures);
  checkPattern(schema, path, failures);
  checkDefault(schema, path, failures);
  eachChild(schema, path, (child, childPath, childLevel) =>
    checkStructure(child, childPath, childLevel, failures),
  );
  eachBranch(schema, path, (branch, branchPath) => {
    if (isIntOrString && isTypeBranch(branch)) return;
    checkBranch(branch, schema, branchPath, path, failures);
  });
}

function checkMetadata(metadata: Schema | undefined, path: string, failures: FieldFailure[]): void {
  const names = Object.keys(metadata?.properties ?? {});
  if (names.every((name) => name === "name" || name === "generateName")) return;
  const detail =
    "must not specify anything other than name and generateName, but metadata is implicitly specified";
  failures.push(forbidden(`${path}.properties[metadata]`, detail));
}

function checkPattern(schema: Schema, path: string, failures: FieldFailure[]): void {
  if (schema.pattern === undefined) return;
  try {
    compilePattern(schema.pattern);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const detail = `must be a valid regular expression, but isn't: ${why}`;
    failures.push(invalid(`${path}.pattern`, schema.pattern, detail));
  }
}

/** A default must itself fit the schema, because nobody validates it again. */
function checkDefault(schema: Schema, path: string, failures: FieldFailure[]): void {
  if (schema.default === undefined) return;
  const holder: Schema = { type: "object", properties: { default: schema } };
  const holding: JsonObject = { default: schema.default };
  for (const failure of validateObject(holder, {}, holding)) {
    failures.push({ ...failure, field: `${path}.${failure.field}` });
  }
}

function isTypeBranch(branch: Schema): boolean {
  if (branch.anyOf !== undefined) return branch.anyOf.every(isTypeBranch);
  return branch.type === "integer" || branch.type === "string";
}

/** Below a junctor a schema may only narrow what is declared outside of it. */
function checkBranch(
  branch: Schema,
  outside: Schema | undefined,
  path: string,
  outsidePath: string,
  failures: FieldFailure[],
): void {
  if (outside === undefined) {
    failures.push(required(outsidePath, `because it is defined in ${path}`));
    return;
  }
  if (branch.type !== undefined) {
    failures.push(forbidden(`${path}.type`, "must be empty to be structural"));
  }
  for (const keyword of ["additionalProperties", "default"] as const) {
    if (branch[keyword] !== undefined) {
      failures.push(forbidden(`${path}.${keyword}`, "must be undefined to be structural"));
    }
  }
  if (branch.description !== undefined && branch.description !== "") {
    failures.push(forbidden(`${path}.description`, "must be empty to be structural"));
  }
  if (branch.nullable === true) {
    failures.push(forbidden(`${path}.nullable`, "must be false to be structural"));
  }
  checkPattern(branch, path, failures);
  if (branch.items !== undefined) {
    checkBranch(branch.items, outside.items, `${path}.items`, `${outsidePath}.items`, failures);
  }
  for (const [key, property] of Object.entries(branch.properties ?? {})) {
    const step = `properties[${key}]`;
    const declared = outside.properties?.[key];
    checkBranch(property, declared, `${path}.${step}`, `${outsidePath}.${step}`, failures);
  }
  eachBranch(branch, path, (inner, innerPath) =>
    checkBranch(inner, outside, innerPath, outsidePath, failures),
  );
}
