// Client: one request to one API server, as the configured identity → status, headers, a body to read.
// Renews credentials once after a 401; beyond that it never retries: controllers decide.

import type { Readable } from "node:stream";
import type { Clock } from "../ports/clock.ts";
import { StoreError } from "../ports/store.ts";
import { createAgentHolder } from "./agent.ts";
import type { ClusterConfig, Impersonation } from "./connection.ts";
import { toTransportError } from "./failure.ts";
import { fenceDispatcher } from "./fence.ts";
import { buildQuery, type Query } from "./path.ts";
import { createCredentialSource } from "./source.ts";
import type { Headers } from "./status.ts";
import { createWatchdog, type Watchdog } from "./watchdog.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface WireRequest {
  readonly method: Method;
  readonly path: string;
  readonly query?: Query | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** How long the server may say nothing, before and while it answers. */
  readonly silenceMs: number;
}

export interface WireAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Resolves at the end of the body; rejects with what `onChunk` throws, which ends the reading. */
  read(onChunk: (chunk: Buffer) => void): Promise<void>;
}

export interface Transport {
  /** Rejects with the signal's reason when it aborts, with what `consume` throws, else with a StoreError. */
  send<T>(request: WireRequest, consume: (answer: WireAnswer) => Promise<T>): Promise<T>;
  /** Cuts what is under way. */
  close(): Promise<void>;
}

export interface TransportOptions {
  readonly clock: Clock;
  readonly userAgent: string;
  /** May an exec plugin talk to the user on our terminal? */
  readonly interactive?: boolean | undefined;
  /** Asked for every request other than GET when it is about to be put on the socket. Absent: always. */
  readonly mayWrite?: (() => boolean) | undefined;
}

export function createTransport(config: ClusterConfig, options: TransportOptions): Transport {
  const { clock, mayWrite } = options;
  const source = createCredentialSource(config, options);
  const agents = createAgentHolder(config, clock);
  const { origin, pathname } = new URL(config.server);
  const base = pathname === "/" ? "" : pathname;
  const fixedHeaders = {
    accept: "application/json",
    "user-agent": options.userAgent,
    ...renderImpersonation(config.impersonation),
  };

  async function dispatch(
    request: WireRequest,
    authorization: string | undefined,
    signal: AbortSignal,
  ): Promise<{ status: number; headers: Headers; body: Readable }> {
    const agent = agents.take();
    const isFenced = mayWrite !== undefined && request.method !== "GET";
    const dispatcher = isFenced ? fenceDispatcher(agent, mayWrite) : agent;
    const { statusCode, headers, body } = await dispatcher.request({
      origin,
      method: request.method,
      path: base + request.path + buildQuery(request.query ?? {}),
      headers: {
        ...fixedHeaders,
        ...(authorization === undefined ? {} : { authorization }),
        ...request.headers,
      },
      body: request.body ?? null,
      signal,
    });
    return { status: statusCode, headers, body };
  }

  async function exchange<T>(
    request: WireRequest,
    cancel: AbortController,
    consume: (answer: WireAnswer) => Promise<T>,
  ): Promise<T> {
    const { signal } = cancel;
    const attempted = `${request.method} ${request.path}`;
    const toError = (error: unknown): unknown =>
      signal.aborted ? signal.reason : toTransportError(error, attempted, config.server);
    for (let attempt = 1; ; attempt++) {
      let watchdog: Watchdog | undefined;
      let body: Readable | undefined;
      try {
        const credential = await unlessAborted(source.current(), signal).catch(rethrow(toError));
        await unlessAborted(agents.prepare(credential), signal).catch(rethrow(toError));
        // Only now: an exec plugin may take its time, and has a limit of its own.
        watchdog = createWatchdog(clock, request.silenceMs, () => {
          const seconds = request.silenceMs / 1000;
          const message = `${origin} sent nothing for ${seconds} s (${attempted})`;
          cancel.abort(new StoreError("Timeout", message));
        });
        const answer = await dispatch(request, credential.authorization, signal).catch(
          rethrow(toError),
        );
        const { feed } = watchdog;
        const stream = answer.body;
        body = stream;
        feed();
        if (answer.status === 401 && attempt === 1) {
          const renewal = unlessAborted(source.refresh(credential), signal);
          if (await renewal.catch(rethrow(toError))) continue;
        }
        const { status, headers } = answer;
        return await consume({
          status,
          headers,
          read: (onChunk) => readStream(stream, { feed, onChunk, toError }),
        });
      } finally {
        watchdog?.stop();
        // Without effect when it was read to its end; otherwise the connection is of no further use.
        body?.on("error", ignore).destroy();
      }
    }
  }

  return {
    async send(request, consume) {
      const { signal } = request;
      signal?.throwIfAborted();
      const cancel = new AbortController();
      const onAbort = (): void => cancel.abort(signal?.reason);
      signal?.addEventListener("abort", onAbort, { once: true });
      try {
        return await exchange(request, cancel, consume);
      } finally {
        signal?.removeEventListener("abort", onAbort);
      }
    },
    close: () => agents.close(),
  };
}

function readStream(
  stream: Readable,
  handlers: {
    readonly feed: () => void;
    readonly onChunk: (chunk: Buffer) => void;
    readonly toError: (error: unknown) => unknown;
  },
): Promise<void> {
  const { feed, onChunk, toError } = handlers;
  return new Promise((resolve, reject) => {
    let stopped = false;
    stream.on("data", (chunk: Buffer) => {
      if (stopped) return;
      feed();
      try {
        onChunk(chunk);
      } catch (error) {
        stopped = true;
        reject(error);
      }
    });
    stream.on("end", resolve);
    stream.on("error", (error) => reject(toError(error)));
    // A stream that closes without an end and without an error was cut all the same.
    stream.on("close", () => {
      if (stream.readableEnded) return;
      reject(toError(new StoreError("Unreachable", "the answer was cut")));
    });
  });
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

function rethrow(toError: (error: unknown) => unknown): (error: unknown) => never {
  return (error) => {
    throw toError(error);
  };
}

function renderImpersonation(
  impersonation: Impersonation | undefined,
): Readonly<Record<string, string | string[]>> {
  if (impersonation === undefined) return {};
  const { user, uid, groups, extra } = impersonation;
  const headers: Record<string, string | string[]> = { "impersonate-user": user };
  if (uid !== undefined) headers["impersonate-uid"] = uid;
  if (groups.length > 0) headers["impersonate-group"] = [...groups];
  for (const [key, values] of Object.entries(extra)) {
    headers[`impersonate-extra-${encodeURIComponent(key.toLowerCase())}`] = [...values];
  }
  return headers;
}

function ignore(): void {}
