// Dashboard: a feed and the page's files in, a web server out. It shows and changes nothing: GET only, no request leaves the page,
// nothing is cached, nobody frames it.

import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { type ServiceKey, serviceKey } from "../api/names.ts";
import type { ServiceExplanation } from "../core/clusterset/explain.ts";
import { isDnsLabel } from "../core/untrusted.ts";
import type { Clock } from "../ports/clock.ts";

import { createAudience, type WrittenState } from "./audience.ts";
import { createGate, isLoopback } from "./gate.ts";
import { listenAt } from "./listen.ts";
import { type DashboardChange, type DashboardState, ROUTES } from "./state.ts";

export interface Feed {
  state(): DashboardState;
  /** Returns how to stop listening. */
  subscribe(listener: (change: DashboardChange) => void): () => void;
  /** Undefined when nobody knows the service. */
  explain(service: ServiceKey, signal: AbortSignal): Promise<ServiceExplanation | undefined>;
}

export interface Asset {
  readonly type: string;
  readonly body: string | Buffer;
}

export interface DashboardServer {
  /** Without the token. */
  readonly url: string;
  close(): Promise<void>;
}

export interface ServeOptions {
  readonly feed: Feed;
  readonly assets: (path: string) => Asset | undefined;
  /** "" for every address of the machine. */
  readonly host: string;
  readonly port: number;
  /** Without one only loopback is served. */
  readonly token?: string;
  /** How long somebody may take nothing of what was sent, or we may send nothing. */
  readonly patienceMs?: number;
  readonly clock: Clock;
}

const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
} as const;
const CONNECTIONS = 256;
/** Longer than an explanation takes, and than from one beat to the next. */
const PATIENCE_MS = 30_000;
/** Each asks every cluster. */
const EXPLANATIONS_AT_ONCE = 4;

