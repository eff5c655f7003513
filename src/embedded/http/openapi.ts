// Edge, schemas: the types served now in, the OpenAPI v3 index and documents out: what `kubectl apply` and `kubectl
// explain` need of them, which is schemas by kind, and paths that promise server-side field validation.

import { createHash } from "node:crypto";
import { apiVersionOf, type Resource } from "../../api/object.ts";
import { isJsonArray, isJsonObject } from "../json.ts";
import type { Json, JsonObject, ServedType } from "../types.ts";

const COMPONENTS = "#/components/schemas/";
const META = "io.k8s.apimachinery.pkg.apis.meta.v1.";

/** Undefined for paths that hold no document. */
export function renderOpenApi(types: readonly ServedType[], path: string): JsonObject | undefined {
  const prefix = "/openapi/v3";
  if (path === prefix || path === `${prefix}/`) return renderIndex(types);
  const wanted = path.slice(prefix.length + 1);
  const ofVersion = types.filter((type) => documentName(type.resource) === wanted);
  return ofVersion.length === 0 ? undefined : renderDocument(ofVersion);
}

/**
 * OpenAPI v2 in protobuf, without a single type. kubectl reads it to validate what the server cannot be asked about
 * (`kind: List`), and skips types that it does not find there; without an answer it refuses the file.
 */
export function encodeEmptyV2(): Buffer {
  const text = (number: number, value: string | Buffer): Buffer =>
    Buffer.concat([Buffer.from([number * 8 + 2, value.length]), Buffer.from(value)]);
  const info = Buffer.concat([text(1, "Kubernetes"), text(2, "unversioned")]);
  return Buffer.concat([text(1, "2.0"), text(2, info), text(8, "")]);
}

/** The hash in each address changes with the document, so that clients may keep what they have. */
function renderIndex(types: readonly ServedType[]): JsonObject {
  const hashes = new Map<string, string>();
  for (const type of types) {
    const name = documentName(type.resource);
    hashes.set(name, digest((hashes.get(name) ?? "") + hashType(type)));
  }
  return {
    paths: Object.fromEntries(
      [...hashes].map(([name, hash]) => [
        name,
        { serverRelativeURL: `/openapi/v3/${name}?hash=${hash}` },
      ]),
    ),
  };
}

const typeHashes = new WeakMap<ServedType, string>();

function hashType(type: ServedType): string {
  let hash = typeHashes.get(type);
  if (hash === undefined) {
    hash = digest(JSON.stringify([type.resource, type.hasStatus, renderSchemas(type)]));
    typeHashes.set(type, hash);
  }
  return hash;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").toUpperCase();
}

function documentName(resource: Resource): string {
  return `${resource.group === "" ? "api" : "apis"}/${apiVersionOf(resource)}`;
}

function renderDocument(types: readonly ServedType[]): JsonObject {
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: "unversioned" },
    paths: Object.assign({}, ...types.map(renderPaths)),
    components: { schemas: Object.assign({}, ...types.map(renderSchemas)) },
  };
}

function renderSchemas(type: ServedType): JsonObject {
  const { group, version, kind } = type.resource;
  const schemas: Record<string, Json> = {};
  for (const [name, schema] of reachableDefinitions(type)) schemas[name] = schema;
  const name = componentName(type);
  const own = schemas[name] ?? withObjectFields(rewriteRefs(asJson(type.schema)));
  schemas[name] = {
    ...(isJsonObject(own) ? own : {}),
    "x-kubernetes-group-version-kind": [{ group, version, kind }],
  };
  // kubectl explain follows the reference of a custom object's metadata.
  schemas[`${META}ObjectMeta`] ??= OBJECT_META;
  return schemas;
}

const OBJECT_META: JsonObject = {
  type: "object",
  description: "Metadata that every stored object has.",
  properties: {
    name: { type: "string", description: "Name, unique in the namespace for its kind." },
    generateName: { type: "string", description: "Prefix of a name that the server completes." },
    namespace: { type: "string", description: "Namespace that the name is unique in." },
    labels: {
      type: "object",
      description: "Keys and values that selectors match.",
      additionalProperties: { type: "string" },
    },
    annotations: {
      type: "object",
      description: "Keys and values that nothing selects by.",
      additionalProperties: { type: "string" },
    },
    uid: { type: "string", description: "Unique in time and space; set by the server." },
    resourceVersion: { type: "string", description: "Changes with every write; opaque." },
    generation: { type: "integer", format: "int64", description: "Counts changes of the spec." },
    creationTimestamp: { type: "string", format: "date-time", description: "Set by the server." },
    deletionTimestamp: { type: "string", format: "date-time", description: "Set by a deletion." },
    finalizers: {
      type: "array",
      description: "Who must agree before the object goes.",
      items: { type: "string" },
      "x-kubernetes-list-type": "set",
      "x-kubernetes-patch-strategy": "merge",
    },
    ownerReferences: {
      type: "array",
      description: "Objects that this one goes with.",
      items: { type: "object", "x-kubernetes-map-type": "atomic" },
    },
    managedFields: {
      type: "array",
      description: "Who set which fields.",
      items: { type: "object" },
    },
  },
};

