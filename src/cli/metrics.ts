// CLI: a registry and two questions in; /metrics for Prometheus, /healthz and /readyz for a kubelet out. Everything is read when
// somebody asks.
//
//   /healthz  the loops of the process move: if not, starting it anew may help
//   /readyz   what there is has been read once, or the process stands by: its results are whole

import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import type { Registry } from "prom-client";
import { Problem } from "../api/problem.ts";
import { listenAt } from "../dashboard/listen.ts";
import { createRegistry, type ProcessState } from "./registry.ts";

export interface Listener {
  /** As it is bound: "127.0.0.1:9402". */
  readonly address: string;
  close(): Promise<void>;
}

/** Sentences; undefined when there is nothing to say. */
export interface Health {
  /** Why the process should be started anew. Absent: never. */
  readonly explainStuck?: () => string | undefined;
  /** Why the process cannot be of use yet. */
  readonly explainUnready: () => string | undefined;
}

export function serveState(text: string, state: ProcessState): Promise<Listener> {
  return serveRegistry(text, createRegistry(state), {
    explainStuck: () => state.measured?.explainStuck(),
    explainUnready: () => state.unready ?? state.measured?.explainUnread(),
  });
}

export async function serveRegistry(
  text: string,
  registry: Registry,
  health: Health,
): Promise<Listener> {
  const { host, port } = parseAddress(text);
  const server = createServer(
    { headersTimeout: 5_000, requestTimeout: 5_000, keepAliveTimeout: 5_000 },
    answer(registry, health),
  );
  server.maxConnections = 32;
  await listenAt(server, { host, port }, "Give another --metrics-address.");
  const bound = server.address() as AddressInfo;
  const name = bound.family === "IPv6" ? `[${bound.address}]` : bound.address;
  return {
    address: `${name}:${bound.port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Page {
  readonly status: number;
  readonly body: string;
  readonly type?: string;
}

function tell(problem: string | undefined): Page {
  return problem === undefined
    ? { status: 200, body: "ok\n" }
    : { status: 503, body: `${problem}\n` };
}

function answer(registry: Registry, health: Health): RequestListener {
  async function render(method: string | undefined, path: string): Promise<Page> {
    if (method !== "GET" && method !== "HEAD") {
      return { status: 405, body: "Only GET and HEAD are answered.\n" };
    }
    switch (path) {
      case "/metrics":
        return { status: 200, body: await registry.metrics(), type: registry.contentType };
      case "/healthz":
        return tell(health.explainStuck?.());
      case "/readyz":
        return tell(health.explainUnready());
      default:
        return { status: 404, body: "There are /metrics, /healthz and /readyz.\n" };
    }
  }
  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = ""] = (request.url ?? "").split("?");
    const {
      status,
      body,
      type = "text/plain",
    } = await render(request.method, path).catch(
      (error: unknown): Page => ({ status: 500, body: `${String(error)}\n` }),
    );
    response.writeHead(status, { "content-type": type });
    response.end(request.method === "HEAD" ? undefined : body);
  }
  return (request, response) => void respond(request, response);
}

/** "127.0.0.1:9402", "[::1]:9402", ":9402" for every address. */
export function parseAddress(text: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) {
    throw new Problem("ArgumentInvalid", `"${text}" is no address to listen on`, {
      hint: "Give an address and a port, such as 127.0.0.1:9402, [::1]:9402 or :9402.",
    });
  }
  return { host: match[1] ?? match[2] ?? "", port };
}
