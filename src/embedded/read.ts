// Embedded server, reads: a kind and list options in, objects of one consistent state out. Never writes.

import type { KubeObject } from "../api/object.ts";
import type { Kind } from "./kind.ts";
import { asJson } from "./metadata.ts";
import { parseSelection, type Selection } from "./selection.ts";
import { badRequest, expired, notFound, tooLargeVersion } from "./status.ts";
import { objectKeyOf, type Storage } from "./storage.ts";
import type { JsonObject } from "./types.ts";
import {
  encodeContinue,
  parseContinue,
  parseInteger,
  parseVersion,
  parseVersionMatch,
} from "./version.ts";

export interface ReadRequest {
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly query: URLSearchParams;
  /** Fault injection: answer as of that many revisions ago. */
  readonly staleRevisions: number;
}

const SNAPSHOT_GONE =
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";
const VERSION_GONE = "The resourceVersion for the provided list is too old.";

export function readObject(storage: Storage, request: ReadRequest, name: string): JsonObject {
  const { kind, namespace, query } = request;
  requireReached(storage, parseVersion(query.get("resourceVersion")));
  const key = objectKeyOf(namespace, name);
  const stored =
    request.staleRevisions > 0
      ? storage.getAt(kind.key, key, storage.revision - request.staleRevisions)
      : storage.get(kind.key, key);
  if (stored === undefined) throw notFound(kind.served.resource, name);
  return asJson(kind.fromStored(stored)) as JsonObject;
}

interface Page {
  readonly revision: number;
  readonly objects: readonly KubeObject[];
  readonly start: string;
  readonly limit: number;
}

export function readList(storage: Storage, request: ReadRequest): JsonObject {
  const { kind, namespace, query } = request;
  const selection = parseSelection(kind, query);
  const { revision, objects, start, limit } = choosePage(storage, request);
  const items: KubeObject[] = [];
  let next: string | undefined;
  let remaining = 0;
  for (const stored of objects) {
    const key = relativeKey(stored, namespace);
    if (key < start) continue;
    const object = kind.fromStored(stored);
    if (!selection.matches(object)) continue;
    if (limit === 0 || items.length < limit) {
      items.push(object);
      continue;
    }
    next ??= key;
    remaining += 1;
  }
  const more =
    next === undefined
      ? {}
      : {
          continue: encodeContinue({ revision, start: next }),
          // With a selector the real server does not count what it has not looked at.
          ...(selection.isAll ? { remainingItemCount: remaining } : {}),
        };
  return {
    kind: kind.served.listKind,
    apiVersion: kind.apiVersion,
    metadata: { resourceVersion: `${revision}`, ...more },
    items: asJson(items),
  };
}

/** Which state the list shows, and where in it the page starts. */
function choosePage(storage: Storage, request: ReadRequest): Page {
  const { kind, namespace, query, staleRevisions } = request;
  const limit = Math.max(0, parseInteger(query.get("limit")));
  const version = parseVersion(query.get("resourceVersion"));
  const match = parseVersionMatch(query);
  const token = query.get("continue") ?? "";
  if (token !== "") {
    if (version !== undefined && version !== 0) {
      throw badRequest("specifying resource version is not allowed when using continue");
    }
    return continuePage(storage, request, parseContinue(token), limit);
  }
  requireReached(storage, version);
  const isExact = match === "Exact" || (match === undefined && limit > 0 && (version ?? 0) > 0);
  if (isExact && version !== undefined) {
    const objects = storage.listAt(kind.key, version, namespace);
    if (objects === undefined) throw expired(VERSION_GONE);
    return { revision: version, objects, start: "", limit };
  }
  // From the server's cache: it ignores the limit, as the real one does.
  const effective = version === 0 ? 0 : limit;
  const revision = Math.max(storage.revision - staleRevisions, storage.compacted, version ?? 0);
  const objects = storage.listAt(kind.key, revision, namespace) ?? [];
  return { revision, objects, start: "", limit: effective };
}

function continuePage(
  storage: Storage,
  request: ReadRequest,
  token: { readonly revision: number; readonly start: string },
  limit: number,
): Page {
  const { kind, namespace } = request;
  const revision = token.revision < 0 ? storage.revision : token.revision;
  const objects = storage.listAt(kind.key, revision, namespace);
  if (objects === undefined) {
    throw expired(SNAPSHOT_GONE, encodeContinue({ revision: -1, start: token.start }));
  }
  return { revision, objects, start: token.start, limit };
}

export function requireReached(storage: Storage, version: number | undefined): void {
  if (version !== undefined && version > storage.revision) {
    throw tooLargeVersion(version, storage.revision);
  }
}

/** Objects of a collection that a selector picks: what deletecollection works on. */
export function selectObjects(
  storage: Storage,
  kind: Kind,
  namespace: string | undefined,
  selection: Selection,
): KubeObject[] {
  return storage
    .list(kind.key, namespace)
    .filter((stored) => selection.matches(kind.fromStored(stored)));
}

function relativeKey(object: KubeObject, namespace: string | undefined): string {
  const name = object.metadata.name ?? "";
  return namespace === undefined ? objectKeyOf(object.metadata.namespace, name) : name;
}
