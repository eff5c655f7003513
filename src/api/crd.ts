// From a typebox schema to a CustomResourceDefinition with a structural schema: no $ref, every node typed and described.
// Pure; throws on a schema that an API server would refuse or that would leave `kubectl explain` empty.

import type { TSchema } from "typebox";

import type { CustomResourceDefinition } from "./builtin.ts";
import { CUSTOM_RESOURCE_DEFINITION } from "./builtin.ts";
import { apiVersionOf } from "./object.ts";

type CrdVersion = CustomResourceDefinition["spec"]["versions"][number];

export interface CrdVersionDeclaration {
  readonly name: string;
  readonly storage: boolean;
  /** An object schema with `spec` and perhaps `status`; apiVersion, kind and metadata are added here. */
  readonly schema: TSchema;
  /** Whether `/status` is written apart from the rest. */
  readonly hasStatus: boolean;
  readonly columns: NonNullable<CrdVersion["additionalPrinterColumns"]>;
}

export interface CrdDeclaration {
  readonly group: string;
  readonly scope: "Namespaced" | "Cluster";
  readonly kind: string;
  readonly plural: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Rule for metadata.name, beyond what every name must satisfy. */
  readonly nameRule?: { readonly maxLength: number; readonly pattern: string };
  /** All of them are served. */
  readonly versions: readonly CrdVersionDeclaration[];
}

export const AGE_COLUMN = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
} as const;

export function renderCrd(declaration: CrdDeclaration): CustomResourceDefinition {
  const { group, kind, plural, shortNames, categories, labels, annotations } = declaration;
  return {
    apiVersion: apiVersionOf(CUSTOM_RESOURCE_DEFINITION),
    kind: CUSTOM_RESOURCE_DEFINITION.kind,
    metadata: { name: `${plural}.${group}`, labels, ...(annotations && { annotations }) },
    spec: {
      group,
      scope: declaration.scope,
      names: {
        kind,
        plural,
        singular: kind.toLowerCase(),
        ...(shortNames && { shortNames }),
        ...(categories && { categories }),
      },
      versions: declaration.versions.map((version) => renderVersion(version, declaration)),
    },
  };
}

function renderVersion(version: CrdVersionDeclaration, declaration: CrdDeclaration): CrdVersion {
  return {
    name: version.name,
    served: true,
    storage: version.storage,
    subresources: version.hasStatus ? { status: {} } : {},
    additionalPrinterColumns: version.columns,
    schema: { openAPIV3Schema: renderRoot(version.schema, declaration) },
  };
}

/** What a structural schema of ours consists of. */
interface SchemaNode {
  readonly [keyword: string]: unknown;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
}

function renderRoot(schema: TSchema, { kind, nameRule }: CrdDeclaration): SchemaNode {
  const { properties, ...root } = renderNode(schema, kind);
  return {
    ...root,
    properties: {
      apiVersion: {
        description: "Group and version of this object's schema.",
        type: "string",
      },
      kind: { description: "The type of this object.", type: "string" },
      metadata: {
        type: "object",
        // The only field of metadata, besides generateName, that a CRD may restrict.
        ...(nameRule && { properties: { name: { type: "string", ...nameRule } } }),
      },
      ...properties,
    },
  };
}

/** Keywords that pass unchanged, in the order in which they are written. */
const PLAIN_KEYWORDS = [
  "format",
  "enum",
  "pattern",
  "minLength",
  "maxLength",
  "minimum",
  "maximum",
  "minItems",
  "maxItems",
  "maxProperties",
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
] as const;
const KNOWN_KEYWORDS = new Set<string>([
  ...PLAIN_KEYWORDS,
  "type",
  "description",
  "required",
  "properties",
  "patternProperties",
  "items",
]);

function renderNode(source: unknown, path: string): SchemaNode {
  const node = requireRecord(source, path);
  for (const keyword of Object.keys(node)) {
    if (!KNOWN_KEYWORDS.has(keyword)) {
      throw new Error(`${path}: "${keyword}" has no place in the structural schema of a CRD`);
    }
  }
  // typebox leaves out the type of an enum; all of ours are strings.
  const type = node["type"] ?? ("enum" in node ? "string" : undefined);
  if (type === undefined) {
    throw new Error(`${path}: a structural schema needs a type on every node`);
  }
  const { description, required } = node;
  return {
    ...(description !== undefined && { description }),
    type,
    ...Object.fromEntries(
      PLAIN_KEYWORDS.filter((keyword) => node[keyword] !== undefined).map((keyword) => [
        keyword,
        node[keyword],
      ]),
    ),
    ...(Array.isArray(required) &&
      required.length > 0 && { required: required.map(String).toSorted() }),
    ...renderChildren(node, path),
  };
}

function renderChildren(node: Readonly<Record<string, unknown>>, path: string): SchemaNode {
  const { properties, patternProperties, items } = node;
  const fields = Object.entries(properties ?? {});
  for (const [name, field] of fields) {
    if (!("description" in requireRecord(field, `${path}.${name}`))) {
      throw new Error(`${path}.${name}: a field without a description`);
    }
  }
  return {
    ...(fields.length > 0 && {
      properties: Object.fromEntries(
        fields.map(([name, field]) => [name, renderNode(field, `${path}.${name}`)]),
      ),
    }),
    // typebox writes a map as one pattern that matches every key.
    ...(patternProperties !== undefined && {
      additionalProperties: renderNode(
        Object.values(requireRecord(patternProperties, path))[0],
        `${path}.*`,
      ),
    }),
    ...(items !== undefined && { items: renderNode(items, `${path}[]`) }),
  };
}

function requireRecord(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error(`${path}: not a schema`);
  }
  return { ...value };
}
