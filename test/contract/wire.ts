// Contract suite: HTTP as an API server speaks it, read from a kubeconfig with none of our own client code,
// so that what the suite says about a server does not depend on the layer that it also tests.

import { readFile } from "node:fs/promises";
import { Agent, request } from "undici";
import { parse } from "yaml";
import { apiVersionOf, type ObjectMeta, type Resource } from "../../src/api/object.ts";

export interface WireObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

export interface WireList {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: readonly WireObject[];
}

export interface WireStatus {
  readonly apiVersion: string;
  readonly kind: string;
  readonly status: string;
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly details?: {
    readonly name?: string;
    readonly group?: string;
    readonly kind?: string;
    readonly uid?: string;
    readonly causes?: readonly {
      readonly reason?: string;
      readonly message?: string;
      readonly field?: string;
    }[];
  };
}

/** One body, seen as what the test expects it to be. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
  readonly object: WireObject;
  readonly list: WireList;
  readonly error: WireStatus;
}

export interface WireEvent {
  readonly type: string;
  readonly object: WireObject;
}

export interface WireWatch {
  readonly status: number;
  /** The next event; rejects when none comes within 15 seconds or the stream has ended. */
  next(): Promise<WireEvent>;
  take(count: number): Promise<readonly WireEvent[]>;
  /** Everything from here to the end of the stream, and that the server ended it. */
  rest(): Promise<readonly WireEvent[]>;
  close(): void;
}

export type Query = Readonly<Record<string, string | number | boolean>>;

export interface SendOptions {
  readonly query?: Query;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string is sent as it is. */
  readonly body?: unknown;
  readonly anonymous?: boolean;
}

export type PatchType = "merge" | "json" | "strategic" | "apply";

export interface Wire {
  send(method: string, path: string, options?: SendOptions): Promise<Answer>;
  get(path: string, query?: Query): Promise<Answer>;
  post(path: string, body: unknown, query?: Query): Promise<Answer>;
  put(path: string, body: unknown, query?: Query): Promise<Answer>;
  patch(path: string, type: PatchType, body: unknown, query?: Query): Promise<Answer>;
  delete(path: string, body?: unknown, query?: Query): Promise<Answer>;
  watch(path: string, query?: Query): Promise<WireWatch>;
  close(): Promise<void>;
}

const PATCH_TYPES: Readonly<Record<PatchType, string>> = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
};
/** More than a test's open watches; few enough that cleaning up does not shake hands hundreds of times at once. */
const CONNECTIONS = 16;
const EVENT_DEADLINE_MS = 60_000;

/** The path of a collection, an object or a subresource; `namespace` is "" for none. */
export function at(resource: Resource, namespace: string, ...rest: readonly string[]): string {
  const root = resource.group === "" ? "/api" : "/apis";
  const within = namespace === "" ? [] : ["namespaces", namespace];
  return [root, apiVersionOf(resource), ...within, resource.plural, ...rest].join("/");
}

interface Credentials {
  readonly server: string;
  readonly agent: Agent;
  readonly anonymousAgent: Agent;
  readonly headers: Readonly<Record<string, string>>;
}

export async function openWire(kubeconfigPath: string): Promise<Wire> {
  const credentials = await readCredentials(kubeconfigPath);
  async function send(method: string, path: string, options: SendOptions = {}): Promise<Answer> {
    const { body } = options;
    const reply = await request(new URL(path + encodeQuery(options.query), credentials.server), {
      method: method as "GET",
      dispatcher: options.anonymous ? credentials.anonymousAgent : credentials.agent,
      headers: {
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(options.anonymous ? {} : credentials.headers),
        ...options.headers,
      },
      body: body === undefined || typeof body === "string" ? (body ?? null) : JSON.stringify(body),
    });
    const text = await reply.body.text();
    const isJson = String(reply.headers["content-type"]).startsWith("application/json");
    const parsed: unknown = isJson ? JSON.parse(text) : text;
    return {
      status: reply.statusCode,
      headers: reply.headers,
      body: parsed,
      object: parsed as WireObject,
      list: parsed as WireList,
      error: parsed as WireStatus,
    };
  }
  return {
    send,
    get: (path, query = {}) => send("GET", path, { query }),
    post: (path, body, query = {}) => send("POST", path, { body, query }),
    put: (path, body, query = {}) => send("PUT", path, { body, query }),
    patch: (path, type, body, query = {}) =>
      send("PATCH", path, { body, query, headers: { "content-type": PATCH_TYPES[type] } }),
    delete: (path, body, query = {}) => send("DELETE", path, { body, query }),
    watch: (path, query = {}) => openWatch(credentials, path + encodeQuery({ ...query, watch: 1 })),
    close: async () => {
      await credentials.agent.destroy();
      await credentials.anonymousAgent.destroy();
    },
  };
}

