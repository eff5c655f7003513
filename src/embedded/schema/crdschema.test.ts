// Schemas of CRDs: each common mistake and the sentence a real API server refused it with.

import { describe, expect, it } from "vitest";
import { validateCrdSchema } from "./crdschema.ts";
import type { Schema } from "../types.ts";

const MAP = { type: "array", "x-kubernetes-list-type": "map" } as const;

const REFUSED: Readonly<Record<string, readonly [Schema, string]>> = {
  "a field without a type": [
    {},
    ".type Required value: must not be empty for specified object fields",
  ],
  "a reference": [{ $ref: "#/definitions/x" }, ".$ref Forbidden: $ref is not supported"],
  "properties beside additionalProperties": [
    {
      type: "object",
      properties: { a: { type: "string" } },
      additionalProperties: { type: "string" },
    },
    ".additionalProperties Forbidden: additionalProperties and properties are mutual exclusive",
  ],
  "a list without items": [{ type: "array" }, ".items Required value: must be specified"],
  "items without a type": [
    { type: "array", items: {} },
    ".items.type Required value: must not be empty for specified array items",
  ],
  "unique items": [
    { type: "array", uniqueItems: true, items: { type: "string" } },
    ".uniqueItems Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
  ],
  "a map list without keys": [
    { ...MAP, items: { type: "object" } },
    ".x-kubernetes-list-map-keys Required value: must not be empty if x-kubernetes-list-type is map",
  ],
  "a list key that items do not have": [
    { ...MAP, "x-kubernetes-list-map-keys": ["a"], items: { type: "object", properties: {} } },
    '.x-kubernetes-list-map-keys Invalid value: ["a"]: entries must all be names of item properties',
  ],
  "a list key that is neither required nor defaulted": [
    {
      ...MAP,
      "x-kubernetes-list-map-keys": ["a"],
      items: { type: "object", properties: { a: { type: "string" } } },
    },
    ".items.properties[a].default Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
  ],
  "a list key that is an object": [
    {
      ...MAP,
      "x-kubernetes-list-map-keys": ["a"],
      items: { type: "object", required: ["a"], properties: { a: { type: "object" } } },
    },
    `.items.properties[a].type Invalid value: "object": must be a scalar type if parent array's x-kubernetes-list-type is map`,
  ],
  "a set of objects": [
    { type: "array", "x-kubernetes-list-type": "set", items: { type: "object" } },
    ".items.x-kubernetes-map-type Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
  ],
  "a list type on an object": [
    { type: "object", "x-kubernetes-list-type": "set" },
    '.type Invalid value: "object": must be array if x-kubernetes-list-type is specified',
  ],
  "list keys without a list type": [
    { type: "array", "x-kubernetes-list-map-keys": ["a"], items: { type: "string" } },
    ".x-kubernetes-list-type Required value: must be map if x-kubernetes-list-map-keys is non-empty",
  ],
  "a map type on a text": [
    { type: "string", "x-kubernetes-map-type": "atomic" },
    '.type Invalid value: "string": must be object if x-kubernetes-map-type is specified',
  ],
  "preserve-unknown-fields: false": [
    { type: "object", "x-kubernetes-preserve-unknown-fields": false },
    ".x-kubernetes-preserve-unknown-fields Invalid value: false: must be true or undefined",
  ],
  "a type inside anyOf": [
    { type: "string", anyOf: [{ type: "string" }, { minLength: 2 }] },
    ".anyOf[0].type Forbidden: must be empty to be structural",
  ],
  "a default inside anyOf": [
    { type: "string", anyOf: [{ default: "x" }] },
    ".anyOf[0].default Forbidden: must be undefined to be structural",
  ],
  "an embedded resource without fields": [
    { type: "object", "x-kubernetes-embedded-resource": true },
    ".properties Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
  ],
  "a default of the wrong type": [
    { type: "integer", default: "x" },
    '.default Invalid value: "string":  in body must be of type integer: "string"',
  ],
};

const ACCEPTED: Readonly<Record<string, Schema>> = {
  "integer or text with its usual anyOf": {
    "x-kubernetes-int-or-string": true,
    anyOf: [{ type: "integer" }, { type: "string" }],
  },
  "anything at all": { "x-kubernetes-preserve-unknown-fields": true },
  "a map list with one required and one defaulted key": {
    ...MAP,
    "x-kubernetes-list-map-keys": ["port", "protocol"],
    items: {
      type: "object",
      required: ["port"],
      properties: { port: { type: "integer" }, protocol: { type: "string", default: "TCP" } },
    },
  },
  "value rules inside oneOf": {
    type: "object",
    properties: { a: { type: "string" } },
    oneOf: [{ required: ["a"] }, { not: { required: ["a"] } }],
  },
};

function judge(x: Schema): readonly string[] {
  const schema: Schema = { type: "object", properties: { x } };
  return validateCrdSchema(schema).map(({ field, message }) => `${field} ${message}`);
}

describe("a CRD's schema", () => {
  it.each(Object.entries(REFUSED))("may not hold %s", (_name, [schema, sentence]) => {
    expect(judge(schema)).toEqual([`spec.validation.openAPIV3Schema.properties[x]${sentence}`]);
  });

  it.each(Object.entries(ACCEPTED))("may hold %s", (_name, schema) => {
    expect(judge(schema)).toEqual([]);
  });

  it("must be an object at its root, without additional properties", () => {
    expect(validateCrdSchema({}, "root").map(({ message }) => message)).toEqual([
      "Required value: must not be empty at the root",
    ]);
    expect(validateCrdSchema({ type: "string" }, "root").map(({ message }) => message)).toEqual([
      'Invalid value: "string": must be object at the root',
    ]);
    const open: Schema = { type: "object", additionalProperties: { type: "string" } };
    expect(validateCrdSchema(open, "root").map(({ message }) => message)).toEqual([
      "Forbidden: must not be used at the root",
    ]);
  });

  it("may restrict the name and nothing else of metadata", () => {
    const metadata = (properties: Record<string, Schema>): Schema => ({
      type: "object",
      properties: { metadata: { type: "object", properties } },
    });
    expect(validateCrdSchema(metadata({ name: { type: "string" } }))).toEqual([]);
    expect(validateCrdSchema(metadata({ labels: { type: "object" } }), "root")).toEqual([
      {
        field: "root.properties[metadata]",
        reason: "FieldValueForbidden",
        message:
          "Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
      },
    ]);
  });

  it("may not hold a pattern that cannot be compiled", () => {
    expect(judge({ type: "string", pattern: "((" })[0]).toContain(
      '.pattern Invalid value: "((": must be a valid regular expression, but isn\'t',
    );
  });

  it("must declare what a junctor at its root names", () => {
    const schema: Schema = { type: "object", anyOf: [{ properties: { q: { minLength: 1 } } }] };
    expect(validateCrdSchema(schema, "root").map(({ message }) => message)).toEqual([
      "Required value: because it is defined in root.anyOf[0].properties[q]",
    ]);
  });
});
