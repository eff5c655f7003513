// Edge, one request: bytes and headers in, a call of the cluster, and its answer in the form that was asked for out.
// Never throws: whatever fails becomes a `Status` or a cut connection.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../ports/clock.ts";
import { chooseDiscoveryForm, chooseRepresentation, type Representation } from "./accept.ts";
import { decodeBody, mediaTypeOf, readBody } from "./body.ts";
import type { Credential } from "./credential.ts";
import { listDiscoveryPaths, renderDiscovery } from "./discovery.ts";
import { Disconnected } from "../fault.ts";
import { isJsonArray, isJsonObject } from "../json.ts";
import { encodeEmptyV2, renderOpenApi } from "./openapi.ts";
import { type Reply, sendBytes, sendReply, sendText, wantsPretty } from "./reply.ts";
import { isTrue, parseTarget } from "../request.ts";
import { ApiError, answerError, badRequest, methodNotAllowed } from "../status.ts";
import { streamWatch, type WatchStream } from "./stream.ts";
import { createPrinter, parseIncludeObject, renderPartial } from "../print/table.ts";
import type { ApiAnswer, ApiRequest, JsonObject, ServedType, WireEvent } from "../types.ts";

/** What the edge needs of a cluster. */
export interface ServedCluster {
  readonly name: string;
  request(request: ApiRequest): Promise<ApiAnswer>;
  types(): readonly ServedType[];
}

export interface ExchangeContext {
  readonly cluster: ServedCluster;
  readonly clock: Clock;
  readonly authenticate: (request: IncomingMessage) => Credential;
  /** "127.0.0.1:6443". */
  readonly address: string;
  readonly watchBufferBytes: number;
  /** Watches that are open, for whoever stops the server. */
  readonly streams: Set<WatchStream>;
}

/** A copy of what kube-apiserver 1.36 says of itself, marked as ours. */
const VERSION: JsonObject = {
  major: "1",
  minor: "36",
  gitVersion: "v1.36.3+embedded",
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "none",
  compiler: "none",
  platform: "isthmus/embedded",
};

const OPENAPI_V2_ACCEPT = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
// "@" is not allowed in a media type, and Go's clients refuse an answer that has it.
const OPENAPI_V2_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
const SUBRESOURCES: ReadonlySet<string> = new Set(["status", "finalize"]);
const HEALTH_PATH = /^\/(livez|readyz|healthz)(\/ping)?$/;

export async function handleExchange(
  context: ExchangeContext,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    await route(context, request, response);
  } catch (error) {
    await sendFailure(request, response, error);
  }
}