function encodeQuery(query: Query | undefined): string {
  const entries = Object.entries(query ?? {}).map(([key, value]): [string, string] => [
    key,
    String(value),
  ]);
  return entries.length === 0 ? "" : `?${new URLSearchParams(entries).toString()}`;
}

async function openWatch(credentials: Credentials, path: string): Promise<WireWatch> {
  const abort = new AbortController();
  const reply = await request(new URL(path, credentials.server), {
    dispatcher: credentials.agent,
    headers: { accept: "application/json", ...credentials.headers },
    signal: abort.signal,
    bodyTimeout: 0,
  });
  const events: WireEvent[] = [];
  let taken = 0;
  let end: { readonly error?: unknown } | undefined;
  let wake: () => void = () => {};
  async function pump(): Promise<void> {
    let rest = "";
    const decoder = new TextDecoder();
    try {
      for await (const chunk of reply.body) {
        const lines = (rest + decoder.decode(chunk as Buffer, { stream: true })).split("\n");
        rest = lines.pop() ?? "";
        events.push(...lines.filter(Boolean).map((line) => JSON.parse(line) as WireEvent));
        wake();
      }
      end = {};
    } catch (error) {
      end = { error };
    }
    wake();
  }
  void pump();
  async function until(isDone: () => boolean): Promise<void> {
    const hasEnded = (): boolean => end !== undefined;
    while (!isDone() && !hasEnded()) {
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(
          () => reject(new Error(`no event on ${path}; so far ${JSON.stringify(events)}`)),
          EVENT_DEADLINE_MS,
        );
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }
  async function next(): Promise<WireEvent> {
    await until(() => taken < events.length);
    const event = events[taken];
    if (event === undefined) {
      throw new Error(`the watch on ${path} has ended`, { cause: end?.error });
    }
    taken += 1;
    return event;
  }
  return {
    status: reply.statusCode,
    next,
    take: async (count) => {
      const batch: WireEvent[] = [];
      while (batch.length < count) {
        batch.push(await next());
      }
      return batch;
    },
    rest: async () => {
      await until(() => false);
      if (end?.error !== undefined) {
        throw end.error;
      }
      const batch = events.slice(taken);
      taken = events.length;
      return batch;
    },
    close: () => abort.abort(),
  };
}

interface Kubeconfig {
  readonly clusters: readonly {
    readonly cluster: {
      readonly server: string;
      readonly "certificate-authority-data"?: string;
      readonly "certificate-authority"?: string;
    };
  }[];
  readonly users: readonly {
    readonly user: {
      readonly token?: string;
      readonly "client-certificate-data"?: string;
      readonly "client-certificate"?: string;
      readonly "client-key-data"?: string;
      readonly "client-key"?: string;
    };
  }[];
}

/** The suite's kubeconfigs have one cluster and one user: no context to choose. */
async function readCredentials(kubeconfigPath: string): Promise<Credentials> {
  const kubeconfig = parse(await readFile(kubeconfigPath, "utf8")) as Kubeconfig;
  const cluster = kubeconfig.clusters[0]!.cluster;
  const user = kubeconfig.users[0]!.user;
  const ca = await pem(cluster["certificate-authority-data"], cluster["certificate-authority"]);
  const cert = await pem(user["client-certificate-data"], user["client-certificate"]);
  const key = await pem(user["client-key-data"], user["client-key"]);
  return {
    server: cluster.server,
    agent: new Agent({
      connections: CONNECTIONS,
      connect: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) },
    }),
    anonymousAgent: new Agent({ connect: { ...(ca && { ca }) } }),
    headers: user.token === undefined ? {} : { authorization: `Bearer ${user.token}` },
  };
}

async function pem(data?: string, file?: string): Promise<string | undefined> {
  if (data !== undefined) {
    return Buffer.from(data, "base64").toString("utf8");
  }
  return file === undefined ? undefined : readFile(file, "utf8");
}
