// Embedded server, first step: a method and a path in, the verb and the object it is about out. Never looks at bodies or storage.

import type { ApiRequest } from "./types.ts";

export type Verb =
  | "get"
  | "list"
  | "watch"
  | "create"
  | "update"
  | "patch"
  | "delete"
  | "deletecollection";

export interface Target {
  /** Absent when the path exists but the method does not fit it (405). */
  readonly verb: Verb | undefined;
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

/** Undefined for paths that name no resource (discovery, health, nonsense). */
export function parseTarget(
  request: Pick<ApiRequest, "method" | "path" | "query">,
): Target | undefined {
  const parts = request.path.split("/").filter((part) => part !== "");
  const isPlain = !request.path.includes("%");
  if (!isPlain && !parts.every(isDecodable)) return undefined;
  const [root, ...decoded] = isPlain ? parts : parts.map(decodeURIComponent);
  let group = "";
  let rest: string[];
  if (root === "api") {
    rest = decoded;
  } else if (root === "apis") {
    group = decoded[0] ?? "";
    if (group === "") return undefined;
    rest = decoded.slice(1);
  } else {
    return undefined;
  }
  const [version, ...path] = rest;
  if (version === undefined || path.length === 0) return undefined;
  const place = parsePlace(path);
  if (place === undefined) return undefined;
  const verb = chooseVerb(request, place);
  return { verb, group, version, ...place };
}

type Place = Pick<Target, "plural" | "namespace" | "name" | "subresource">;

/** `namespaces/x/pods/y/status`; but `namespaces/x` and `namespaces/x/status` are about the Namespace itself. */
function parsePlace(path: readonly string[]): Place | undefined {
  const inNamespace =
    path[0] === "namespaces" && path.length > 2 && !isNamespaceSubresource(path[2] ?? "");
  const namespace = inNamespace ? path[1] : undefined;
  const [plural, name, subresource, ...more] = inNamespace ? path.slice(2) : path;
  if (plural === undefined || more.length > 0) return undefined;
  return {
    plural,
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(subresource === undefined ? {} : { subresource }),
  };
}

function isNamespaceSubresource(part: string): boolean {
  return part === "status" || part === "finalize";
}

function chooseVerb(request: Pick<ApiRequest, "method" | "query">, place: Place): Verb | undefined {
  const named = place.name !== undefined;
  switch (request.method) {
    case "GET":
      if (isTrue(request.query.get("watch")) && place.subresource === undefined) return "watch";
      return named ? "get" : "list";
    case "POST":
      return named ? undefined : "create";
    case "PUT":
      return named ? "update" : undefined;
    case "PATCH":
      return named ? "patch" : undefined;
    case "DELETE":
      break;
  }
  if (place.subresource !== undefined) return undefined;
  return named ? "delete" : "deletecollection";
}

/** Go's spellings of true, which the real server accepts in queries. */
export function isTrue(text: string | null): boolean {
  return text !== null && ["1", "t", "T", "true", "TRUE", "True"].includes(text);
}

function isDecodable(part: string): boolean {
  try {
    decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}
