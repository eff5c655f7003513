// The settings of commands that run until they are stopped. One schema for each command; from it come the TypeScript type, the defaults,
// the flags, the names in the environment, what a configuration file may say, the tables of docs/configuration.md and
// config.schema.json. A setting never is a secret: it names the file that holds one.

import { type Static, Type } from "typebox";
import type { Immutable } from "./schema.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

/** `x-value`: what stands behind the flag in --help. */
function text(value: string, description: string, rest: { readonly default?: string } = {}) {
  return Type.String({ description, minLength: 1, ...rest, "x-value": value });
}

/** The flag is repeated; a variable of the environment has commas. */
function list(
  value: string,
  description: string,
  rest: {
    readonly default?: readonly string[];
    readonly minItems?: number;
    readonly maxItems?: number;
  } = {},
) {
  const items = Type.String({ minLength: 1 });
  return Type.Array(items, { description, default: [], ...rest, "x-value": value });
}

function choice<const T extends readonly string[]>(
  value: string,
  description: string,
  { choices, usual }: { readonly choices: T; readonly usual: T[number] },
) {
  const schema = { type: "string", enum: [...choices], description, default: usual };
  return Type.Unsafe<T[number]>({ ...schema, "x-value": value });
}

interface Range {
  readonly minimum: number;
  readonly maximum: number;
}

function count(value: string, description: string, range: Range & { readonly default: number }) {
  return Type.Integer({ description, ...range, "x-value": value });
}

/** On unless it is switched off: the flag is --no-…, and "do not …" is what it does. */
function habit(description: string) {
  return Type.Boolean({ description, default: true });
}

const LOG_LEVEL = {
  logLevel: choice("level", "how much to say", { choices: LOG_LEVELS, usual: "info" }),
};

/** Of whoever keeps services in step. */
const SERVICES = {
  namespaces: choice("policy", "what to do where an imported service's namespace is missing", {
    choices: ["wait", "create", "never"],
    usual: "wait",
  }),
  allowNamespace: list("name", "export and import this one although it is denied by default"),
  denyNamespace: list("name", "neither export from nor import into this one"),
  ...LOG_LEVEL,
};

/** Of a process that has other work to do. */
const DASHBOARD_BESIDE = {
  dashboardAddress: Type.Optional(
    text("address:port", "where to serve the dashboard, such as 127.0.0.1:8181; absent: nowhere"),
  ),
  dashboardTokenFile: Type.Optional(
    text(
      "file",
      "a file with the token that the dashboard demands; needed where others can reach it",
    ),
  ),
};

const ONE_CLUSTER = {
  kubeconfig: Type.Optional(
    text(
      "file",
      "kubeconfig of the cluster; absent: the pod's own identity, $KUBECONFIG, ~/.kube/config",
    ),
  ),
  context: Type.Optional(text("name", "context of the kubeconfig; absent: its current one")),
};

function metricsAddress(usual: string) {
  return text(
    "address:port",
    "where to answer /metrics, /healthz and /readyz; port 0 takes a free one",
    { default: usual },
  );
}

const TRACES = {
  tracesEndpoint: Type.Optional(
    text(
      "url",
      "collector to send traces to by OTLP over HTTP, such as http://collector:4318; absent: none are made",
    ),
  ),
};

const AGENT = {
  ...SERVICES,
  ...DASHBOARD_BESIDE,
  ...ONE_CLUSTER,
  metricsAddress: metricsAddress("127.0.0.1:9402"),
  ...TRACES,
};

const CENTRAL = {
  ...SERVICES,
  ...DASHBOARD_BESIDE,
  kubeconfig: list("[id=]file", "a member's kubeconfig; repeat it for each"),
  context: list("[id=]name", "a member's context of one kubeconfig; repeat it for each"),
  installCrds: habit("install missing or outdated CustomResourceDefinitions"),
  metricsAddress: metricsAddress("127.0.0.1:9402"),
  ...TRACES,
};

