// CLI: what an agent is doing in; /metrics for Prometheus, /healthz and /readyz for a kubelet out. Everything is read when
// somebody asks: nothing is counted on the side, and nothing that a member says becomes the name of a series.

import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { Gauge, Registry } from "prom-client";
import { Problem } from "../api/problem.ts";
import { VERSION } from "../api/version.ts";
import { listenAt } from "../dashboard/listen.ts";
import type { HubMember } from "../ports/hub.ts";

/** The part of a running agent that can be measured. */
export interface Measured {
  members(): readonly HubMember[];
  /** "cluster reason" to count. */
  rejectionTotals(): ReadonlyMap<string, number>;
  counts(): { readonly exports: number; readonly imports: number };
  hubSilentMs(): number;
}

export interface AgentState {
  /** Undefined while this process does not lead. */
  measured: Measured | undefined;
  /** Why it cannot be of use yet; undefined when it is: at work, or standing by for who is. */
  unready: string | undefined;
}

/** A fleet has a few hundred members; more series than that are somebody's mistake. */
const MOST_SERIES = 2_000;

export function createRegistry(state: AgentState): Registry {
  const registry = new Registry();
  const registers = [registry];
  function define(name: string, help: string, read: () => number): void {
    // oxlint-disable-next-line no-new -- a gauge lives in its registry
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  }
  function defineSeries<L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    read: (measured: Measured) => readonly (readonly [Record<L, string>, number])[],
  ): void {
    // oxlint-disable-next-line no-new -- a gauge lives in its registry
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        const series = state.measured === undefined ? [] : read(state.measured);
        for (const [labels, value] of series.slice(0, MOST_SERIES)) this.set(labels, value);
      },
    });
  }

  const build = new Gauge({
    name: "isthmus_build_info",
    help: "The version that runs.",
    labelNames: ["version"],
    registers,
  });
  build.set({ version: VERSION }, 1);
  define("isthmus_leader", "1 while this process is the one that works.", () =>
    state.measured === undefined ? 0 : 1,
  );
  define("isthmus_exports", "ServiceExports of this cluster.", () => {
    return state.measured?.counts().exports ?? 0;
  });
  define("isthmus_imports", "Services that are imported into this cluster.", () => {
    return state.measured?.counts().imports ?? 0;
  });
  define("isthmus_hub_contact_seconds", "Since the hub last answered.", () => {
    return (state.measured?.hubSilentMs() ?? 0) / 1_000;
  });
  defineSeries(
    "isthmus_member_silent_seconds",
    "Since a member was last heard, on the clock of this process.",
    ["cluster"],
    (measured) =>
      measured.members().map(({ cluster, silentMs }) => [{ cluster }, silentMs / 1_000] as const),
  );
  defineSeries(
    "isthmus_member_drained",
    "1 for a member that asks the others to lead their traffic elsewhere.",
    ["cluster"],
    (measured) =>
      measured.members().map(({ cluster, isDrained }) => [{ cluster }, Number(isDrained)] as const),
  );
  defineSeries(
    "isthmus_rejected_endpoints",
    "What members share and this cluster does not take in.",
    ["cluster", "reason"],
    (measured) =>
      [...measured.rejectionTotals()].map(([key, count]) => {
        const [cluster = "", reason = ""] = key.split(" ");
        return [{ cluster, reason }, count] as const;
      }),
  );
  return registry;
}

export interface Listener {
  /** As it is bound: "127.0.0.1:9402". */
  readonly address: string;
  close(): Promise<void>;
}

export function serveState(text: string, state: AgentState): Promise<Listener> {
  return serveRegistry(text, createRegistry(state), () => state.unready);
}

/** `unready` says why the process cannot be of use yet; undefined when it is. */
export async function serveRegistry(
  text: string,
  registry: Registry,
  unready: () => string | undefined,
): Promise<Listener> {
  const { host, port } = parseAddress(text);
  const server = createServer(
    { headersTimeout: 5_000, requestTimeout: 5_000, keepAliveTimeout: 5_000 },
    answer(registry, unready),
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

function answer(registry: Registry, unready: () => string | undefined): RequestListener {
  async function render(method: string | undefined, path: string): Promise<Page> {
    if (method !== "GET" && method !== "HEAD") {
      return { status: 405, body: "Only GET and HEAD are answered.\n" };
    }
    switch (path) {
      case "/metrics":
        return { status: 200, body: await registry.metrics(), type: registry.contentType };
      case "/healthz":
        return { status: 200, body: "ok\n" };
      case "/readyz": {
        const reason = unready();
        return reason === undefined
          ? { status: 200, body: "ok\n" }
          : { status: 503, body: `${reason}\n` };
      }
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
