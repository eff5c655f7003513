// Embedded server, deletes: an object and delete options in; gone, or marked and waiting for its finalizers. Never runs controllers.

import type { KubeObject } from "../api/object.ts";
import { invalid as invalidValue, notSupported } from "./schema/failure.ts";
import { isJsonObject } from "./json.ts";
import type { Kind } from "./kind.ts";
import { formatTime } from "../ports/clock.ts";
import { jsonOf, normalizeMetadata } from "./metadata.ts";
import { isTrue } from "./request.ts";
import { conflict, deletedStatus, invalidOptions, notFound } from "./status.ts";
import { objectKeyOf } from "./storage.ts";
import type { FieldFailure, Json, JsonObject } from "./types.ts";
import { type Engine, store, withMetadata } from "./write.ts";

export type Propagation = "Background" | "Foreground" | "Orphan";

export interface DeleteOptions {
  readonly propagation?: Propagation;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly gracePeriodSeconds?: number;
  readonly dryRun: boolean;
}

export const FOREGROUND = "foregroundDeletion";
export const ORPHAN = "orphan";
const POLICIES: readonly string[] = ["Background", "Foreground", "Orphan"];

/** Options come in the body, in the query, or nowhere. */
export function parseDeleteOptions(query: URLSearchParams, body: Json | undefined): DeleteOptions {
  const sent: JsonObject = isJsonObject(body) ? body : {};
  const failures: FieldFailure[] = [];
  const policy = sent["propagationPolicy"] ?? query.get("propagationPolicy") ?? "";
  const orphans = sent["orphanDependents"] ?? query.get("orphanDependents");
  if (policy !== "" && orphans !== null && orphans !== undefined) {
    const why = "orphanDependents and deletionPropagation cannot be both set";
    failures.push(invalidValue("propagationPolicy", policy, why));
  }
  if (policy !== "" && !isPropagation(policy)) {
    failures.push(notSupported("propagationPolicy", policy, [...POLICIES, "nil"]));
  }
  const dryRun = Array.isArray(sent["dryRun"]) ? sent["dryRun"] : query.getAll("dryRun");
  if (dryRun.some((value: Json) => value !== "All")) {
    failures.push(notSupported("dryRun", dryRun, ["All"]));
  }
  if (failures.length > 0) throw invalidOptions("DeleteOptions", failures);
  const preconditions = isJsonObject(sent["preconditions"]) ? sent["preconditions"] : {};
  const { uid, resourceVersion } = preconditions;
  const propagation = isPropagation(policy) ? policy : legacyPropagation(orphans);
  const grace = sent["gracePeriodSeconds"] ?? query.get("gracePeriodSeconds") ?? "";
  const seconds = grace === "" ? Number.NaN : Number(grace);
  return {
    ...(propagation === undefined ? {} : { propagation }),
    ...(Number.isInteger(seconds) ? { gracePeriodSeconds: Math.max(0, seconds) } : {}),
    ...(typeof uid === "string" ? { uid } : {}),
    ...(typeof resourceVersion === "string" ? { resourceVersion } : {}),
    dryRun: dryRun.length > 0,
  };
}

function isPropagation(value: Json | undefined): value is Propagation {
  return typeof value === "string" && POLICIES.includes(value);
}

function legacyPropagation(orphans: Json | undefined): Propagation | undefined {
  if (orphans === null || orphans === undefined) return undefined;
  return orphans === true || (typeof orphans === "string" && isTrue(orphans))
    ? "Orphan"
    : "Background";
}

export interface Removal {
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly options: DeleteOptions;
}

/** The answer's body: the object while it waits or where the kind returns it, else a Status. */
export function deleteObject(engine: Engine, removal: Removal): JsonObject {
  const { kind, options, name } = removal;
  const { resource } = kind.served;
  const key = objectKeyOf(removal.namespace, name);
  const stored = engine.storage.get(kind.key, key);
  if (stored === undefined) throw notFound(resource, name);
  const refusal = kind.rules.refuseDelete?.(stored);
  if (refusal !== undefined) throw refusal;
  const old = kind.fromStored(stored);
  requirePreconditions(removal, old);
  const nowMs = engine.clock.now();
  const { gracePeriodSeconds } = options;
  const context = {
    nowMs,
    time: formatTime(nowMs),
    dryRun: options.dryRun,
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
  };
  const finalizers = planFinalizers(old.metadata.finalizers ?? [], options.propagation);
  const refinalized = withMetadata(old, normalizeMetadata({ ...old.metadata, finalizers }));
  const held = kind.rules.prepareDelete?.(refinalized, context);
  const marked =
    held ?? (finalizers.length > 0 ? markDeleted(refinalized, context.time) : undefined);
  if (marked === undefined) {
    const gone = options.dryRun ? old : (engine.storage.remove(kind.key, key) ?? old);
    return kind.rules.returnsDeleted === true
      ? jsonOf(kind.fromStored(gone))
      : deletedStatus(resource, name, old.metadata.uid ?? "");
  }
  if (options.dryRun || isSameDeletion(marked, old)) return jsonOf(options.dryRun ? marked : old);
  return jsonOf(store(engine, kind, marked));
}

function requirePreconditions(removal: Removal, old: KubeObject): void {
  const { kind, name, options } = removal;
  const { group, kind: kindName } = kind.served.resource;
  const { uid = "", resourceVersion = "" } = old.metadata;
  if (options.uid !== undefined && options.uid !== uid) {
    const why = `the UID in the precondition (${options.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`;
    throw conflict({ group, plural: kindName }, name, why);
  }
  if (options.resourceVersion !== undefined && options.resourceVersion !== resourceVersion) {
    const why = `the ResourceVersion in the precondition (${options.resourceVersion}) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`;
    throw conflict({ group, plural: kindName }, name, why);
  }
}

/** A policy replaces the garbage collector's finalizers; without one, those that the object carries decide. */
function planFinalizers(
  finalizers: readonly string[],
  propagation: Propagation | undefined,
): readonly string[] {
  if (propagation === undefined) return finalizers;
  const others = finalizers.filter((name) => name !== FOREGROUND && name !== ORPHAN);
  if (propagation === "Foreground") return [...others, FOREGROUND];
  return propagation === "Orphan" ? [...others, ORPHAN] : others;
}

/** deletionTimestamp is set once; a generation counts the change. */
export function markDeleted(object: KubeObject, time: string): KubeObject {
  const { deletionTimestamp, generation } = object.metadata;
  if (deletionTimestamp !== undefined) return object;
  return withMetadata(object, {
    ...object.metadata,
    deletionTimestamp: time,
    deletionGracePeriodSeconds: 0,
    ...(generation === undefined ? {} : { generation: generation + 1 }),
  });
}

function isSameDeletion(next: KubeObject, old: KubeObject): boolean {
  const before = old.metadata.finalizers ?? [];
  const after = next.metadata.finalizers ?? [];
  return (
    old.metadata.deletionTimestamp !== undefined &&
    next.metadata.deletionTimestamp === old.metadata.deletionTimestamp &&
    after.length === before.length &&
    after.every((name, at) => name === before[at])
  );
}
