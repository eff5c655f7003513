// Generates src/embedded/builtin.json: a real API server's OpenAPI and discovery in, the schemas of the
// built-in types that the embedded server serves out. Never keeps prose: descriptions are dropped.
// `npx tsx tools/builtin.ts` starts the pinned server and writes the file.

import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Json, JsonObject } from "../src/embedded/types.ts";
import { startCluster } from "../test/controlplane/cluster.ts";
import { openReader } from "../test/controlplane/request.ts";

/** Reads one path of an API server as JSON. */
export type ReadPath = (path: string) => Promise<unknown>;

const KINDS: Readonly<Record<string, readonly string[]>> = {
  "api/v1": [
    "ConfigMap",
    "Event",
    "Namespace",
    "Node",
    "Pod",
    "Secret",
    "Service",
    "ServiceAccount",
  ],
  "apis/apiextensions.k8s.io/v1": ["CustomResourceDefinition"],
  "apis/coordination.k8s.io/v1": ["Lease"],
  "apis/discovery.k8s.io/v1": ["EndpointSlice"],
  "apis/events.k8s.io/v1": ["Event"],
};

const KEPT_KEYWORDS: ReadonlySet<string> = new Set([
  "$ref",
  "additionalProperties",
  "allOf",
  "anyOf",
  "default",
  "enum",
  "format",
  "items",
  "nullable",
  "oneOf",
  "properties",
  "required",
  "type",
  "x-kubernetes-int-or-string",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-list-type",
  "x-kubernetes-map-type",
  "x-kubernetes-patch-merge-key",
  "x-kubernetes-patch-strategy",
  "x-kubernetes-preserve-unknown-fields",
]);

const REF_PREFIX = "#/components/schemas/";

export async function generateBuiltin(read: ReadPath): Promise<JsonObject> {
  const version = asObject(await read("/version"));
  const index = asObject(asObject(await read("/openapi/v3"))["paths"]);
  const served = new Map<string, JsonObject>();
  const types: JsonObject[] = [];
  for (const [groupVersion, kinds] of Object.entries(KINDS)) {
    const url = asObject(index[groupVersion])["serverRelativeURL"];
    const document = asObject(await read(asString(url)));
    const schemas = asObject(asObject(document["components"])["schemas"]);
    for (const [name, schema] of Object.entries(schemas)) served.set(name, asObject(schema));
    const discovery = asArray(asObject(await read(`/${groupVersion}`))["resources"]).map(asObject);
    for (const kind of kinds) types.push(describeType(groupVersion, kind, discovery, schemas));
  }
  const roots = types.map((type) => refName(asObject(type["schema"]), "#/definitions/"));
  return {
    kubernetesVersion: asString(version["gitVersion"]),
    definitions: collectDefinitions(roots, served),
    types,
  };
}

function describeType(
  groupVersion: string,
  kind: string,
  discovery: readonly JsonObject[],
  schemas: JsonObject,
): JsonObject {
  const parts = groupVersion.split("/");
  const version = parts.at(-1) ?? "";
  const group = parts.length === 3 ? (parts[1] ?? "") : "";
  const resource = discovery.find(
    (entry) => entry["kind"] === kind && !asString(entry["name"]).includes("/"),
  );
  if (!resource) throw new Error(`The server's discovery of ${groupVersion} has no ${kind}.`);
  const plural = asString(resource["name"]);
  const schemaName = Object.keys(schemas).find((name) =>
    asArray(asObject(schemas[name])["x-kubernetes-group-version-kind"] ?? []).some((entry) => {
      const gvk = asObject(entry);
      return gvk["group"] === group && gvk["version"] === version && gvk["kind"] === kind;
    }),
  );
  if (!schemaName) throw new Error(`The server's OpenAPI of ${groupVersion} has no ${kind}.`);
  return {
    group,
    version,
    kind,
    plural,
    singular: asString(resource["singularName"]),
    shortNames: resource["shortNames"] ?? [],
    namespaced: resource["namespaced"] === true,
    categories: resource["categories"] ?? [],
    hasStatus: discovery.some((entry) => entry["name"] === `${plural}/status`),
    schema: { $ref: `#/definitions/${schemaName}` },
  };
}

/** Everything reachable from the roots, sorted by name. */
function collectDefinitions(
  roots: readonly string[],
  served: ReadonlyMap<string, JsonObject>,
): JsonObject {
  const found = new Map<string, JsonObject>();
  const open = [...roots];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (found.has(name)) continue;
    const schema = served.get(name);
    if (!schema) throw new Error(`The server's OpenAPI refers to ${name} and does not have it.`);
    found.set(
      name,
      slimSchema(schema, (ref) => open.push(ref)),
    );
  }
  return Object.fromEntries([...found].toSorted(([a], [b]) => compare(a, b)));
}

