// Client: an API server's refusal (HTTP status, headers, `Status` object) → StoreError. Pure; matches codes, never text.

import { Problem } from "../api/problem.ts";
import { StoreError, type StoreErrorCode } from "../ports/store.ts";
import { isRecord, type JsonRecord } from "./record.ts";

export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

const BY_REASON: Readonly<Record<string, StoreErrorCode>> = {
  BadRequest: "BadRequest",
  Unauthorized: "Unauthorized",
  Forbidden: "Forbidden",
  NotFound: "NotFound",
  MethodNotAllowed: "MethodNotAllowed",
  AlreadyExists: "AlreadyExists",
  Conflict: "Conflict",
  Gone: "Gone",
  Expired: "Gone",
  RequestEntityTooLarge: "TooLarge",
  UnsupportedMediaType: "UnsupportedMediaType",
  Invalid: "Invalid",
  TooManyRequests: "TooManyRequests",
  InternalError: "Internal",
  ServiceUnavailable: "Unavailable",
  Timeout: "Timeout",
  ServerTimeout: "Timeout",
};

const BY_STATUS: Readonly<Record<number, StoreErrorCode>> = {
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  409: "Conflict",
  410: "Gone",
  413: "TooLarge",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
  502: "Unavailable",
  503: "Unavailable",
  504: "Timeout",
};

export interface Refusal {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON, or text when it was none. */
  readonly body: unknown;
  /** As in "GET /api/v1/pods". */
  readonly attempted: string;
  readonly nowMs: number;
}

export function toRefusedError(refusal: Refusal): StoreError {
  const { status, headers, body, attempted, nowMs } = refusal;
  const object = asStatus(body);
  const said = object === undefined ? textOf(body) : object["message"];
  const message = typeof said === "string" && said !== "" ? said : `HTTP status ${status}`;
  return new StoreError(codeOf(status, object), `${message} (${attempted})`, {
    status,
    retryAfterSeconds: parseRetryAfter(headers["retry-after"], nowMs) ?? retryAfterOf(object),
    body: object,
    // API servers do not redirect: a login page does.
    cause:
      status < 400
        ? new Problem("ServerNotKubernetes", `answered ${attempted} with HTTP status ${status}`)
        : undefined,
  });
}

/** The object of a watch's ERROR event. */
export function toWatchError(object: unknown, attempted: string): StoreError {
  const status = asStatus(object);
  const code = status?.["code"];
  return toRefusedError({
    status: typeof code === "number" ? code : 500,
    headers: {},
    body: status ?? "the watch ended with an error that is not a Status",
    attempted,
    nowMs: 0,
  });
}

/** Seconds, or an HTTP date; undefined when it is neither. */
export function parseRetryAfter(
  value: string | readonly string[] | undefined,
  nowMs: number,
): number | undefined {
  const text = typeof value === "string" ? value.trim() : value?.[0]?.trim();
  if (text === undefined || text === "") return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - nowMs) / 1000));
}

function codeOf(status: number, object: JsonRecord | undefined): StoreErrorCode {
  const reason = object?.["reason"];
  const byReason = typeof reason === "string" ? BY_REASON[reason] : undefined;
  if (byReason !== undefined) return byReason;
  return BY_STATUS[status] ?? (status >= 400 && status < 500 ? "BadRequest" : "Internal");
}

function asStatus(body: unknown): JsonRecord | undefined {
  return isRecord(body) && body["kind"] === "Status" ? body : undefined;
}

function textOf(body: unknown): string | undefined {
  if (typeof body !== "string") return undefined;
  if (body.length <= 300) return body.trim();
  // Through bytes, because a slice would keep the whole page alive.
  return `${Buffer.from(body.slice(0, 300)).toString("utf8")}…`;
}

function retryAfterOf(object: JsonRecord | undefined): number | undefined {
  const details = object?.["details"];
  const seconds = isRecord(details) ? details["retryAfterSeconds"] : undefined;
  return typeof seconds === "number" && seconds > 0 ? seconds : undefined;
}
