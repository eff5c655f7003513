// Client: one request to one API server, as the configured identity → what its receiver makes of the answer.
// Renews credentials once after a 401; beyond that it never retries: controllers decide.

import type { Clock } from "../ports/clock.ts";
import { createAgentHolder } from "./agent.ts";
import type { ClusterConfig, Impersonation } from "./connection.ts";
import { exchange, type Head, type Receiver } from "./exchange.ts";
import { toTransportError } from "./failure.ts";
import { buildQuery, type Query } from "./path.ts";
import { createCredentialSource } from "./source.ts";

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

export interface Transport {
  /** Rejects with the signal's reason when it aborts, with what the receiver throws, else with a StoreError. */
  send<T>(request: WireRequest, open: (head: Head) => Receiver<T>): Promise<T>;
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

  return {
    async send(request, open) {
      const { method, signal, silenceMs } = request;
      signal?.throwIfAborted();
      const attempted = `${method} ${request.path}`;
      const toError = (error: unknown): unknown =>
        toTransportError(error, attempted, config.server);
      const unlessFailed = <T>(promise: Promise<T>): Promise<T> =>
        unlessAborted(promise, signal).catch((error: unknown) => {
          throw signal?.aborted === true ? signal.reason : toError(error);
        });
      const path = base + request.path + buildQuery(request.query ?? {});
      for (let attempt = 1; ; attempt++) {
        // What is at hand is not waited for: what else is to be done would come before the request is on its way.
        const current = source.current();
        const credential = current instanceof Promise ? await unlessFailed(current) : current;
        const preparing = agents.prepare(credential);
        if (preparing !== undefined) await unlessFailed(preparing);
        const { authorization } = credential;
        const { status, end } = await exchange(agents.take(), {
          request: {
            origin,
            method,
            path,
            headers: {
              ...fixedHeaders,
              ...(authorization === undefined ? {} : { authorization }),
              ...request.headers,
            },
            body: request.body ?? null,
          },
          attempted,
          open,
          clock,
          silenceMs,
          signal,
          mayWrite: method === "GET" ? undefined : mayWrite,
          toError,
        });
        const isRenewable = status === 401 && attempt === 1;
        if (isRenewable && (await unlessFailed(source.refresh(credential)))) continue;
        return end();
      }
    },
    close: () => agents.close(),
  };
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
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