const DNS = {
  ...ONE_CLUSTER,
  listen: list(
    "address:port",
    "where to answer, UDP and TCP; repeat it for more; absent: 127.0.0.1:1053",
    { default: ["127.0.0.1:1053"], minItems: 1, maxItems: 16 },
  ),
  metricsAddress: metricsAddress("127.0.0.1:9403"),
  ...LOG_LEVEL,
  zone: list("name", "zone to answer for; repeat it for more; absent: clusterset.local", {
    default: ["clusterset.local"],
    minItems: 1,
    maxItems: 8,
  }),
  ttl: count("seconds", "how long answers may be kept", {
    default: 5,
    minimum: 0,
    maximum: 86_400,
  }),
  order: choice("order", "rotate: another record first each time; stable: the same", {
    choices: ["rotate", "stable"],
    usual: "rotate",
  }),
  nsAddress: list(
    "ip",
    "address of the zones' name server; repeat it for more; absent: none is told",
  ),
  forward: list(
    "ip[:port]",
    "server to ask for other zones; repeat it for more; absent: they are refused",
    { maxItems: 16 },
  ),
  headless: choice(
    "policy",
    "all: every ready endpoint; near: those of this cluster, else zone, else region, else all",
    { choices: ["all", "near"], usual: "all" },
  ),
  clusterId: Type.Optional(
    text("id", "cluster that the clients are in; absent: as its ClusterProperty says"),
  ),
  node: Type.Optional(text("name", "Node whose labels tell the zone and region of the clients")),
  inZone: Type.Optional(text("zone", "topology zone of the clients; absent: as the Node says")),
  inRegion: Type.Optional(text("region", "region of the clients; absent: as the Node says")),
  clusterRegion: list("id=region", "region of another cluster; repeat it for each"),
  processes: Type.Union([Type.Integer({ minimum: 1, maximum: 64 }), Type.Literal("auto")], {
    description: "processes that answer; auto: one for each core",
    default: 1,
    "x-value": "count",
  }),
  maxUdpSize: count("bytes", "largest answer over UDP", {
    default: 1_232,
    minimum: 512,
    maximum: 4_096,
  }),
  rateLimit: count("answers", "UDP answers per second to one network (/24, /56); 0: no limit", {
    default: 0,
    minimum: 0,
    maximum: 1_000_000,
  }),
  maxTcpConnections: count("count", "open at a time; the quietest makes room", {
    default: 1_000,
    minimum: 1,
    maximum: 100_000,
  }),
};

const DASHBOARD = {
  kubeconfig: list(
    "[id=]file",
    "a cluster's kubeconfig; repeat it for each; absent: $KUBECONFIG, ~/.kube/config",
  ),
  context: list(
    "[id=]name",
    "a cluster's context of one kubeconfig; repeat it for each; absent: the current one",
  ),
  hub: habit("ask the hub that a cluster has joined"),
  address: text(
    "address:port",
    "where to serve it; port 0 takes a free one; a token is demanded where others can reach it",
    { default: "127.0.0.1:8181" },
  ),
  tokenFile: Type.Optional(
    text("file", "a file with the token to demand; absent: made up and printed"),
  ),
};

const STRICT = { additionalProperties: false } as const;

/** By command. The order is that of --help. */
export const SETTINGS = {
  agent: Type.Object(AGENT, { ...STRICT, description: "of isthmus agent" }),
  central: Type.Object(CENTRAL, { ...STRICT, description: "of isthmus central" }),
  dns: Type.Object(DNS, { ...STRICT, description: "of isthmus dns" }),
  dashboard: Type.Object(DASHBOARD, { ...STRICT, description: "of isthmus dashboard" }),
};

export type Configurable = keyof typeof SETTINGS;

export const CONFIGURABLE = Object.keys(SETTINGS) as readonly Configurable[];

/** What a command is told, whoever told it. */
export type Settings = {
  readonly [C in Configurable]: Immutable<Static<(typeof SETTINGS)[C]>>;
};

export type SettingValue = string | number | boolean | readonly string[];

/** As much of a setting's schema as flags, sentences and tables are made of. */
export interface SettingSchema {
  readonly type?: "string" | "array" | "integer" | "boolean";
  readonly description?: string;
  readonly default?: SettingValue;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly anyOf?: readonly (SettingSchema & { readonly const?: string })[];
  readonly "x-value"?: string;
}

/** Key → schema. */
export function settingsOf(command: Configurable): Readonly<Record<string, SettingSchema>> {
  return SETTINGS[command].properties as Readonly<Record<string, SettingSchema>>;
}

/** "metricsAddress" → "--metrics-address"; what is on unless it is switched off → "--no-…". */
export function flagOf(key: string, { type }: SettingSchema): string {
  return `--${type === "boolean" ? "no-" : ""}${dashed(key)}`;
}

/** "metricsAddress" → "ISTHMUS_METRICS_ADDRESS". */
export function variableOf(key: string): string {
  return `ISTHMUS_${dashed(key).replaceAll("-", "_").toUpperCase()}`;
}

function dashed(key: string): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
