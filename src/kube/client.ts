// Adapter: the store port over HTTP, for one real API server. Translates verbs to requests and answers to objects;
// never caches, never retries, never decides.

import type { KubeObject, Resource } from "../api/object.ts";
import { Problem } from "../api/problem.ts";
import { VERSION } from "../api/version.ts";
import type { Clock } from "../ports/clock.ts";
import {
  isAbsentObject,
  type Store,
  StoreError,
  type WatchEvent,
  type WatchOptions,
  type WriteOptions,
} from "../ports/store.ts";
import { type RawAnswer, receiveBody } from "./body.ts";
import type { ClusterConfig } from "./connection.ts";
import { decodeList, requireObject } from "./decode.ts";
import type { Head, Receiver } from "./exchange.ts";
import { buildPath, type Query } from "./path.ts";
import { toRefusedError } from "./status.ts";
import { createTransport, type Method, type WireRequest } from "./transport.ts";
import { createEventDecoder, createLineSplitter } from "./watch.ts";

interface RawOptions {
  readonly query?: Query;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string is sent as it is, anything else as JSON. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

export interface KubeClient extends Store {
  readonly config: ClusterConfig;
  /** For discovery and tests: any path; no status is an error. */
  request(method: Method, path: string, options?: RawOptions): Promise<RawAnswer>;
  /** Cuts what is under way and releases the connections. */
  close(): Promise<void>;
}

export interface ClientOptions {
  readonly clock: Clock;
  readonly userAgent?: string;
  /** Ask for gzip: worth it over slow links only. The kubeconfig can forbid it. */
  readonly compression?: boolean;
  /** May an exec plugin talk to the user on our terminal? */
  readonly interactive?: boolean;
  /** Silence after which an ordinary request is given up. */
  readonly requestSilenceMs?: number;
  /** Silence after which a watch counts as half-open. API servers send a bookmark about every minute. */
  readonly watchSilenceMs?: number;
  /** Of one answer. */
  readonly maxBodyBytes?: number;
  /** Of one watch event. etcd holds nothing above 1.5 MiB by default; JSON is larger than that. */
  readonly maxEventBytes?: number;
  /**
   * The fence of an elected leader: asked for every request that is not a read, dry runs too, at the moment it is put
   * on the socket; false refuses it with "Unavailable". The election itself needs a client without: one that may not
   * write could never take the Lease again.
   */
  readonly mayWrite?: () => boolean;
}

const REQUEST_SILENCE_MS = 60_000;
const WATCH_SILENCE_MS = 180_000;
const MAX_BODY_BYTES = 256 * 1024 * 1024;
const MAX_EVENT_BYTES = 16 * 1024 * 1024;
const JSON_TYPE = { "content-type": "application/json" };
/** JSON is YAML. */
const APPLY_TYPE = { "content-type": "application/apply-patch+yaml" };

export function createClient(config: ClusterConfig, options: ClientOptions): KubeClient {
  const { clock } = options;
  const transport = createTransport(config, {
    clock,
    userAgent: options.userAgent ?? `isthmus/${VERSION}`,
    interactive: options.interactive,
    mayWrite: options.mayWrite,
  });
  const requestSilenceMs = options.requestSilenceMs ?? REQUEST_SILENCE_MS;
  const watchSilenceMs = options.watchSilenceMs ?? WATCH_SILENCE_MS;
  const maxBodyBytes = options.maxBodyBytes ?? MAX_BODY_BYTES;
  const maxEventBytes = options.maxEventBytes ?? MAX_EVENT_BYTES;
  const encoding =
    options.compression === true && !config.disableCompression
      ? { "accept-encoding": "gzip" }
      : { "accept-encoding": "identity" };

  type Ask = Omit<WireRequest, "silenceMs">;

  function sendRaw(ask: Ask): Promise<RawAnswer> {
    const headers = { ...encoding, ...ask.headers };
    return transport.send({ ...ask, headers, silenceMs: requestSilenceMs }, (head) =>
      receiveBody(head, maxBodyBytes),
    );
  }

  /** The JSON object of a success; anything else is a StoreError. */
  async function send(ask: Ask): Promise<unknown> {
    const answer = await sendRaw(ask);
    requireSuccess(answer, ask, clock);
    return answer.body;
  }

  async function write<T extends KubeObject>(
    resource: Resource<T>,
    ask: Ask,
    writing: WriteOptions | undefined,
  ): Promise<T> {
    const query = {
      ...ask.query,
      dryRun: writing?.dryRun === true ? "All" : undefined,
      fieldManager: writing?.fieldManager,
    };
    const object = await send({ ...ask, query, signal: writing?.signal });
    return requireObject(resource, object, `${ask.method} ${ask.path}`);
  }

  return {
    config,

    async get(resource, ref, getting) {
      const path = buildPath(resource, ref);
      try {
        const object = await send({ method: "GET", path, signal: getting?.signal });
        return requireObject(resource, object, `GET ${path}`);
      } catch (error) {
        if (isAbsentObject(error)) return undefined;
        throw error;
      }
    },

    async list(resource, listing = {}) {
      const { namespace, signal, keepsManagedFields = false, ...query } = listing;
      const path = buildPath(resource, { namespace });
      const body = await send({ method: "GET", path, query, signal });
      return decodeList(resource, body, { attempted: `GET ${path}`, keepsManagedFields });
    },

    watch: (resource, watching, onEvent) => watch(resource, watching, onEvent),

    async create(resource, object, writing) {
      const { namespace } = object.metadata;
      const path = buildPath(resource, { namespace });
      requireNamespace(resource, object);
      const body = JSON.stringify(object);
      return write(resource, { method: "POST", path, headers: JSON_TYPE, body }, writing);
    },

    async replace(resource, object, writing) {
      const path = pathOf(resource, object, writing);
      const body = JSON.stringify(object);
      return write(resource, { method: "PUT", path, headers: JSON_TYPE, body }, writing);
    },

    async apply(resource, object, applying) {
      const path = pathOf(resource, object, applying);
      const query = { force: applying.force === true ? true : undefined };
      const body = JSON.stringify(object);
      return write(resource, { method: "PATCH", path, query, headers: APPLY_TYPE, body }, applying);
    },

    async delete(resource, ref, deleting = {}) {
      const { uid, resourceVersion, propagationPolicy, signal } = deleting;
      const path = buildPath(resource, ref);
      const preconditions =
        uid === undefined && resourceVersion === undefined ? undefined : { uid, resourceVersion };
      const body = JSON.stringify({
        apiVersion: "v1",
        kind: "DeleteOptions",
        preconditions,
        propagationPolicy,
      });
      try {
        await send({ method: "DELETE", path, headers: JSON_TYPE, body, signal });
        return true;
      } catch (error) {
        if (isAbsentObject(error)) return false;
        throw error;
      }
    },

    request(method, path, asking = {}) {
      const { query, headers, body, signal } = asking;
      const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
      const type = text === undefined ? {} : JSON_TYPE;
      return sendRaw({ method, path, query, headers: { ...type, ...headers }, body: text, signal });
    },

    close: () => transport.close(),
  };

  async function watch<T extends KubeObject>(
    resource: Resource<T>,
    watching: WatchOptions,
    onEvent: (event: WatchEvent<T>) => void,
  ): Promise<void> {
    const { namespace, signal, onOpen, ...query } = watching;
    const path = buildPath(resource, { namespace });
    const ask: WireRequest = {
      method: "GET",
      path,
      query: { ...query, watch: true, allowWatchBookmarks: true },
      headers: { "accept-encoding": "identity" },
      signal,
      silenceMs: watchSilenceMs,
    };
    const decode = createEventDecoder(resource, `watch ${path}`);
    // Told apart from our own abort: what the caller's callback throws is the caller's to see.
    let thrown: { readonly error: unknown } | undefined;
    const callBack = (call: () => void): void => {
      try {
        call();
      } catch (error) {
        thrown = { error };
        throw error;
      }
    };
    try {
      await transport.send<void>(ask, (head) => {
        if (head.status !== 200) return receiveRefusal(head, ask);
        if (onOpen !== undefined) callBack(onOpen);
        const lines = createLineSplitter(maxEventBytes, (line) => {
          signal?.throwIfAborted();
          const event = decode(line);
          callBack(() => onEvent(event));
        });
        return {
          take: (chunk) => lines.push(chunk),
          end() {
            if (lines.pendingBytes() === 0) return;
            throw new StoreError("Unreachable", `the watch was cut inside an event (GET ${path})`);
          },
        };
      });
    } catch (error) {
      if (thrown !== undefined) throw thrown.error;
      if (signal?.aborted !== true) throw error;
    }
  }

  function receiveRefusal(head: Head, ask: WireRequest): Receiver<void> {
    const body = receiveBody(head, maxBodyBytes);
    return {
      take: (chunk) => body.take(chunk),
      end: async () => requireSuccess(await body.end(), ask, clock),
    };
  }
}

function requireSuccess(
  answer: RawAnswer,
  ask: { readonly method: Method; readonly path: string },
  clock: Clock,
): void {
  const attempted = `${ask.method} ${ask.path}`;
  if (answer.status < 200 || answer.status >= 300) {
    throw toRefusedError({ ...answer, attempted, nowMs: clock.now() });
  }
  if (typeof answer.body === "string") {
    const cause = new Problem("ServerNotKubernetes", `did not answer ${attempted} in JSON`);
    throw new StoreError("Internal", `the answer is not JSON (${attempted})`, {
      status: answer.status,
      cause,
    });
  }
}

function pathOf(resource: Resource, object: KubeObject, writing: WriteOptions | undefined): string {
  const { namespace, name } = object.metadata;
  if (name === undefined) throw new StoreError("BadRequest", `the ${resource.kind} has no name`);
  return buildPath(resource, { namespace, name, subresource: writing?.subresource });
}

function requireNamespace(resource: Resource, object: KubeObject): void {
  if (resource.namespaced && object.metadata.namespace === undefined) {
    throw new StoreError("BadRequest", `the ${resource.kind} has no namespace`);
  }
}