/** The same schema in the embedded server's words: no prose, local references, keywords sorted. */
function slimSchema(schema: JsonObject, onRef: (name: string) => void): JsonObject {
  if (schema["format"] === "int-or-string") return { "x-kubernetes-int-or-string": true };
  const slim: Record<string, Json> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (!KEPT_KEYWORDS.has(keyword)) continue;
    slim[keyword] = slimKeyword(keyword, value, onRef);
  }
  // OpenAPI 3.0 allows nothing beside a $ref, so servers wrap it to add a default; the wrapper means nothing else.
  const [wrapped, ...others] = asArray(slim["allOf"] ?? []);
  if (wrapped !== undefined && others.length === 0) {
    delete slim["allOf"];
    Object.assign(slim, wrapped);
  }
  // A type of free form says so by naming no field at all; a server that prunes needs it said in words.
  if (isFreeForm(schema)) slim["x-kubernetes-preserve-unknown-fields"] = true;
  return Object.fromEntries(sortedEntries(slim));
}

function slimKeyword(keyword: string, value: Json, onRef: (name: string) => void): Json {
  switch (keyword) {
    case "$ref": {
      const name = refName({ $ref: value }, REF_PREFIX);
      onRef(name);
      return `#/definitions/${name}`;
    }
    case "items":
      return slimSchema(asObject(value), onRef);
    case "additionalProperties":
      return typeof value === "boolean" ? value : slimSchema(asObject(value), onRef);
    case "allOf":
    case "anyOf":
    case "oneOf":
      return asArray(value).map((part) => slimSchema(asObject(part), onRef));
    case "properties":
      return Object.fromEntries(
        sortedEntries(asObject(value)).map(([name, part]) => [
          name,
          slimSchema(asObject(part), onRef),
        ]),
      );
    default:
      return value;
  }
}

function isFreeForm(schema: JsonObject): boolean {
  const says = Object.keys(schema).filter((keyword) => KEPT_KEYWORDS.has(keyword));
  const typed = says.filter((keyword) => keyword !== "default" && keyword !== "nullable");
  return typed.length === 0 || (schema["type"] === "object" && typed.length === 1);
}

/** One line per field and per type, so that a new Kubernetes version shows as a readable diff. */
export function renderBuiltin(builtin: JsonObject): string {
  return `${renderLines(builtin, ["definitions", "*", "properties"])}\n`;
}

/** Breaks lines along the path (and in arrays at the top), writes everything else on one line. */
function renderLines(value: JsonObject, path: readonly string[], indent = ""): string {
  const [step, ...rest] = path;
  const inner = `${indent} `;
  const lines = Object.entries(value).map(([key, part]) => {
    const label = `${inner}${JSON.stringify(key)}:`;
    if ((step === "*" || step === key) && Object.keys(asObject(part)).length > 0) {
      return `${label}${renderLines(asObject(part), rest, inner)}`;
    }
    if (indent === "" && isArray(part)) {
      return `${label}[\n${part.map((item) => `${inner} ${JSON.stringify(item)}`).join(",\n")}\n${inner}]`;
    }
    return `${label}${JSON.stringify(part)}`;
  });
  return `{\n${lines.join(",\n")}\n${indent}}`;
}

function refName(schema: JsonObject, prefix: string): string {
  const ref = asString(schema["$ref"]);
  if (!ref.startsWith(prefix)) throw new Error(`${ref} is not a reference into ${prefix}.`);
  return ref.slice(prefix.length);
}

function sortedEntries(object: JsonObject): [string, Json][] {
  return Object.entries(object).toSorted(([a], [b]) => compare(a, b));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isArray(value: unknown): value is readonly Json[] {
  return Array.isArray(value);
}

function asObject(value: unknown): JsonObject {
  if (!isObject(value)) throw new Error(`Expected an object, got ${JSON.stringify(value)}.`);
  return value;
}

function asArray(value: unknown): readonly Json[] {
  if (!isArray(value)) throw new Error(`Expected an array, got ${JSON.stringify(value)}.`);
  return value;
}

function asString(value: unknown): string {
  if (typeof value !== "string") throw new Error(`Expected text, got ${JSON.stringify(value)}.`);
  return value;
}

async function main(): Promise<void> {
  const cluster = await startCluster({ name: "builtin", controllerManager: false });
  const reader = await openReader(cluster.kubeconfigPath);
  try {
    const builtin = await generateBuiltin((path) => reader.getJson(path));
    await writeFile(
      new URL("../src/embedded/builtin.json", import.meta.url),
      renderBuiltin(builtin),
    );
  } finally {
    await reader.close();
    await cluster.stop();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
