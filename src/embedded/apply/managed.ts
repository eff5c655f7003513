// Server-side apply, the ledger: metadata.managedFields in, owners with their field sets, managedFields out in the server's order.

import type { ManagedFieldsEntry } from "../../api/object.ts";
import { encodeFieldSet, type FieldSet, isEmptySet, parseFieldSet, unionSets } from "./fieldset.ts";
import { deepFreeze } from "../storage.ts";
import type { JsonObject } from "../types.ts";

export interface Owner {
  readonly manager: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  readonly subresource: string;
  readonly time: string | undefined;
  readonly fields: FieldSet;
}

/** By identity: an applier stays the same owner across versions, an updater does not. */
export type Owners = ReadonlyMap<string, Owner>;

export function ownerId(owner: Omit<Owner, "time" | "fields">): string {
  const version = owner.operation === "Apply" ? "" : owner.apiVersion;
  return JSON.stringify([owner.manager, owner.operation, version, owner.subresource]);
}

/** Throws an Error when an entry is not what a server would have written. */
export function parseManagedFields(entries: readonly ManagedFieldsEntry[]): Owners {
  const known = ledgers.get(entries);
  if (known !== undefined) return known;
  const owners = new Map<string, Owner>();
  for (const [index, entry] of entries.entries()) {
    const { operation, apiVersion } = entry;
    if (operation !== "Apply" && operation !== "Update") {
      throw new Error("operation must be `Apply` or `Update`");
    }
    if (apiVersion === undefined || apiVersion === "")
      throw new Error("apiVersion must not be empty");
    if (entry.fieldsType !== "FieldsV1") {
      throw new Error(
        entry.fieldsType === undefined || entry.fieldsType === ""
          ? `missing fieldsType in managed fields entry ${index}`
          : `invalid fieldsType ${JSON.stringify(entry.fieldsType)} in managed fields entry ${index}`,
      );
    }
    const owner: Owner = {
      manager: entry.manager ?? "",
      operation,
      apiVersion,
      subresource: entry.subresource ?? "",
      time: entry.time,
      fields: parseFields(entry.fieldsV1 ?? {}),
    };
    owners.set(ownerId(owner), owner);
  }
  return owners;
}

// Most writes change values and not who owns them: what was written once need not be read again, nor written anew.
const written = new WeakMap<FieldSet, JsonObject>();
const read = new WeakMap<object, FieldSet>();
const ledgers = new WeakMap<readonly ManagedFieldsEntry[], Owners>();

function parseFields(fields: object): FieldSet {
  return read.get(fields) ?? parseFieldSet(fields);
}

function encodeFields(set: FieldSet): JsonObject {
  let fields = written.get(set);
  if (fields === undefined) {
    fields = deepFreeze(encodeFieldSet(set));
    written.set(set, fields);
    read.set(fields, set);
  }
  return fields;
}

export function encodeManagedFields(owners: Owners): readonly ManagedFieldsEntry[] {
  const holding = [...owners.values()].filter((owner) => !isEmptySet(owner.fields));
  if (holding.length > 1) holding.sort(compareOwners);
  const entries: readonly ManagedFieldsEntry[] = holding.map((owner) => ({
    ...(owner.manager === "" ? {} : { manager: owner.manager }),
    operation: owner.operation,
    apiVersion: owner.apiVersion,
    ...(owner.time === undefined ? {} : { time: owner.time }),
    fieldsType: "FieldsV1",
    fieldsV1: encodeFields(owner.fields),
    ...(owner.subresource === "" ? {} : { subresource: owner.subresource }),
  }));
  deepFreeze(entries);
  ledgers.set(entries, new Map(holding.map((owner) => [ownerId(owner), owner])));
  return entries;
}

function compareOwners(a: Owner, b: Owner): number {
  return (
    compareText(a.operation, b.operation) ||
    compareText(a.time ?? "", b.time ?? "") ||
    compareText(a.manager, b.manager) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.subresource, b.subresource)
  );
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const MAX_UPDATERS = 10;
const OLD_UPDATES = "ancient-changes";

/** Folds the oldest updaters of one version into one entry, so that the ledger cannot grow without bound. */
export function capUpdaters(owners: Owners): Owners {
  const updaters = [...owners.values()].filter((owner) => owner.operation === "Update");
  let excess = updaters.length - MAX_UPDATERS;
  if (excess <= 0) return owners;
  updaters.sort(
    (a, b) => compareText(a.time ?? "", b.time ?? "") || compareText(ownerId(a), ownerId(b)),
  );
  const capped = new Map(owners);
  const firstOfVersion = new Map<string, Owner>();
  for (const owner of updaters) {
    if (excess <= 0) break;
    const first = firstOfVersion.get(owner.apiVersion);
    if (first === undefined) {
      firstOfVersion.set(owner.apiVersion, owner);
      continue;
    }
    const bucket: Owner = { ...first, manager: OLD_UPDATES, subresource: "" };
    const held = capped.get(ownerId(bucket))?.fields ?? first.fields;
    capped.delete(ownerId(first));
    capped.delete(ownerId(owner));
    capped.set(ownerId(bucket), {
      ...bucket,
      fields: unionSets(held, owner.fields),
      time: owner.time,
    });
    excess -= 1;
  }
  return capped;
}
