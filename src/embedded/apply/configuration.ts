// Server-side apply, the check: a configuration and its type in; a TypedError out when merging it could not work. Never judges values.

import { type PathElement, renderElement } from "./fieldset.ts";
import { isJsonArray, isJsonObject } from "../json.ts";
import { fieldType, itemElement, shapeOf, type Type, TypedError, typeOf } from "./typed.ts";
import type { Json, Schema } from "../types.ts";

/** Throws a TypedError when a configuration cannot be applied: undeclared fields, duplicates, items without keys. */
export function checkConfiguration(type: Type, value: Json): void {
  const problems: string[] = [];
  check(type, value, "", problems);
  const first = problems[0];
  if (first === undefined) return;
  throw new TypedError(
    problems.length === 1 ? first : ["errors:", ...problems.map((line) => `  ${line}`)].join("\n"),
  );
}

function check(type: Type, value: Json, path: string, problems: string[]): void {
  const { schema } = type;
  if (isJsonObject(value)) {
    if (schema.type !== undefined && schema.type !== "object") {
      problems.push(`${path}: expected ${expectation(schema)}, got &{${JSON.stringify(value)}}`);
      return;
    }
    for (const [key, child] of Object.entries(value)) {
      const childType = fieldType(type, key);
      if (childType === undefined) problems.push(`${path}.${key}: field not declared in schema`);
      else check(childType, child, `${path}.${key}`, problems);
    }
  } else if (isJsonArray(value)) {
    if (schema.type !== undefined && schema.type !== "array") {
      problems.push(`${path}: expected ${expectation(schema)}, got &{${JSON.stringify(value)}}`);
      return;
    }
    const shape = shapeOf(type, value);
    const item = typeOf(schema.items ?? {}, type.definitions, type.free);
    const seen = new Set<PathElement>();
    for (const [index, child] of value.entries()) {
      if (shape.kind !== "list") {
        check(item, child, `${path}[${index}]`, problems);
        continue;
      }
      try {
        const element = itemElement(shape, child);
        const label = renderElement(element);
        if (seen.has(element)) problems.push(`${path}: duplicate entries for key ${label}`);
        seen.add(element);
        check(item, child, `${path}${label}`, problems);
      } catch (error) {
        if (!(error instanceof TypedError)) throw error;
        problems.push(`${path}: element ${index}: ${error.message}`);
      }
    }
  } else if (value !== null) {
    const problem = scalarProblem(schema, value);
    if (problem !== undefined) problems.push(`${path}: ${problem}`);
  }
}

function scalarProblem(schema: Schema, value: boolean | number | string): string | undefined {
  switch (schema.type) {
    case "object":
    case "array":
      return `expected ${expectation(schema)}, got &{${String(value)}}`;
    case "integer":
    case "number":
      return typeof value === "number"
        ? undefined
        : `expected numeric (int or float), got ${typeof value === "boolean" ? "bool" : "string"}`;
    case "boolean":
      return typeof value === "boolean" ? undefined : `expected boolean, got &{${String(value)}}`;
    case "string":
      // Other formats, such as times and quantities, may come as numbers.
      if (schema.format !== undefined && schema.format !== "byte") return undefined;
      return typeof value === "string"
        ? undefined
        : `expected string, got &value.valueUnstructured{Value:${String(value)}}`;
    case undefined:
    default:
      return undefined;
  }
}

function expectation(schema: Schema): string {
  if (schema.type === "object") return "map";
  return schema.type === "array" ? "list" : (schema.type ?? "scalar");
}
