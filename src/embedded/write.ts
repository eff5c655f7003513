// Embedded server, creates and updates: a decoded object in; validated, tracked and stored, the object as served out.
// Patches end here too. Never parses requests and never looks at faults.

import type { KubeObject, ManagedFieldsEntry, ObjectMeta } from "../api/object.ts";
import { type Clock, formatTime, type Random } from "../ports/clock.ts";
import { retainTimestamps, trackUpdate } from "./apply/apply.ts";
import { invalid as invalidValue } from "./schema/failure.ts";
import { equalJson } from "./json.ts";
import type { Kind } from "./kind.ts";
import {
  generateName,
  generateUid,
  jsonOf,
  normalizeMetadata,
  validateMetadata,
  validateMetadataUpdate,
} from "./metadata.ts";
import type { WriteOptions } from "./options.ts";
import type { Registry } from "./registry.ts";
import type { RuleContext } from "./rules.ts";
import { validateObject } from "./schema/validate.ts";
import {
  alreadyExists,
  badRequest,
  conflict,
  forbidden,
  invalid,
  modifiedConflict,
  notFound,
  unnamedError,
} from "./status.ts";
import { objectKeyOf, type Storage } from "./storage.ts";
import { TypedError } from "./apply/typed.ts";
import type { FieldFailure, JsonObject } from "./types.ts";

export interface Engine {
  readonly storage: Storage;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly random: Random;
}

export interface WriteRequest {
  readonly kind: Kind;
  readonly namespace: string | undefined;
  /** Absent on creates: the body names the object. */
  readonly name?: string;
  readonly subresource?: string;
  readonly options: WriteOptions;
}

export interface Written {
  readonly status: 200 | 201;
  readonly object: KubeObject;
}

const NAME_ATTEMPTS = 8;

/** `managedFields` comes from an apply, which has already said who owns what. */
export function createObject(
  engine: Engine,
  request: WriteRequest,
  body: KubeObject,
  managedFields?: readonly ManagedFieldsEntry[],
): Written {
  const { kind, options } = request;
  const { rules, served } = kind;
  const context = contextOf(engine, request);
  const placed = placeObject(request, body);
  if ((placed.metadata.resourceVersion ?? "") !== "") {
    throw unnamedError("resourceVersion should not be set on objects to be created");
  }
  admitToNamespace(engine, request, placed.metadata.name ?? placed.metadata.generateName ?? "");
  const named = nameObject(engine, request, placed);
  const defaulted = rules.applyDefaults?.(named, undefined) ?? named;
  const tracked =
    managedFields ?? track(engine, request, undefined, dropReset(request, defaulted, undefined));
  const fresh = withMetadata(dropReset(request, defaulted, undefined), {
    ...initialMetadata(engine, kind, defaulted.metadata),
    managedFields: tracked,
  });
  const prepared = normalize(rules.prepareCreate?.(fresh, context) ?? fresh);
  refuseInvalid(kind, prepared, [
    ...validateMetadata(prepared.metadata, metadataRules(kind)),
    ...validateContent(kind, prepared),
  ]);
  const name = prepared.metadata.name ?? "";
  const key = objectKeyOf(prepared.metadata.namespace, name);
  if (engine.storage.get(kind.key, key) !== undefined) {
    throw alreadyExists(served.resource, name);
  }
  if (options.dryRun) return { status: 201, object: prepared };
  return { status: 201, object: store(engine, kind, prepared) };
}

