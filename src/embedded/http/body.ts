// Edge, request bodies: the bytes of a request in, plain JSON out. Never reads more than its limit into memory.

import type { IncomingMessage } from "node:http";
import { parse } from "yaml";
import { decodeProtobuf } from "./protobuf.ts";
import { ApiError, badRequest, unsupportedMediaType } from "../status.ts";
import type { ApiRequest, Json } from "../types.ts";

/** As kube-apiserver's: what etcd can hold, twice. */
const BODY_LIMIT_BYTES = 3 * 1024 * 1024;

/** Far beyond any real object, and far from where recursion over it would end the stack. kube-apiserver draws the line at 10,000. */
const DEEPEST_NESTING = 500;

/** An oversized body is read to its end and thrown away, so that the client gets to see the refusal; but not for ever. */
const DISCARD_LIMIT_BYTES = 64 * 1024 * 1024;

const OBJECT_TYPES = ["application/json", "application/yaml"];
const PROTOBUF = "application/vnd.kubernetes.protobuf";
const PATCH_TYPES = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  "application/apply-patch+yaml",
];

export async function readBody(
  request: IncomingMessage,
  limitBytes = BODY_LIMIT_BYTES,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > DISCARD_LIMIT_BYTES) break;
    if (size <= limitBytes) chunks.push(chunk);
    else chunks.length = 0;
  }
  if (size > limitBytes) {
    throw new ApiError({
      status: 413,
      reason: "RequestEntityTooLarge",
      message: `Request entity too large: limit is ${limitBytes}`,
      details: {},
    });
  }
  return Buffer.concat(chunks);
}

/** Undefined for a DELETE without options. */
export function decodeBody(
  bytes: Buffer,
  request: Pick<ApiRequest, "method"> & { readonly contentType: string },
): Json | undefined {
  const accepted = request.method === "PATCH" ? PATCH_TYPES : OBJECT_TYPES;
  // Without a type it is JSON, except for patches, which mean nothing without one.
  const type = request.contentType || (request.method === "PATCH" ? "" : "application/json");
  if (bytes.length === 0 && request.method === "DELETE") return undefined;
  if (type === PROTOBUF && request.method !== "PATCH") {
    const object = readProtobuf(bytes);
    if (object !== undefined) return object;
  }
  if (!accepted.includes(type)) throw unsupportedMediaType(accepted);
  const text = bytes.toString("utf8");
  const body = type.endsWith("yaml") ? decodeYaml(text) : decodeJson(text);
  if (isDeeper(body, DEEPEST_NESTING)) {
    throw badRequest("the object provided is unrecognized: json parse error: exceeded max depth");
  }
  return body;
}

function isDeeper(value: Json, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((child: Json) => isDeeper(child, levels - 1));
}

/** "Application/JSON; charset=utf-8" is "application/json". */
export function mediaTypeOf(header: string | undefined): string {
  return (header ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

function readProtobuf(bytes: Buffer): Json | undefined {
  try {
    return decodeProtobuf(bytes);
  } catch (error) {
    throw badRequest(`the object provided is unrecognized: protobuf: ${messageOf(error)}`);
  }
}

function decodeJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw badRequest(
      `the object provided is unrecognized: json parse error: ${text === "" ? "unexpected end of JSON input" : messageOf(error)}`,
    );
  }
}

function decodeYaml(text: string): Json {
  // Clients send JSON as YAML, which it is; JSON.parse is a hundred times faster.
  if (text.startsWith("{")) {
    try {
      return JSON.parse(text) as Json;
    } catch {
      // A flow mapping that is YAML only.
    }
  }
  try {
    return (parse(text, { schema: "core", merge: true, logLevel: "error" }) ?? null) as Json;
  } catch (error) {
    throw badRequest(`the object provided is unrecognized: yaml: ${messageOf(error)}`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
