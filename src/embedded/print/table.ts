// Printing, last step: an object or a list and the columns of its type in, a meta.k8s.io `Table` or bare metadata out.
// Never changes the objects.

import type { KubeObject } from "../../api/object.ts";
import { renderAge } from "./age.ts";
import { canonicalJson, isJsonArray, isJsonObject } from "../json.ts";
import { parseJsonPath } from "./jsonpath.ts";
import { badRequest } from "../status.ts";
import type { Column, Json, JsonObject, ServedType } from "../types.ts";

export type IncludeObject = "None" | "Metadata" | "Object";

const META_VERSION = "meta.k8s.io/v1";

const NAME: Column = {
  name: "Name",
  type: "string",
  format: "name",
  description: "Name of the object, unique in its namespace for its kind.",
  cell: (object) => object.metadata.name ?? "",
};

/** From the query of the request; throws what the server answers to nonsense. */
export function parseIncludeObject(value: string | null): IncludeObject {
  if (value === null || value === "") return "Metadata";
  if (value === "None" || value === "Metadata" || value === "Object") return value;
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(value)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}

/** Turns objects and lists of one type into tables, at the time of each call. */
export function createPrinter(
  served: ServedType,
  includeObject: IncludeObject,
): (body: JsonObject, options: { nowMs: number; definitions: boolean }) => JsonObject {
  // Event tables place their own Name.
  const columns = served.columns.some((column) => column.name === "Name")
    ? served.columns
    : [NAME, ...served.columns];
  const cells = columns.map(createCell);
  const definitions = columns.map(renderDefinition);
  return (body, options) => ({
    kind: "Table",
    apiVersion: META_VERSION,
    metadata: tableMetadata(body),
    columnDefinitions: options.definitions ? definitions : null,
    rows: objectsOf(body).map((object) => ({
      cells: cells.map((cell) => cell(object, options.nowMs)),
      object: renderRowObject(object, includeObject),
    })),
  });
}

/** PartialObjectMetadata of an object, or PartialObjectMetadataList of a list. */
export function renderPartial(body: JsonObject): JsonObject {
  if (!isJsonArray(body["items"])) return renderPartialObject(body);
  return {
    kind: "PartialObjectMetadataList",
    apiVersion: META_VERSION,
    metadata: body["metadata"] ?? {},
    items: objectsOf(body).map(renderPartialObject),
  };
}

function renderPartialObject(object: JsonObject): JsonObject {
  return {
    kind: "PartialObjectMetadata",
    apiVersion: META_VERSION,
    metadata: object["metadata"] ?? {},
  };
}

function renderRowObject(object: JsonObject, include: IncludeObject): JsonObject | null {
  if (include === "None") return null;
  return include === "Object" ? object : renderPartialObject(object);
}

function objectsOf(body: JsonObject): readonly JsonObject[] {
  const items = body["items"];
  return isJsonArray(items) ? items.filter(isJsonObject) : [body];
}

/** A list's own metadata; of a single object only the version, as the rest is in its row. */
function tableMetadata(body: JsonObject): JsonObject {
  const metadata = body["metadata"];
  if (!isJsonObject(metadata)) return {};
  if (isJsonArray(body["items"])) return metadata;
  const version = metadata["resourceVersion"];
  return version === undefined ? {} : { resourceVersion: version };
}

function renderDefinition(column: Column): JsonObject {
  const description =
    column.description ??
    (column.jsonPath === undefined
      ? ""
      : `Custom resource definition column (in JSONPath format): ${column.jsonPath}`);
  return {
    name: column.name,
    type: column.type,
    format: column.format ?? "",
    description,
    priority: column.priority ?? 0,
  };
}

function createCell(column: Column): (object: JsonObject, nowMs: number) => Json {
  const compute = column.cell;
  if (compute !== undefined) {
    return (object, nowMs) => (isKubeObject(object) ? compute(object, nowMs) : null);
  }
  const select = parseJsonPath(column.jsonPath ?? "");
  if (select === undefined) return () => null;
  return (object, nowMs) => {
    // Only the first of several matches is printed, as on a real server.
    const [value] = select(object);
    return value === undefined ? null : renderValue(value, column.type, nowMs);
  };
}

/** A value that does not fit the column's type prints nothing. */
function renderValue(value: Json, type: string, nowMs: number): Json {
  switch (type) {
    case "string":
      return renderText(value);
    case "date":
      return typeof value === "string" ? renderAge(value, nowMs) : null;
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    default:
      return null;
  }
}

function renderText(value: Json): Json {
  if (typeof value === "string") return value;
  return value === null ? "<nil>" : canonicalJson(value);
}

function isKubeObject(value: unknown): value is KubeObject {
  return (
    typeof value === "object" && value !== null && "metadata" in value && Boolean(value.metadata)
  );
}