async function sendFailure(
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
): Promise<void> {
  if (error instanceof Disconnected || response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const failure = error instanceof ApiError ? error : internalError(error);
  const answer = answerError(failure);
  // A body that was not read to its end would be taken for the next request.
  if (!request.complete) response.setHeader("Connection", "close");
  await sendReply(request, response, { ...answer, pretty: true });
}

function internalError(error: unknown): ApiError {
  const reason = error instanceof Error ? error.message : String(error);
  return new ApiError({
    status: 500,
    reason: "InternalError",
    message: `Internal error occurred: ${reason}`,
    details: { causes: [{ message: reason }] },
  });
}

async function route(
  context: ExchangeContext,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // A base is needed to parse; nothing reads it.
  const url = URL.canParse(request.url ?? "/", "http://cluster")
    ? new URL(request.url ?? "/", "http://cluster")
    : undefined;
  if (url === undefined) throw badRequest("the request's address cannot be parsed");
  const { pathname: path, searchParams: query } = url;
  const open = HEALTH_PATH.test(path) || path === "/version";
  const credential = context.authenticate(request);
  if (credential === "wrong" || (credential === "none" && !open)) throw unauthorized();
  const pretty = wantsPretty(request, query);

  if (HEALTH_PATH.test(path)) {
    sendText(response, 200, "ok");
    return;
  }
  if (path === "/openapi/v2" && request.headers.accept?.includes(OPENAPI_V2_ACCEPT) === true) {
    sendBytes(response, OPENAPI_V2_TYPE, encodeEmptyV2());
    return;
  }
  const document = renderDocument(context, request, path);
  if (document !== undefined) {
    if (request.method !== "GET" && request.method !== "HEAD") throw methodNotAllowed();
    await sendReply(request, response, { status: 200, pretty, ...document });
    return;
  }
  if (!/^\/apis?\//.test(path)) {
    sendText(response, 404, "404 page not found\n");
    return;
  }
  await answerApi(context, request, response, { path, query, pretty });
}

/** Everything that is not an object: the index, the version, discovery, schemas. */
function renderDocument(
  { cluster, address }: ExchangeContext,
  request: IncomingMessage,
  path: string,
): Pick<Reply, "body" | "contentType"> | undefined {
  if (path === "/version") return { body: VERSION };
  if (path === "/") return { body: { paths: listPaths(cluster.types()) } };
  if (path.startsWith("/openapi/v3")) {
    const body = renderOpenApi(cluster.types(), path);
    return body && { body, contentType: "application/json" };
  }
  const form = chooseDiscoveryForm(request.headers.accept);
  const body = renderDiscovery(cluster.types(), path, { form: form ?? "unaggregated", address });
  if (body === undefined) return undefined;
  if (form === undefined) throw notAcceptable();
  return body["kind"] === "APIGroupDiscoveryList"
    ? {
        body,
        contentType: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
      }
    : { body };
}

function listPaths(types: readonly ServedType[]): readonly string[] {
  return [
    "/apis",
    ...listDiscoveryPaths(types),
    "/healthz",
    "/livez",
    "/openapi/v3",
    "/readyz",
    "/version",
  ];
}

async function answerApi(
  context: ExchangeContext,
  request: IncomingMessage,
  response: ServerResponse,
  asked: { readonly path: string; readonly query: URLSearchParams; readonly pretty: boolean },
): Promise<void> {
  const { path, query, pretty } = asked;
  const method = parseMethod(request.method);
  const watch = method === "GET" && isTrue(query.get("watch"));
  const representation = chooseRepresentation(request.headers.accept, { watch });
  if (representation === undefined) throw notAcceptable();
  const encoder = createEncoder(context.clock, representation, query);

  const contentType = mediaTypeOf(request.headers["content-type"]);
  const userAgent = request.headers["user-agent"];
  const bytes = await readBody(request);
  // What nobody serves is 404 whatever is sent to it: kubectl sends protobuf to kinds that we do not have.
  const body =
    method === "GET" || !isServed(context.cluster, { method, path, query })
      ? undefined
      : decodeBody(bytes, { method, contentType });
  const answer = await context.cluster.request({
    method,
    path,
    query,
    // The cluster knows patch types; how an object was written down ends here.
    ...(contentType === ""
      ? {}
      : { contentType: method === "PATCH" ? contentType : "application/json" }),
    ...(userAgent === undefined ? {} : { userAgent }),
    ...(body === undefined ? {} : { body }),
  });
  if (response.destroyed) return;

  if (answer.kind === "watch") {
    const print = encoder(answer.served);
    let first = true;
    const encode = (event: WireEvent): JsonObject => {
      if (event.type === "ERROR") return event.object;
      const object = print(event.object, first);
      first = false;
      return object;
    };
    const stream = streamWatch(response, answer, {
      encode,
      bufferLimitBytes: context.watchBufferBytes,
    });
    context.streams.add(stream);
    response.on("close", () => context.streams.delete(stream));
    return;
  }
  const { served, body: object } = answer;
  const isPrintable = served !== undefined && object["kind"] !== "Status";
  await sendReply(request, response, {
    status: answer.status,
    body: isPrintable ? encoder(served)(object, true) : object,
    format: representation.format,
    pretty,
    warnings: answer.warnings,
    retryAfterSeconds: answer.retryAfterSeconds,
  });
}

function isServed(
  cluster: ServedCluster,
  request: Pick<ApiRequest, "method" | "path" | "query">,
): boolean {
  const target = parseTarget(request);
  if (target === undefined) return false;
  const { group, version, plural, subresource = "status" } = target;
  return (
    SUBRESOURCES.has(subresource) &&
    cluster
      .types()
      .some(({ resource: r }) => r.group === group && r.version === version && r.plural === plural)
  );
}

type Encoder = (served: ServedType) => (body: JsonObject, first: boolean) => JsonObject;

function createEncoder(clock: Clock, { as }: Representation, query: URLSearchParams): Encoder {
  if (as === "object") return ({ builtin }) => (builtin ? bareItems : (body) => body);
  if (as === "partial") return () => renderPartial;
  const includeObject = parseIncludeObject(query.get("includeObject"));
  return (served) => {
    const print = createPrinter(served, includeObject);
    return (body, definitions) => print(body, { nowMs: clock.now(), definitions });
  };
}

/** Lists of built-in kinds say the kind once, not on every item. */
function bareItems(body: JsonObject): JsonObject {
  const { items } = body;
  if (!isJsonArray(items)) return body;
  return {
    ...body,
    items: items.map((item) => {
      if (!isJsonObject(item)) return item;
      const { kind: _kind, apiVersion: _version, ...bare } = item;
      return bare;
    }),
  };
}

function parseMethod(method: string | undefined): ApiRequest["method"] {
  const known = METHODS.find((candidate) => candidate === method);
  if (known === undefined) throw methodNotAllowed();
  return known;
}

function unauthorized(): ApiError {
  return new ApiError({ status: 401, reason: "Unauthorized", message: "Unauthorized" });
}

function notAcceptable(): ApiError {
  return new ApiError({
    status: 406,
    reason: "NotAcceptable",
    message: "only the following media types are accepted: application/json, application/yaml",
  });
}
