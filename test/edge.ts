// Test double: a cluster that answers whatever a test says, served over real HTTPS, and a client that shows everything.

import { once } from "node:events";
import type { OutgoingHttpHeaders } from "node:http";
import { type RequestOptions, request as httpsRequest } from "node:https";
import { gunzipSync } from "node:zlib";
import { afterEach } from "vitest";
import { type EmbeddedServer, type ServeOptions, serveCluster } from "../src/embedded/server.ts";
import type {
  ApiAnswer,
  ApiRequest,
  JsonObject,
  ServedType,
  WireEvent,
} from "../src/embedded/types.ts";
import { VirtualClock } from "./clock.ts";

const CONFIG_MAPS: ServedType = {
  resource: { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true },
  singular: "configmap",
  listKind: "ConfigMapList",
  shortNames: ["cm"],
  categories: [],
  hasStatus: false,
  schema: { type: "object" },
  definitions: {},
  columns: [],
  builtin: true,
  storageVersion: "v1",
};
export const PATH = "/api/v1/namespaces/a/configmaps";

type Respond = (request: ApiRequest) => ApiAnswer | Promise<ApiAnswer>;

/** Keeps what it was asked and answers as told. */
export class ScriptedCluster {
  readonly name = "scripted";
  readonly requests: ApiRequest[] = [];
  readonly #respond: Respond;

  constructor(respond: Respond = () => object({ kind: "ConfigMap", metadata: { name: "x" } })) {
    this.#respond = respond;
  }

  async request(request: ApiRequest): Promise<ApiAnswer> {
    this.requests.push(request);
    return this.#respond(request);
  }

  types(): readonly ServedType[] {
    return [CONFIG_MAPS];
  }
}

/** A watch that a test feeds. */
export class ScriptedWatch {
  stops = 0;
  readonly #past: readonly WireEvent[];
  #onEvent: ((event: WireEvent) => void) | undefined;
  #onEnd: ((end: { readonly clean: boolean }) => void) | undefined;

  readonly #endsAtOnce: boolean;

  constructor(past: readonly WireEvent[] = [], options: { readonly endsAtOnce?: boolean } = {}) {
    this.#past = past;
    this.#endsAtOnce = options.endsAtOnce === true;
  }

  answer(): ApiAnswer {
    return {
      kind: "watch",
      served: CONFIG_MAPS,
      start: (onEvent, onEnd) => {
        this.#onEvent = onEvent;
        this.#onEnd = onEnd;
        for (const event of this.#past) onEvent(event);
        if (this.#endsAtOnce) onEnd({ clean: true });
        return { stop: () => (this.stops += 1) };
      },
    };
  }

  send(event: WireEvent): void {
    this.#onEvent?.(event);
  }

  end(clean: boolean): void {
    this.#onEnd?.({ clean });
  }
}

export function object(body: JsonObject): ApiAnswer {
  return { kind: "object", status: 200, body, served: CONFIG_MAPS };
}

export function added(name: string, padding = ""): WireEvent {
  return { type: "ADDED", object: { kind: "ConfigMap", metadata: { name }, data: { padding } } };
}

const running: EmbeddedServer[] = [];

export async function serve(
  cluster = new ScriptedCluster(),
  options: Partial<ServeOptions> = {},
): Promise<EmbeddedServer> {
  const server = await serveCluster(cluster, { clock: new VirtualClock(), ...options });
  running.push(server);
  return server;
}

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close()));
});

export interface Received {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
  readonly body: JsonObject;
}

export interface Sent extends Omit<RequestOptions, "headers"> {
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer;
  /** Null sends none. */
  readonly bearer?: string | null;
}

export async function call(
  server: EmbeddedServer,
  path: string,
  sent: Sent = {},
): Promise<Received> {
  const { body, bearer = server.token, headers, ...options } = sent;
  const request = httpsRequest(`${server.url}${path}`, {
    ca: server.caPem,
    agent: false,
    ...options,
    headers: { ...(bearer === null ? {} : { Authorization: `Bearer ${bearer}` }), ...headers },
  });
  request.end(body);
  const [response] = await once(request, "response");
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const isJson = String(response.headers["content-type"]).startsWith("application/json");
  const plain = response.headers["content-encoding"] === "gzip" ? gunzipSync(bytes) : bytes;
  return {
    status: response.statusCode,
    headers: response.headers,
    bytes,
    body: isJson ? JSON.parse(plain.toString()) : {},
  };
}

/** Opens a watch and hands out its lines as they come. */
export async function openWatch(
  server: EmbeddedServer,
  query = "",
): Promise<{ lines: AsyncIterator<JsonObject>; abort(): void; readonly complete: () => boolean }> {
  const request = httpsRequest(`${server.url}${PATH}?watch=1${query}`, {
    ca: server.caPem,
    agent: false,
    headers: {
      Authorization: `Bearer ${server.token}`,
      ...(query.includes("table")
        ? { Accept: "application/json;as=Table;v=v1;g=meta.k8s.io" }
        : {}),
    },
  });
  request.end();
  const [response] = await once(request, "response");
  async function* read(): AsyncGenerator<JsonObject> {
    let rest = "";
    for await (const chunk of response) {
      const parts = (rest + String(chunk)).split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) yield JSON.parse(part);
    }
  }
  return {
    lines: read(),
    abort: () => response.destroy(),
    complete: () => response.complete,
  };
}
