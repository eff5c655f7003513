// Embedded server, decoding: a request's body in, an object of the kind with defaults and without unknown fields out. Never stores.

import type { KubeObject } from "../api/object.ts";
import { invalid as invalidValue } from "./schema/failure.ts";
import { isJsonObject } from "./json.ts";
import type { Kind } from "./kind.ts";
import { asJson } from "./metadata.ts";
import type { FieldValidation } from "./options.ts";
import { applyDefaults } from "./schema/defaults.ts";
import { pruneUnknown } from "./schema/prune.ts";
import { validateObject } from "./schema/validate.ts";
import { ApiError, badRequest, invalid } from "./status.ts";
import type { Json, JsonObject } from "./types.ts";

export interface Decoded {
  readonly object: KubeObject;
  readonly warnings: readonly string[];
}

const MOST_BYTES = 3 * 1024 * 1024;

/** Throws the ApiError of a body that is not an object of this kind and version. */
export function decodeBody(
  kind: Kind,
  body: Json | undefined,
  fieldValidation: FieldValidation,
): Decoded {
  const expected = kind.served.resource.kind;
  if (!isJsonObject(body)) {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${expected}): couldn't get version/kind; json parse error`,
    );
  }
  limitSize(body);
  const identified = kind.served.builtin ? identifyBuiltin(kind, body) : identifyCustom(kind, body);
  return decodeFields(kind, identified, fieldValidation, (problem) =>
    badRequest(
      `${expected} in version ${JSON.stringify(kind.served.resource.version)} cannot be handled as a ${expected}: ${problem}`,
    ),
  );
}

/** The outcome of a patch: what it broke is the patch's fault, and said so. */
export function decodePatched(
  kind: Kind,
  patched: JsonObject,
  fieldValidation: FieldValidation,
): Decoded {
  limitSize(patched);
  const { resource, builtin } = kind.served;
  const refuse = (problem: string): ApiError =>
    invalid({ group: "", kind: "" }, "", [invalidValue("patch", JSON.stringify(patched), problem)]);
  if (patched["kind"] !== resource.kind || patched["apiVersion"] !== kind.apiVersion) {
    if (builtin) throw refuse(`unable to find api field in ${resource.kind}`);
    throw refuseIdentity(kind, patched);
  }
  return decodeFields(kind, patched, fieldValidation, refuse);
}

function decodeFields(
  kind: Kind,
  body: JsonObject,
  fieldValidation: FieldValidation,
  refuse: (problem: string) => ApiError,
): Decoded {
  const { schema, definitions, builtin } = kind.served;
  const whole = isJsonObject(body["metadata"]) ? body : { ...body, metadata: {} };
  const { object: pruned, unknown } = pruneUnknown(schema, definitions, whole);
  const complaints = unknown.map((path) => `unknown field ${JSON.stringify(path)}`);
  if (fieldValidation === "Strict" && complaints.length > 0) {
    throw refuse(`strict decoding error: ${complaints.join(", ")}`);
  }
  const object = applyDefaults(schema, definitions, pruned);
  // Built-in objects are decoded into typed structs: a wrong type is a malformed request, not an invalid object.
  if (builtin) {
    const wrong = validateObject(schema, definitions, object).find(
      (failure) => failure.reason === "FieldValueTypeInvalid",
    );
    if (wrong !== undefined) throw refuse(`json: ${wrong.field}: ${wrong.message}`);
  }
  return {
    object: asJson(object) as unknown as KubeObject,
    warnings: fieldValidation === "Warn" ? complaints : [],
  };
}

function identifyBuiltin(kind: Kind, body: JsonObject): JsonObject {
  const { resource } = kind.served;
  const sentKind = textOf(body["kind"]);
  const sentVersion = textOf(body["apiVersion"]);
  const isKind = sentKind === "" || sentKind === resource.kind;
  const isVersion = sentVersion === "" || sentVersion === kind.apiVersion;
  if (!isKind || !isVersion) {
    const version = sentVersion.slice(sentVersion.indexOf("/") + 1) || resource.version;
    const named = sentKind === "" ? resource.kind : sentKind;
    throw badRequest(
      `${named} in version ${JSON.stringify(version)} cannot be handled as a ${resource.kind}: it is not ${kind.apiVersion}, Kind=${resource.kind}`,
    );
  }
  if (body["kind"] === resource.kind && body["apiVersion"] === kind.apiVersion) return body;
  return { ...body, kind: resource.kind, apiVersion: kind.apiVersion };
}

function identifyCustom(kind: Kind, body: JsonObject): JsonObject {
  const { resource } = kind.served;
  for (const [field, label] of [
    ["kind", "Kind"],
    ["apiVersion", "apiVersion"],
  ] as const) {
    if (textOf(body[field]) !== "") continue;
    throw badRequest(
      `the object provided is unrecognized (must be of type ${resource.kind}): Object '${label}' is missing in '${JSON.stringify(body).slice(0, 200)}'`,
    );
  }
  if (body["apiVersion"] !== kind.apiVersion) {
    throw badRequest(
      `the API version in the data (${textOf(body["apiVersion"])}) does not match the expected API version (${kind.apiVersion})`,
    );
  }
  if (body["kind"] !== resource.kind) throw refuseIdentity(kind, body);
  return body;
}

function refuseIdentity(kind: Kind, body: JsonObject): ApiError {
  const { resource } = kind.served;
  const sent = textOf(body["kind"]);
  const metadata = body["metadata"];
  const name = isJsonObject(metadata) ? textOf(metadata["name"]) : "";
  const wrong =
    sent === resource.kind
      ? invalidValue("apiVersion", body["apiVersion"], `must be ${kind.apiVersion}`)
      : invalidValue("kind", sent, `must be ${resource.kind}`);
  return invalid({ group: resource.group, kind: sent }, name, [wrong]);
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

function limitSize(body: JsonObject): void {
  if (measure(body, MOST_BYTES) >= 0) return;
  throw new ApiError({
    status: 413,
    reason: "RequestEntityTooLarge",
    message: `Request entity too large: limit is ${MOST_BYTES}`,
  });
}

/** What is left of the budget after about as many bytes as the JSON text has; negative when it is spent. */
function measure(value: Json, budget: number): number {
  if (typeof value === "string") return budget - value.length - 2;
  if (typeof value !== "object" || value === null) return budget - 5;
  let left = budget - 2;
  for (const [key, part] of Object.entries(value)) {
    left = measure(part, left - (Array.isArray(value) ? 1 : key.length + 4));
    if (left < 0) break;
  }
  return left;
}