/** CRDs may leave out what every object has. */
function withObjectFields(schema: Json): JsonObject {
  const object = isJsonObject(schema) ? schema : {};
  const declared = object["properties"];
  return {
    ...object,
    type: "object",
    properties: {
      apiVersion: { type: "string", description: "Version of the schema of this object." },
      kind: { type: "string", description: "Type of this object." },
      ...(isJsonObject(declared) ? declared : {}),
      metadata: {
        description: "Name, labels and the like.",
        allOf: [{ $ref: `${COMPONENTS}${META}ObjectMeta` }],
      },
    },
  };
}

/** Built-in types keep the name their schema refers to; custom ones are named after the reversed group. */
function componentName(type: ServedType): string {
  if (type.schema.$ref !== undefined) return lastSegment(type.schema.$ref);
  const { group, version, kind } = type.resource;
  return [...group.split(".").reverse(), version, kind].join(".");
}

/** Only what the type refers to: the definitions of all built-in types are one shared heap. */
function reachableDefinitions(type: ServedType): ReadonlyMap<string, Json> {
  const found = new Map<string, Json>();
  const pending = collectRefs(asJson(type.schema));
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    const definition = type.definitions[name];
    if (found.has(name) || definition === undefined) continue;
    const schema = asJson(definition);
    found.set(name, rewriteRefs(schema));
    pending.push(...collectRefs(schema));
  }
  return found;
}

function collectRefs(schema: Json): string[] {
  if (isJsonArray(schema)) return schema.flatMap(collectRefs);
  if (!isJsonObject(schema)) return [];
  return Object.entries(schema).flatMap(([key, value]) =>
    key === "$ref" && typeof value === "string" ? [lastSegment(value)] : collectRefs(value),
  );
}

function rewriteRefs(schema: Json): Json {
  if (isJsonArray(schema)) return schema.map(rewriteRefs);
  if (!isJsonObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      key === "$ref" && typeof value === "string"
        ? `${COMPONENTS}${lastSegment(value)}`
        : rewriteRefs(value),
    ]),
  );
}

function lastSegment(ref: string): string {
  return ref.slice(ref.lastIndexOf("/") + 1);
}

function asJson(schema: unknown): Json {
  return isSchemaJson(schema) ? schema : {};
}

// Schemas were decoded from JSON.
function isSchemaJson(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null;
}

const PATCH_TYPES = ["application/json-patch+json", "application/merge-patch+json"];

function renderPaths(type: ServedType): JsonObject {
  const { resource, builtin } = type;
  const root = `/${documentName(resource)}`;
  const scope = resource.namespaced ? "/namespaces/{namespace}" : "";
  const one = `${root}${scope}/${resource.plural}/{name}`;
  const patchTypes = [
    "application/apply-patch+yaml",
    ...PATCH_TYPES,
    ...(builtin ? ["application/strategic-merge-patch+json"] : []),
  ];
  const operation = (action: string): JsonObject => renderOperation(type, action, patchTypes);
  const collection = { get: operation("list"), post: operation("post") };
  const item = {
    get: operation("get"),
    put: operation("put"),
    patch: operation("patch"),
    delete: operation("delete"),
  };
  return {
    ...(resource.namespaced ? { [`${root}/${resource.plural}`]: { get: operation("list") } } : {}),
    [`${root}${scope}/${resource.plural}`]: collection,
    [one]: item,
    ...(type.hasStatus
      ? {
          [`${one}/status`]: {
            get: operation("get"),
            put: operation("put"),
            patch: operation("patch"),
          },
        }
      : {}),
  };
}

/** kubectl trusts the server to validate when PATCH knows `fieldValidation`. */
const WRITE_PARAMETERS: readonly JsonObject[] = ["dryRun", "fieldManager", "fieldValidation"].map(
  (name) => ({ name, in: "query", schema: { type: "string", uniqueItems: true } }),
);

function renderOperation(
  type: ServedType,
  action: string,
  patchTypes: readonly string[],
): JsonObject {
  const { group, version, kind } = type.resource;
  const schema = { $ref: `${COMPONENTS}${componentName(type)}` };
  const isWrite = action === "post" || action === "put" || action === "patch";
  const bodyTypes = action === "patch" ? patchTypes : ["*/*"];
  const content = Object.fromEntries(bodyTypes.map((name) => [name, { schema }]));
  return {
    ...(isWrite ? { parameters: WRITE_PARAMETERS, requestBody: { content, required: true } } : {}),
    responses: { "200": { description: "OK", content: { "application/json": { schema } } } },
    "x-kubernetes-action": action,
    "x-kubernetes-group-version-kind": { group, version, kind },
  };
}
