// Schema, the wording: a path, a value and what is wrong in; a FieldFailure worded as an API server words it out.

import type { FieldFailure } from "../types.ts";

/** Path of a failure that belongs to no single field, as servers print it. */
export const NO_FIELD = "<nil>";

function failure(
  field: string,
  reason: FieldFailure["reason"],
  title: string,
  detail: string,
): FieldFailure {
  return { field, reason, message: detail === "" ? title : `${title}: ${detail}` };
}

export function required(field: string, detail = ""): FieldFailure {
  return failure(field, "FieldValueRequired", "Required value", detail);
}

export function invalid(field: string, value: unknown, detail: string): FieldFailure {
  return failure(field, "FieldValueInvalid", `Invalid value: ${render(value)}`, detail);
}

export function typeInvalid(field: string, value: unknown, detail: string): FieldFailure {
  return failure(field, "FieldValueTypeInvalid", `Invalid value: ${render(value)}`, detail);
}

export function forbidden(field: string, detail: string): FieldFailure {
  return failure(field, "FieldValueForbidden", "Forbidden", detail);
}

export function duplicate(field: string, value: unknown): FieldFailure {
  return failure(field, "FieldValueDuplicate", `Duplicate value: ${render(value)}`, "");
}

export function notSupported(
  field: string,
  value: unknown,
  supported: readonly unknown[],
): FieldFailure {
  const values = supported.map((item) =>
    JSON.stringify(typeof item === "string" ? item : JSON.stringify(item)),
  );
  const detail = values.length === 0 ? "" : `supported values: ${values.join(", ")}`;
  return failure(field, "FieldValueNotSupported", `Unsupported value: ${render(value)}`, detail);
}

export function tooLong(field: string, max: number): FieldFailure {
  const unit = max === 1 ? "byte" : "bytes";
  return failure(field, "FieldValueTooLong", "Too long", `may not be more than ${max} ${unit}`);
}

export function tooMany(field: string, count: number, max: number): FieldFailure {
  const unit = max === 1 ? "item" : "items";
  const detail = `must have at most ${max} ${unit}`;
  return failure(field, "FieldValueTooMany", `Too many: ${count}`, detail);
}

function render(value: unknown): string {
  return JSON.stringify(value) ?? "null";
}