export async function serveDashboard(options: ServeOptions): Promise<DashboardServer> {
  const { feed, assets, host, port, token, clock } = options;
  if (token === undefined && !isLoopback(host)) {
    throw new Error("the dashboard is served to others only with a token");
  }
  const gate = createGate({ host, port: () => addressOf(server).port, token });
  const memory = createMemory(feed);
  const audience = createAudience({ clock, state: memory });
  const leave = feed.subscribe((change) => audience.tell(change));
  let explaining = 0;

  function answer(request: IncomingMessage, response: ServerResponse): void {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    const [path = "", ...queries] = (request.url ?? "").split("?");
    const { method, headers } = request;
    const shown = path === ROUTES.page ? readToken(queries.join("?")) : undefined;
    const cookie = method === "GET" && shown !== undefined ? gate.admit(shown) : undefined;
    if (cookie !== undefined) {
      // The token does not stay in the address, where people copy it from.
      end(request, response, { status: 303, headers: { location: "/", "set-cookie": cookie } });
      return;
    }
    const refusal = gate.refuse({ method, path, headers });
    if (refusal !== undefined) {
      const { status, sentence, headers: more = {} } = refusal;
      end(request, response, { status, headers: more, ...text(sentence) });
      return;
    }
    if (path === ROUTES.state) {
      end(request, response, { status: 200, ...json(memory().json) });
    } else if (path === ROUTES.changes) {
      openStream(request, response);
    } else if (path.startsWith(ROUTES.explain)) {
      void explain(path.slice(ROUTES.explain.length), request, response);
    } else {
      const asset = assets(path);
      if (asset === undefined) {
        end(request, response, { status: 404, ...text("There is no such page.") });
      } else end(request, response, { status: 200, type: asset.type, body: asset.body });
    }
  }

  function openStream(request: IncomingMessage, response: ServerResponse): void {
    if (request.method === "HEAD") {
      end(request, response, { status: 200, type: "text/event-stream; charset=utf-8", body: "" });
    } else if (!audience.admit(response)) {
      const sentence = "Too many pages are open. Close one, or try again.";
      end(request, response, { status: 503, headers: { "retry-after": "5" }, ...text(sentence) });
    }
  }

  async function explain(
    rest: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const service = parseService(rest);
    if (service === undefined) {
      const sentence = `A service is named ${ROUTES.explain}<namespace>/<name>.`;
      end(request, response, { status: 400, ...text(sentence) });
      return;
    }
    if (explaining >= EXPLANATIONS_AT_ONCE) {
      const sentence = "Others are asking just now. Try again.";
      end(request, response, { status: 503, headers: { "retry-after": "1" }, ...text(sentence) });
      return;
    }
    explaining += 1;
    const leaving = new AbortController();
    response.on("close", () => leaving.abort(new Error("nobody waits for it any more")));
    try {
      const explained = await feed.explain(service, leaving.signal);
      if (explained === undefined) {
        const sentence = `Nobody exports or imports ${service}, as far as can be told.`;
        end(request, response, { status: 404, ...text(sentence) });
      } else end(request, response, { status: 200, ...json(JSON.stringify(explained)) });
    } catch (error) {
      if (!response.destroyed) {
        const sentence = `It cannot be told just now: ${error instanceof Error ? error.message : String(error)}.`;
        end(request, response, { status: 503, ...text(sentence) });
      }
    } finally {
      explaining -= 1;
    }
  }

  /** A defect costs one answer, never the process: that may have more important work. */
  function answerOrFail(request: IncomingMessage, response: ServerResponse): void {
    try {
      answer(request, response);
    } catch (error) {
      if (response.headersSent) response.destroy();
      else end(request, response, { status: 500, ...text(`This is a defect: ${String(error)}`) });
    }
  }

  const server = createServer({ headersTimeout: 5_000, requestTimeout: 5_000 }, answerOrFail);
  server.maxConnections = CONNECTIONS;
  // Counts from the last byte that was taken: who reads slowly, but reads, may take as long as it takes.
  server.setTimeout(options.patienceMs ?? PATIENCE_MS);
  const whenTaken = "Name another address for the dashboard; port 0 takes a free one.";
  await listenAt(server, { host, port }, whenTaken);
  server.on("error", () => undefined);
  return {
    url: `http://${nameHost(host)}:${addressOf(server).port}/`,
    async close() {
      leave();
      audience.close();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

interface Answer {
  readonly status: number;
  readonly headers?: OutgoingHttpHeaders;
  readonly type?: string;
  readonly body?: string | Buffer;
}

function end(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  const { status, headers = {}, type, body = "" } = answer;
  response.writeHead(status, {
    ...headers,
    ...(type === undefined ? {} : { "content-type": type }),
    "content-length": Buffer.byteLength(body),
  });
  response.end(request.method === "HEAD" ? undefined : body);
}

function text(sentence: string): Pick<Answer, "type" | "body"> {
  return { type: "text/plain; charset=utf-8", body: `${sentence}\n` };
}

function json(body: string | Buffer): Pick<Answer, "type" | "body"> {
  return { type: "application/json; charset=utf-8", body };
}

/** A plus is a plus: people paste tokens as they are. */
function readToken(query: string): string | undefined {
  return new URLSearchParams(query.replaceAll("+", "%2B")).get("token") ?? undefined;
}

function parseService(rest: string): ServiceKey | undefined {
  const [namespace = "", name = "", ...more] = rest.split("/");
  if (more.length > 0 || !isDnsLabel(namespace) || !isDnsLabel(name)) return undefined;
  return serviceKey({ namespace, name });
}

/** Pages that come back together, after the server was away, are told the same. */
function createMemory(feed: Feed): () => WrittenState {
  let last: { readonly state: DashboardState; readonly json: Buffer } | undefined;
  return () => {
    const state = feed.state();
    if (last?.state !== state) last = { state, json: Buffer.from(JSON.stringify(state)) };
    return { version: state.version, json: last.json };
  };
}

function addressOf(server: Server): AddressInfo {
  return server.address() as AddressInfo;
}

/** As a browser on this machine can open it. */
function nameHost(host: string): string {
  if (host === "" || host === "0.0.0.0" || host === "::") return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}