/** PUT: the body replaces the object, within what the endpoint may change. */
export function replaceObject(engine: Engine, request: WriteRequest, body: KubeObject): Written {
  const { kind } = request;
  const name = request.name ?? "";
  const sent = placeObject(request, body);
  const requireUid = (found: string | undefined): void => {
    const { uid } = sent.metadata;
    if (uid === undefined || uid === found) return;
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${found ?? ""}`;
    throw conflict(kind.served.resource, name, why);
  };
  if ((sent.metadata.name ?? "") !== name) {
    throw badRequest(
      sent.metadata.name === undefined || sent.metadata.name === ""
        ? `the name of the object (${name} based on URL) was undeterminable: name must be provided`
        : `the name of the object (${sent.metadata.name}) does not match the name on the URL (${name})`,
    );
  }
  const stored = engine.storage.get(kind.key, objectKeyOf(request.namespace, name));
  if (stored === undefined) {
    if (kind.rules.createOnUpdate !== true || request.subresource !== undefined) {
      throw notFound(kind.served.resource, name);
    }
    // Who names a uid means the object that is gone, not a new one.
    requireUid(undefined);
    const { resourceVersion: _version, uid: _uid, ...meta } = sent.metadata;
    return createObject(engine, request, { ...sent, metadata: meta });
  }
  const old = kind.fromStored(stored);
  requireUid(old.metadata.uid);
  return updateObject(engine, request, { old, proposed: sent });
}

export interface Update {
  /** As served in the request's version. */
  readonly old: KubeObject;
  readonly proposed: KubeObject;
  readonly managedFields?: readonly ManagedFieldsEntry[];
}

/** The common end of PUT and PATCH. */
export function updateObject(engine: Engine, request: WriteRequest, update: Update): Written {
  const { kind, subresource, options } = request;
  const { rules } = kind;
  const { old, proposed } = update;
  const name = old.metadata.name ?? "";
  requireCurrent(kind, old, proposed);
  const context = contextOf(engine, request);
  const kept = keepServerMetadata(proposed, old);
  const reset = dropReset(request, kept, old);
  const defaulted = rules.applyDefaults?.(reset, old) ?? reset;
  const managedFields = update.managedFields ?? track(engine, request, old, defaulted);
  const tracked = withMetadata(defaulted, { ...defaulted.metadata, managedFields });
  const prepare = subresource === "status" ? rules.prepareStatus : rules.prepareUpdate;
  const prepared = normalize(prepare?.(tracked, old, context) ?? tracked);
  const final = raiseGeneration(kind, prepared, old);
  refuseInvalid(kind, final, [
    ...validateMetadata(final.metadata, metadataRules(kind)),
    ...validateMetadataUpdate(final.metadata, old.metadata),
    ...validateContent(kind, final),
    ...(rules.validateUpdate?.(final, old) ?? []),
  ]);
  if (retainTimestamps(jsonOf(old), jsonOf(final)) === jsonOf(old)) {
    return { status: 200, object: old };
  }
  const isReleased =
    final.metadata.deletionTimestamp !== undefined &&
    (final.metadata.finalizers ?? []).length === 0 &&
    rules.holdsDeletion?.(final) !== true;
  if (options.dryRun) return { status: 200, object: final };
  if (isReleased) {
    engine.storage.remove(kind.key, objectKeyOf(old.metadata.namespace, name));
    return { status: 200, object: final };
  }
  return { status: 200, object: store(engine, kind, final) };
}

export function store(engine: Engine, kind: Kind, object: KubeObject): KubeObject {
  const form = kind.toStored(object);
  const stored = engine.storage.put(kind.key, form);
  kind.seed(stored);
  return kind.fromStored(stored);
}

/** Fields that this endpoint leaves as they were, in the terms of server-side apply. */
function resetFields(request: WriteRequest): readonly (readonly string[])[] {
  const { hasStatus, builtin } = request.kind.served;
  if (request.subresource === "status") return builtin ? [["spec"]] : [["metadata"], ["spec"]];
  return hasStatus ? [["status"]] : [];
}

/** Puts back what this endpoint may not write. */
function dropReset(
  request: WriteRequest,
  object: KubeObject,
  old: KubeObject | undefined,
): KubeObject {
  const { hasStatus, builtin } = request.kind.served;
  const fields = jsonOf(object);
  const before: JsonObject = old === undefined ? {} : jsonOf(old);
  if (request.subresource === "status") {
    const status = fields["status"];
    const base = builtin
      ? { ...before, metadata: fields["metadata"] ?? {} }
      : { ...before, metadata: before["metadata"] ?? {} };
    const { status: _old, ...rest } = base as JsonObject;
    return objectOf(status === undefined ? rest : { ...rest, status });
  }
  const mayKeep = old === undefined && request.kind.rules.keepsStatusOnCreate === true;
  if (!hasStatus || mayKeep) return object;
  const { status: _new, ...rest } = fields;
  return objectOf(before["status"] === undefined ? rest : { ...rest, status: before["status"] });
}

/** What server-side apply and the tracking of updates both ask for: whose write it is, of which kind, and when. */
export function ownershipContext(engine: Engine, request: WriteRequest) {
  const { kind, options, subresource } = request;
  return {
    schema: kind.served.schema,
    definitions: kind.served.definitions,
    manager: options.fieldManager,
    apiVersion: kind.apiVersion,
    ...(subresource === undefined ? {} : { subresource }),
    resetFields: resetFields(request),
    time: formatTime(engine.clock.now()),
  };
}

function track(
  engine: Engine,
  request: WriteRequest,
  before: KubeObject | undefined,
  after: KubeObject,
): readonly ManagedFieldsEntry[] {
  try {
    return trackUpdate({
      ...ownershipContext(engine, request),
      before: before === undefined ? undefined : jsonOf(before),
      after: jsonOf(after),
      operation: "Update",
    });
  } catch (error) {
    // What cannot be tracked is mostly invalid, and validation says so better; ownership never fails a write.
    if (error instanceof TypedError) return before?.metadata.managedFields ?? [];
    throw error;
  }
}

/** The namespace of the path, after checking that the body does not contradict it. */
function placeObject(request: WriteRequest, body: KubeObject): KubeObject {
  const { namespaced } = request.kind.served.resource;
  const sent = body.metadata.namespace ?? "";
  if (!namespaced) return body;
  if (sent !== "" && sent !== request.namespace) {
    throw badRequest(
      "the namespace of the provided object does not match the namespace sent on the request",
    );
  }
  if (sent === request.namespace || request.namespace === undefined) return body;
  return withMetadata(body, { ...body.metadata, namespace: request.namespace });
}

function nameObject(engine: Engine, request: WriteRequest, object: KubeObject): KubeObject {
  const { name, generateName: prefix = "" } = object.metadata;
  if ((name ?? "") !== "" || prefix === "") return object;
  const { kind, namespace } = request;
  let made = generateName(prefix, engine.random);
  for (let attempt = 1; attempt < NAME_ATTEMPTS; attempt++) {
    if (engine.storage.get(kind.key, objectKeyOf(namespace, made)) === undefined) break;
    made = generateName(prefix, engine.random);
  }
  return withMetadata(object, { ...object.metadata, name: made });
}

function admitToNamespace(engine: Engine, request: WriteRequest, name: string): void {
  const { kind, namespace } = request;
  if (!kind.served.resource.namespaced || namespace === undefined) return;
  const found = engine.storage.get("namespaces", namespace);
  if (found === undefined) throw notFound({ group: "", plural: "namespaces" }, namespace);
  if (found.metadata.deletionTimestamp === undefined) return;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  throw forbidden(kind.served.resource, name, why, [
    {
      reason: "NamespaceTerminating",
      message: `namespace ${namespace} is being terminated`,
      field: "metadata.namespace",
    },
  ]);
}

function initialMetadata(engine: Engine, kind: Kind, sent: ObjectMeta): ObjectMeta {
  const {
    resourceVersion: _version,
    generation: _generation,
    deletionTimestamp: _deletion,
    deletionGracePeriodSeconds: _grace,
    managedFields: _managed,
    ...kept
  } = sent;
  return {
    ...kept,
    uid: generateUid(engine.random),
    creationTimestamp: formatTime(engine.clock.now()),
    ...(kind.rules.raisesGeneration === undefined ? {} : { generation: 1 }),
  };
}

/** What clients cannot write is as it was, whether they sent it or not; what they may not contradict stays as sent. */
function keepServerMetadata(next: KubeObject, old: KubeObject): KubeObject {
  const { generation: _generation, creationTimestamp: _created, ...sent } = next.metadata;
  const { uid, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds, generation } =
    old.metadata;
  return withMetadata(next, {
    ...(uid === undefined ? {} : { uid }),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(deletionGracePeriodSeconds === undefined ? {} : { deletionGracePeriodSeconds }),
    ...sent,
    ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    ...(generation === undefined ? {} : { generation }),
  });
}

function requireCurrent(kind: Kind, old: KubeObject, proposed: KubeObject): void {
  const { resource } = kind.served;
  const name = old.metadata.name ?? "";
  const version = proposed.metadata.resourceVersion ?? "";
  if (version === "" || version === "0") {
    if (kind.rules.unconditionalUpdate === true) return;
    throw invalid({ group: resource.group, kind: resource.plural }, name, [
      invalidValue("metadata.resourceVersion", 0, "must be specified for an update"),
    ]);
  }
  if (version !== old.metadata.resourceVersion) throw modifiedConflict(resource, name);
}

function raiseGeneration(kind: Kind, next: KubeObject, old: KubeObject): KubeObject {
  const { raisesGeneration } = kind.rules;
  if (raisesGeneration?.(next, old) !== true) return next;
  return withMetadata(next, { ...next.metadata, generation: (old.metadata.generation ?? 0) + 1 });
}

/** For kinds whose every field outside metadata and status counts as spec. */
export function differsInContent(next: KubeObject, old: KubeObject, hasStatus: boolean): boolean {
  const { metadata: _m, apiVersion: _v, ...a } = jsonOf(next);
  const { metadata: _n, apiVersion: _w, ...b } = jsonOf(old);
  if (!hasStatus) return !equalJson(a, b);
  const { status: _s, ...left } = a;
  const { status: _t, ...right } = b;
  return !equalJson(left, right);
}

function validateContent(kind: Kind, object: KubeObject): readonly FieldFailure[] {
  const { schema, definitions, builtin } = kind.served;
  const own = kind.rules.validate?.(object);
  // Rules of a built-in kind know better than its published schema, which lists zero values as required.
  if (builtin && own !== undefined) return own;
  return [...validateObject(schema, definitions, jsonOf(object)), ...(own ?? [])];
}

function refuseInvalid(kind: Kind, object: KubeObject, failures: readonly FieldFailure[]): void {
  if (failures.length === 0) return;
  const { group, kind: name } = kind.served.resource;
  throw invalid({ group, kind: name }, object.metadata.name ?? "", failures);
}

function metadataRules(kind: Kind): Parameters<typeof validateMetadata>[1] {
  return {
    namespaced: kind.served.resource.namespaced,
    checkName: kind.rules.checkName,
    qualifiedFinalizers: kind.served.builtin && kind.served.resource.group === "",
  };
}

export function contextOf(engine: Engine, request: WriteRequest): RuleContext {
  return {
    nowMs: engine.clock.now(),
    time: formatTime(engine.clock.now()),
    dryRun: request.options.dryRun,
    ...(request.subresource === undefined ? {} : { subresource: request.subresource }),
  };
}

function normalize(object: KubeObject): KubeObject {
  const metadata = normalizeMetadata(object.metadata);
  return metadata === object.metadata ? object : withMetadata(object, metadata);
}

export function withMetadata(object: KubeObject, metadata: ObjectMeta): KubeObject {
  return { ...object, metadata };
}

function objectOf(fields: JsonObject): KubeObject {
  return fields as unknown as KubeObject;
}
