// Embedded server, resource versions, counts and continue tokens in requests: text in, numbers out, or the API server's refusal. Pure.

import { forbidden as forbiddenValue, notSupported } from "./schema/failure.ts";
import { badRequest, invalidOptions } from "./status.ts";

export interface ContinueToken {
  /** -1: go on from the newest state, because the snapshot is gone. */
  readonly revision: number;
  /** First key of the next page, relative to the list. */
  readonly start: string;
}

const TOKEN_VERSION = "meta.k8s.io/v1";

/** Undefined when unset. */
export function parseVersion(text: string | null): number | undefined {
  if (text === null || text === "") return undefined;
  if (!/^\d{1,15}$/.test(text)) {
    const quoted = JSON.stringify(text);
    throw badRequest(
      `invalid resource version: resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: invalid syntax`,
    );
  }
  return Number(text);
}

/** 0 when unset. */
export function parseInteger(text: string | null): number {
  if (text === null || text === "") return 0;
  if (!/^[+-]?\d{1,15}$/.test(text)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  }
  return Number(text);
}

export function parseVersionMatch(query: URLSearchParams): "Exact" | "NotOlderThan" | undefined {
  const match = query.get("resourceVersionMatch");
  if (match === null || match === "") return undefined;
  const field = "resourceVersionMatch";
  const version = query.get("resourceVersion") ?? "";
  if (query.get("continue")) {
    const why = "resourceVersionMatch is forbidden when continue is provided";
    throw invalidOptions("ListOptions", [forbiddenValue(field, why)]);
  }
  if (version === "" && query.get("sendInitialEvents") === null) {
    const why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
    throw invalidOptions("ListOptions", [forbiddenValue(field, why)]);
  }
  if (match !== "Exact" && match !== "NotOlderThan") {
    throw invalidOptions("ListOptions", [
      notSupported(field, match, ["Exact", "NotOlderThan", ""]),
    ]);
  }
  if (match === "Exact" && version === "0") {
    const why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"';
    throw invalidOptions("ListOptions", [forbiddenValue(field, why)]);
  }
  return match;
}

export function encodeContinue(token: ContinueToken): string {
  const text = JSON.stringify({ v: TOKEN_VERSION, rv: token.revision, start: token.start });
  return Buffer.from(text).toString("base64url");
}

export function parseContinue(text: string): ContinueToken {
  let token: unknown;
  try {
    token = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
  } catch {
    throw badRequest(
      "invalid continue token: continue key is not valid: it is not one of this server",
    );
  }
  const { v, rv, start } = (token ?? {}) as Record<string, unknown>;
  if (v !== TOKEN_VERSION || typeof rv !== "number" || typeof start !== "string") {
    throw badRequest("continue key is not valid: server does not recognize this encoded version");
  }
  return { revision: rv, start };
}
