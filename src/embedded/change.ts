// Embedded server, patches: the stored object and a patch of some media type in, the object it asks for out, then written. Never defaults.

import type { KubeObject } from "../api/object.ts";
import { applyPatch } from "./apply/apply.ts";
import { decodeBody, decodePatched } from "./decode.ts";
import { isJsonObject } from "./json.ts";
import { jsonOf } from "./metadata.ts";
import { applyJsonPatch, applyMergePatch, PatchError } from "./patch/patch.ts";
import { ApiError, badRequest, conflict, notFound, unsupportedMediaType } from "./status.ts";
import { objectKeyOf } from "./storage.ts";
import { applyStrategicPatch } from "./patch/strategic.ts";
import { TypedError } from "./apply/typed.ts";
import type { Json, JsonObject } from "./types.ts";
import {
  createObject,
  type Engine,
  ownershipContext,
  updateObject,
  type WriteRequest,
  type Written,
} from "./write.ts";

const JSON_PATCH = "application/json-patch+json";
const MERGE_PATCH = "application/merge-patch+json";
const STRATEGIC_PATCH = "application/strategic-merge-patch+json";
const APPLY_PATCHES = ["application/apply-patch+yaml", "application/apply-patch+json"];

export function isApplyPatch(contentType: string | undefined): boolean {
  return APPLY_PATCHES.includes(mediaTypeOf(contentType));
}

export interface Patched extends Written {
  readonly warnings: readonly string[];
}

export function patchObject(
  engine: Engine,
  request: WriteRequest,
  patch: { readonly contentType: string | undefined; readonly body: Json | undefined },
): Patched {
  const mediaType = mediaTypeOf(patch.contentType);
  if (APPLY_PATCHES.includes(mediaType)) return applyConfiguration(engine, request, patch.body);
  const { kind } = request;
  const name = request.name ?? "";
  const change = choosePatch(request, mediaType);
  if (patch.body === undefined)
    throw badRequest("error decoding patch: unexpected end of JSON input");
  if (mediaType !== JSON_PATCH && !isJsonObject(patch.body)) {
    throw badRequest("error decoding patch: json: cannot unmarshal it into a map");
  }
  const stored = engine.storage.get(kind.key, objectKeyOf(request.namespace, name));
  if (stored === undefined) throw notFound(kind.served.resource, name);
  const old = kind.fromStored(stored);
  const patched = translatePatchError(() => change(jsonOf(old), patch.body ?? null));
  if (!isJsonObject(patched))
    throw badRequest("error decoding patch: the outcome is not an object");
  const { object, warnings } = decodePatched(kind, patched, request.options.fieldValidation);
  requireSameName(object, name);
  if (object.metadata.namespace !== old.metadata.namespace) {
    throw badRequest(
      "the namespace of the provided object does not match the namespace sent on the request",
    );
  }
  return { ...updateObject(engine, request, { old, proposed: object }), warnings };
}

type Change = (object: JsonObject, patch: Json) => Json;

function choosePatch(request: WriteRequest, mediaType: string): Change {
  const { schema, definitions, builtin } = request.kind.served;
  if (mediaType === JSON_PATCH) return applyJsonPatch;
  if (mediaType === MERGE_PATCH) return applyMergePatch;
  // Custom resources have no merge keys to be strategic about.
  if (mediaType === STRATEGIC_PATCH && builtin) {
    return (object, patch) =>
      isJsonObject(patch) ? applyStrategicPatch(schema, definitions, object, patch) : object;
  }
  throw unsupportedMediaType([
    JSON_PATCH,
    MERGE_PATCH,
    ...(builtin ? [STRATEGIC_PATCH] : []),
    APPLY_PATCHES[0] ?? "",
  ]);
}

/** Server-side apply. */
function applyConfiguration(
  engine: Engine,
  request: WriteRequest,
  body: Json | undefined,
): Patched {
  const { kind, options, subresource } = request;
  const name = request.name ?? "";
  if (!isJsonObject(body)) {
    throw badRequest("error decoding YAML: json: cannot unmarshal it into a map");
  }
  if (body["kind"] !== kind.served.resource.kind || body["apiVersion"] !== kind.apiVersion) {
    const { apiVersion, kind: sent } = body as { apiVersion?: string; kind?: string };
    throw badRequest(`invalid object type: ${apiVersion}, Kind=${sent}`);
  }
  const stored = engine.storage.get(kind.key, objectKeyOf(request.namespace, name));
  const old = stored === undefined ? undefined : kind.fromStored(stored);
  if (old === undefined && subresource !== undefined) throw notFound(kind.served.resource, name);
  const metadata = isJsonObject(body["metadata"]) ? body["metadata"] : {};
  if (metadata["managedFields"] !== undefined) {
    throw badRequest("metadata.managedFields must be nil");
  }
  const { uid } = metadata;
  if (old === undefined && typeof uid === "string" && uid !== "") {
    // Who names a uid means the object that is gone, not a new one.
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    throw conflict(kind.served.resource, name, why);
  }
  const result = translateTypedError(
    request,
    metadata as { namespace?: string; name?: string },
    () =>
      applyPatch({
        ...ownershipContext(engine, request),
        live: old === undefined ? undefined : jsonOf(old),
        liveManagedFields: old?.metadata.managedFields ?? [],
        patch: body,
        force: options.force,
      }),
  );
  if (result.kind !== "applied") {
    throw new ApiError({
      status: 409,
      reason: "Conflict",
      message: result.message,
      details: {
        causes: result.conflicts.map((conflict) => ({
          reason: "FieldManagerConflict",
          message: conflict.message,
          field: conflict.field,
        })),
      },
    });
  }
  const { object, warnings } = decodeBody(kind, result.object, options.fieldValidation);
  if (old === undefined) {
    requireSameName(object, name);
    return { ...createObject(engine, request, object, result.managedFields), warnings };
  }
  requireSameName(object, name);
  const { managedFields } = result;
  return { ...updateObject(engine, request, { old, proposed: object, managedFields }), warnings };
}

function requireSameName(object: KubeObject, name: string): void {
  const sent = object.metadata.name ?? "";
  if (sent === name) return;
  throw badRequest(
    sent === ""
      ? `the name of the object (${name} based on URL) was undeterminable: name must be provided`
      : `the name of the object (${sent}) does not match the name on the URL (${name})`,
  );
}

function translatePatchError<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    if (error.reason === "BadRequest") throw badRequest(error.message);
    throw new ApiError({ status: 422, reason: "Invalid", message: error.message, details: {} });
  }
}

/** What the schema does not declare cannot be owned; the real server calls that its own failure. */
function translateTypedError<T>(
  request: WriteRequest,
  place: { readonly namespace?: string; readonly name?: string },
  work: () => T,
): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof TypedError)) throw error;
    const { group, version, kind: kindName } = request.kind.served.resource;
    const { namespace = "", name = "" } = place;
    throw new ApiError({
      status: 500,
      reason: "",
      message: `failed to create typed patch object (${namespace}/${name}; ${group}/${version}, Kind=${kindName}): ${error.message}`,
    });
  }
}

function mediaTypeOf(contentType: string | undefined): string {
  return (contentType ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}
