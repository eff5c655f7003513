// Client: a parsed list or watched object → what the store port promises. Adds kinds, drops managedFields unless asked for; never keeps raw text.

import { apiVersionOf, type KubeObject, type Resource } from "../api/object.ts";
import { type ListPage, StoreError } from "../ports/store.ts";
import { isRecord, type JsonRecord } from "./record.ts";

export function decodeList<T extends KubeObject>(
  resource: Resource<T>,
  body: unknown,
  asked: { readonly attempted: string; readonly keepsManagedFields: boolean },
): ListPage<T> {
  const { attempted } = asked;
  if (!isRecord(body) || !isRecord(body["metadata"])) {
    throw new StoreError("Internal", `the answer is not a list (${attempted})`);
  }
  const { resourceVersion, continue: next } = body["metadata"];
  // A list without items is written as null by some servers.
  const items: unknown = body["items"] ?? [];
  if (!Array.isArray(items) || typeof resourceVersion !== "string") {
    throw new StoreError("Internal", `the answer is not a list (${attempted})`);
  }
  const decode = createDecoder(resource, attempted, asked.keepsManagedFields);
  const page = { items: items.map(decode), resourceVersion };
  return typeof next === "string" && next !== "" ? { ...page, continue: next } : page;
}

export function createDecoder<T extends KubeObject>(
  resource: Resource<T>,
  attempted: string,
  keepsManagedFields = false,
): (value: unknown) => T {
  const apiVersion = apiVersionOf(resource);
  const { kind } = resource;
  return (value) => {
    const received = isRecord(value) ? value : {};
    const metadata = isRecord(received["metadata"]) ? received["metadata"] : undefined;
    // A copy of two small levels; `delete` would turn the objects into slow, large dictionaries.
    const object: unknown = {
      apiVersion,
      kind,
      ...received,
      metadata: keepsManagedFields || !metadata ? metadata : withoutManagedFields(metadata),
    };
    return requireObject(resource, object, attempted);
  };
}

export function requireObject<T extends KubeObject>(
  resource: Resource<T>,
  value: unknown,
  attempted: string,
): T {
  if (isObjectOf(resource, value)) return value;
  throw new StoreError("Internal", `the answer is not a ${resource.kind} (${attempted})`);
}

/** The wire is trusted to hold the kind that was asked for: checking every field would cost more than parsing. */
function isObjectOf<T extends KubeObject>(_: Resource<T>, value: unknown): value is T {
  return isRecord(value) && isRecord(value["metadata"]);
}

function withoutManagedFields(metadata: JsonRecord): JsonRecord {
  if (metadata["managedFields"] === undefined) return metadata;
  const { managedFields: _, ...rest } = metadata;
  return rest;
}
