// Edge, replies: a body and how it was asked for in, the bytes of the HTTP response out. Never decides what to say.

import type { IncomingMessage, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import { stringify } from "yaml";
import { isTrue } from "../request.ts";
import type { JsonObject } from "../types.ts";

const compress = promisify(gzip);

/** Below this the time to compress is worth more than the bytes saved; kube-apiserver draws the line here, too. */
const GZIP_FROM_BYTES = 128 * 1024;

export interface Reply {
  readonly status: number;
  readonly body: JsonObject;
  readonly format?: "json" | "yaml";
  readonly pretty?: boolean;
  /** When it says more than the format does. */
  readonly contentType?: string;
  readonly warnings?: readonly string[] | undefined;
  readonly retryAfterSeconds?: number | undefined;
}

export async function sendReply(
  request: IncomingMessage,
  response: ServerResponse,
  reply: Reply,
): Promise<void> {
  const bytes = Buffer.from(encodeBody(reply));
  const small = bytes.length < GZIP_FROM_BYTES || !acceptsGzip(request);
  const sent = small ? bytes : await compress(bytes, { level: constants.Z_BEST_SPEED });
  // The client may have gone while we compressed.
  if (response.destroyed) return;
  response.writeHead(reply.status, {
    "Cache-Control": "no-cache, private",
    "Content-Type": reply.contentType ?? `application/${reply.format ?? "json"}`,
    "Content-Length": sent.length,
    ...(small ? {} : { "Content-Encoding": "gzip", Vary: "Accept-Encoding" }),
    ...(reply.retryAfterSeconds === undefined
      ? {}
      : { "Retry-After": String(reply.retryAfterSeconds) }),
    ...(reply.warnings === undefined || reply.warnings.length === 0
      ? {}
      : { Warning: reply.warnings.map(renderWarning) }),
  });
  response.end(sent);
}

export function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    "Cache-Control": "no-cache, private",
    "Content-Type": "text/plain; charset=utf-8",
    "X-Content-Type-Options": "nosniff",
    "Content-Length": Buffer.byteLength(text),
  });
  response.end(text);
}

export function sendBytes(response: ServerResponse, contentType: string, bytes: Buffer): void {
  response.writeHead(200, {
    "Cache-Control": "no-cache, private",
    "Content-Type": contentType,
    "Content-Length": bytes.length,
  });
  response.end(bytes);
}

/** People at a terminal get line breaks without asking. */
export function wantsPretty(request: IncomingMessage, query: URLSearchParams): boolean {
  const asked = query.get("pretty");
  if (asked !== null) return asked === "" || isTrue(asked);
  return /^(curl|wget)\//i.test(request.headers["user-agent"] ?? "");
}

function encodeBody(reply: Reply): string {
  if (reply.format === "yaml") return stringify(reply.body);
  return `${JSON.stringify(reply.body, null, reply.pretty === true ? 2 : 0)}\n`;
}

function acceptsGzip(request: IncomingMessage): boolean {
  const header = request.headers["accept-encoding"];
  return typeof header === "string" && /(^|[\s,])gzip(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(header);
}

/** 299: persistent, of no named agent. Headers hold bytes, so text goes as UTF-8 without control characters. */
function renderWarning(text: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what must not get into a header
  const line = text.replaceAll(/[\u0000-\u001f\u007f]+/g, " ").replaceAll(/["\\]/g, "\\$&");
  return `299 - "${Buffer.from(line, "utf8").toString("latin1")}"`;
}
