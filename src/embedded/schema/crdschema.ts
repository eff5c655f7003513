// Schema, of CRDs: a schema that a user wrote in; why an API server would refuse it out. Covers structure and lists, not CEL.

import { checkKeywords, eachBranch, eachChild, type Level } from "./crdkeyword.ts";
import { forbidden, invalid, required } from "./failure.ts";
import { compilePattern, validateValue } from "./validate.ts";
import type { FieldFailure, Schema } from "../types.ts";

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
  // As servers do: structure is judged only when every keyword is legal, defaults only when the structure is.
  if (failures.length === 0) checkStructure(schema, path, "root", failures);
  if (failures.length === 0) checkDefaults(schema, path, failures);
  return failures;
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
  if (isEmbedded && !isFree && Object.keys(schema.properties ?? {}).length === 0) {
    const detail =
      "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
    failures.push(required(`${path}.properties`, detail));
  }
  if (level === "root") checkMetadata(schema.properties?.["metadata"], path, failures);
  checkPattern(schema, path, failures);
  eachChild(schema, path, (child, childPath, childLevel) =>
    checkStructure(child, childPath, childLevel, failures),
  );
  eachBranch(schema, path, (branch, branchPath) => {
    if (isIntOrString && isTypeBranch(branch)) return;
    checkBranch(branch, branchPath, failures);
    if (level === "root") checkDeclared(branch, schema, branchPath, path, failures);
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

/** A default must itself fit the schema. */
function checkDefaults(schema: Schema, path: string, failures: FieldFailure[]): void {
  if (schema.default !== undefined) {
    for (const failure of validateValue(schema, {}, schema.default)) {
      const below = failure.field === "" ? "" : `.${failure.field}`;
      failures.push({ ...failure, field: `${path}.default${below}` });
    }
  }
  eachChild(schema, path, (child, childPath) => checkDefaults(child, childPath, failures));
}

function isTypeBranch(branch: Schema): boolean {
  if (branch.anyOf !== undefined) return branch.anyOf.every(isTypeBranch);
  return branch.type === "integer" || branch.type === "string";
}

/** Below a junctor a schema may only narrow, never declare. */
function checkBranch(branch: Schema, path: string, failures: FieldFailure[]): void {
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
  eachChild(branch, path, (child, childPath) => checkBranch(child, childPath, failures));
  eachBranch(branch, path, (inner, innerPath) => checkBranch(inner, innerPath, failures));
}

/** What a junctor at the root names must be declared outside of it; servers look no deeper. */
function checkDeclared(
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
  if (branch.items !== undefined) {
    checkDeclared(branch.items, outside.items, `${path}.items`, `${outsidePath}.items`, failures);
  }
  for (const [key, property] of Object.entries(branch.properties ?? {})) {
    const step = `properties[${key}]`;
    const declared = outside.properties?.[key];
    checkDeclared(property, declared, `${path}.${step}`, `${outsidePath}.${step}`, failures);
  }
  eachBranch(branch, path, (inner, innerPath) =>
    checkDeclared(inner, outside, innerPath, outsidePath, failures),
  );
}
