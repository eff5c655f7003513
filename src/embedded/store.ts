// Adapter: the store port on an embedded cluster, without sockets or text. Objects that come out are frozen and shared;
// objects that go in are copied. Refusals become the same StoreErrors as over HTTP.

import type { KubeObject, Resource } from "../api/object.ts";
import { buildPath, type PathTarget } from "../kube/path.ts";
import { toRefusedError, toWatchError } from "../kube/status.ts";
import {
  isAbsentObject,
  type Store,
  StoreError,
  type WatchEvent,
  type WriteOptions,
} from "../ports/store.ts";
import { Disconnected } from "./fault.ts";
import { isJsonArray } from "./json.ts";
import { asJson, copyJson } from "./metadata.ts";
import type { ApiAnswer, ApiRequest, Json, JsonObject, WatchAnswer, WireEvent } from "./types.ts";

/** What the adapter needs of a cluster. */
export interface Requestable {
  request(request: ApiRequest): Promise<ApiAnswer>;
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

interface Ask {
  readonly method: ApiRequest["method"];
  readonly path: string;
  readonly query?: Query;
  readonly contentType?: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

export function createStore(
  cluster: Requestable,
  identity: { readonly userAgent?: string },
): Store {
  async function ask(question: Ask): Promise<ApiAnswer> {
    const { method, path, signal } = question;
    signal?.throwIfAborted();
    const request: ApiRequest = {
      method,
      path,
      query: toParameters(question.query ?? {}),
      ...(identity.userAgent === undefined ? {} : { userAgent: identity.userAgent }),
      ...(question.contentType === undefined ? {} : { contentType: question.contentType }),
      ...(question.body === undefined ? {} : { body: copyJson(question.body) as Json }),
    };
    try {
      return await orAbort(cluster.request(request), signal);
    } catch (error) {
      if (!(error instanceof Disconnected)) throw error;
      throw new StoreError("Unreachable", `${error.message} (${method} ${path})`, { cause: error });
    }
  }

  /** The object of a success. */
  async function send(question: Ask): Promise<JsonObject> {
    const answer = await ask(question);
    const attempted = `${question.method} ${question.path}`;
    if (answer.kind === "watch") throw new StoreError("Internal", `a watch answered ${attempted}`);
    const { status, body } = answer;
    if (status >= 200 && status < 300) return body;
    throw toRefusedError({ status, headers: {}, body, attempted, nowMs: 0 });
  }

  async function write<T extends KubeObject>(
    question: Ask,
    writing: WriteOptions | undefined,
  ): Promise<T> {
    const query = {
      ...question.query,
      dryRun: writing?.dryRun === true ? "All" : undefined,
      fieldManager: writing?.fieldManager,
    };
    return asObject(await send({ ...question, query, signal: writing?.signal }));
  }

  return {
    async get(resource, ref, getting) {
      const path = buildPath(resource, ref);
      return absentAs(undefined, async () =>
        asObject(await send({ method: "GET", path, signal: getting?.signal })),
      );
    },

    async list(resource, listing = {}) {
      const { namespace, signal, ...query } = listing;
      const path = buildPath(resource, { namespace });
      const { items, metadata } = await send({ method: "GET", path, query, signal });
      const { resourceVersion, continue: token } = (metadata ?? {}) as JsonObject;
      return {
        items: (isJsonArray(items) ? items : []) as never,
        resourceVersion: typeof resourceVersion === "string" ? resourceVersion : "",
        ...(typeof token === "string" && token !== "" ? { continue: token } : {}),
      };
    },

    async watch(resource, watching, onEvent) {
      const { namespace, signal, onOpen, ...rest } = watching;
      const path = buildPath(resource, { namespace });
      const query = { ...rest, watch: true, allowWatchBookmarks: true };
      try {
        const answer = await ask({ method: "GET", path, query, signal });
        if (answer.kind === "object") {
          const { status, body } = answer;
          throw toRefusedError({ status, headers: {}, body, attempted: `watch ${path}`, nowMs: 0 });
        }
        onOpen?.();
        await follow(answer, `watch ${path}`, signal, onEvent);
      } catch (error) {
        if (signal?.aborted !== true || error !== signal.reason) throw error;
      }
    },

    async create(resource, object, writing) {
      const { namespace } = object.metadata;
      if (resource.namespaced && namespace === undefined) {
        throw new StoreError("BadRequest", `the ${resource.kind} has no namespace`);
      }
      const path = buildPath(resource, { namespace });
      return write({ method: "POST", path, body: object }, writing);
    },

    async replace(resource, object, writing) {
      const path = pathOf(resource, object, writing);
      return write({ method: "PUT", path, body: object }, writing);
    },

    async apply(resource, object, applying) {
      const path = pathOf(resource, object, applying);
      const query = { force: applying.force === true ? true : undefined };
      const contentType = "application/apply-patch+yaml";
      return write({ method: "PATCH", path, query, contentType, body: object }, applying);
    },

    async delete(resource, ref, deleting = {}) {
      const { uid, resourceVersion, propagationPolicy, signal } = deleting;
      const path = buildPath(resource, ref);
      const body = { preconditions: { uid, resourceVersion }, propagationPolicy };
      return absentAs(false, async () => {
        await send({ method: "DELETE", path, body, signal });
        return true;
      });
    },
  };
}

/** Until the server ends it or the caller has enough. */
function follow<T extends KubeObject>(
  answer: WatchAnswer,
  attempted: string,
  signal: AbortSignal | undefined,
  onEvent: (event: WatchEvent<T>) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let over = false;
    let stream: { stop(): void } | undefined;
    const finish = (settle: () => void): void => {
      if (over) return;
      over = true;
      signal?.removeEventListener("abort", onAbort);
      stream?.stop();
      settle();
    };
    const onAbort = (): void => finish(resolve);
    if (signal?.aborted === true) {
      finish(resolve);
      return;
    }
    signal?.addEventListener("abort", onAbort, { once: true });
    stream = answer.start(
      (event) => {
        if (over) return;
        try {
          onEvent(decodeEvent(event, attempted));
        } catch (error) {
          finish(() => reject(error));
        }
      },
      ({ clean }) => {
        const cut = new StoreError("Unreachable", `the watch was cut (${attempted})`);
        finish(clean ? resolve : () => reject(cut));
      },
    );
    if (over) stream.stop();
  });
}

function decodeEvent<T extends KubeObject>(event: WireEvent, attempted: string): WatchEvent<T> {
  const { type, object } = event;
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return { type, object: asObject<T>(object) };
    case "BOOKMARK":
      return { type, resourceVersion: asObject(object).metadata.resourceVersion ?? "" };
    case "ERROR":
      break;
  }
  throw toWatchError(object, attempted);
}

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- what a resource decodes to is known to the caller only
function asObject<T extends KubeObject>(body: JsonObject): T {
  return asJson(body) as unknown as T;
}

/** An object that is not there is no error to a reader; a kind that is not there is. */
async function absentAs<T, A>(absent: A, work: () => Promise<T>): Promise<T | A> {
  try {
    return await work();
  } catch (error) {
    if (isAbsentObject(error)) return absent;
    throw error;
  }
}

function pathOf(resource: Resource, object: KubeObject, writing: WriteOptions | undefined): string {
  const { namespace, name } = object.metadata;
  if (name === undefined) throw new StoreError("BadRequest", `the ${resource.kind} has no name`);
  const target: PathTarget = { namespace, name, subresource: writing?.subresource };
  return buildPath(resource, target);
}

function toParameters(query: Query): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined) parameters.append(key, String(value));
  }
  return parameters;
}

function orAbort<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
