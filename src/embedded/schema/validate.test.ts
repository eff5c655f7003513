// Validation: every refusal in the words that a real API server used for the same schema and object.

import { describe, expect, it } from "vitest";
import { validateObject } from "./validate.ts";
import type { Json, JsonObject, Schema } from "../types.ts";

function spec(properties: Readonly<Record<string, Schema>>, more: Partial<Schema> = {}): Schema {
  return { type: "object", properties: { spec: { type: "object", properties, ...more } } };
}

function failures(schema: Schema, object: JsonObject): readonly string[] {
  return validateObject(schema, {}, object).map(
    ({ field, reason, message }) => `${field} ${reason} ${message}`,
  );
}

const RULES: Readonly<Record<string, readonly [Schema, Json, readonly string[]]>> = {
  "a text where an integer belongs": [
    { type: "integer" },
    "x",
    [
      'spec.x FieldValueTypeInvalid Invalid value: "string": spec.x in body must be of type integer: "string"',
    ],
  ],
  "an integer where a text belongs": [
    { type: "string" },
    5,
    [
      'spec.x FieldValueTypeInvalid Invalid value: "integer": spec.x in body must be of type string: "integer"',
    ],
  ],
  "a fraction where an integer belongs": [
    { type: "integer" },
    1.5,
    [
      'spec.x FieldValueTypeInvalid Invalid value: "number": spec.x in body must be of type integer: "number"',
    ],
  ],
  "a null where none is allowed": [
    { type: "string" },
    null,
    [
      'spec.x FieldValueTypeInvalid Invalid value: "null": spec.x in body must be of type string: "null"',
    ],
  ],
  "a fraction in an int64": [
    { type: "integer", format: "int64" },
    1.5,
    [
      'spec.x FieldValueTypeInvalid Invalid value: "float64": spec.x in body must be of type int64: "float64"',
      '<nil> FieldValueInvalid Invalid value: "": Checked value must be of type integer with format int64 in spec.x',
    ],
  ],
  "an int32 that is too large": [
    { type: "integer", format: "int32" },
    3_000_000_000,
    [
      '<nil> FieldValueInvalid Invalid value: "": Checked value must be of type integer with format int32 in spec.x',
    ],
  ],
  "a number where a time belongs": [
    { type: "string", format: "date-time" },
    5,
    [
      'spec.x FieldValueTypeInvalid Invalid value: "int64": spec.x in body must be of type date-time: "int64"',
    ],
  ],
  "a text that is no time": [
    { type: "string", format: "date-time" },
    "yesterday",
    [
      'spec.x FieldValueTypeInvalid Invalid value: "yesterday": spec.x in body must be of type date-time: "yesterday"',
    ],
  ],
  "a text that is too long": [
    { type: "string", maxLength: 3 },
    "abcd",
    ["spec.x FieldValueTooLong Too long: may not be more than 3 bytes"],
  ],
  "a text that is too short": [
    { type: "string", minLength: 2 },
    "a",
    ['spec.x FieldValueInvalid Invalid value: "a": spec.x in body should be at least 2 chars long'],
  ],
  "a text that does not match": [
    { type: "string", pattern: "^a+$" },
    "b",
    [`spec.x FieldValueInvalid Invalid value: "b": spec.x in body should match '^a+$'`],
  ],
  "a value outside of the enumeration": [
    { type: "string", enum: ["A", "B"] },
    "C",
    ['spec.x FieldValueNotSupported Unsupported value: "C": supported values: "A", "B"'],
  ],
  "a number outside of the enumeration": [
    { type: "integer", enum: [1, 2] },
    3,
    ['spec.x FieldValueNotSupported Unsupported value: 3: supported values: "1", "2"'],
  ],
  "a number above the maximum": [
    { type: "integer", maximum: 10 },
    11,
    [
      "spec.x FieldValueInvalid Invalid value: 11: spec.x in body should be less than or equal to 10",
    ],
  ],
  "a number at an exclusive limit": [
    { type: "number", minimum: 1, exclusiveMinimum: true },
    1,
    ["spec.x FieldValueInvalid Invalid value: 1: spec.x in body should be greater than 1"],
  ],
  "a number that is no multiple": [
    { type: "number", multipleOf: 0.5 },
    0.7,
    ["spec.x FieldValueInvalid Invalid value: 0.7: spec.x in body should be a multiple of 0.5"],
  ],
  "too many items, and one too long": [
    { type: "array", maxItems: 2, items: { type: "string", maxLength: 3 } },
    ["a", "bbbb", "c"],
    [
      "spec.x[1] FieldValueTooLong Too long: may not be more than 3 bytes",
      "spec.x FieldValueTooMany Too many: 3: must have at most 2 items",
    ],
  ],
  "too few items": [
    { type: "array", minItems: 1, items: { type: "string" } },
    [],
    ["spec.x FieldValueInvalid Invalid value: 0: spec.x in body should have at least 1 items"],
  ],
  "too many properties": [
    { type: "object", maxProperties: 1, additionalProperties: { type: "integer" } },
    { a: 1, b: "x" },
    [
      "spec.x FieldValueTooMany Too many: 2: must have at most 1 item",
      'spec.x.b FieldValueTypeInvalid Invalid value: "string": spec.x.b in body must be of type integer: "string"',
    ],
  ],
  "an item repeated in a set, told once": [
    { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
    ["a", "a", "b", "a"],
    ['spec.x[1] FieldValueDuplicate Duplicate value: "a"'],
  ],
  "a key repeated in a map": [
    {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["protocol", "port"],
      items: { type: "object" },
    },
    [
      { port: 1, protocol: "TCP" },
      { port: 1, protocol: "TCP", more: 1 },
    ],
    ['spec.x[1] FieldValueDuplicate Duplicate value: {"port":1,"protocol":"TCP"}'],
  ],
  "a truth where an integer or text belongs": [
    { "x-kubernetes-int-or-string": true },
    true,
    [
      'spec.x FieldValueTypeInvalid Invalid value: "boolean": spec.x in body must be of type integer,string: "boolean"',
    ],
  ],
  "an object that fits no branch of anyOf": [
    { type: "object", anyOf: [{ required: ["a"] }, { required: ["b"] }] },
    {},
    [
      '<nil> FieldValueInvalid Invalid value: "": "spec.x" must validate at least one schema (anyOf)',
      "spec.x.a FieldValueRequired Required value",
    ],
  ],
  "an object that fits two branches of oneOf": [
    { type: "object", oneOf: [{ required: ["a"] }, { required: ["b"] }] },
    { a: 1, b: 2 },
    [
      '<nil> FieldValueInvalid Invalid value: "": "spec.x" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    ],
  ],
  "an object that fits no branch of oneOf": [
    { type: "object", oneOf: [{ required: ["a"] }, { required: ["b"] }] },
    {},
    [
      '<nil> FieldValueInvalid Invalid value: "": "spec.x" must validate one and only one schema (oneOf). Found none valid',
      "spec.x.a FieldValueRequired Required value",
    ],
  ],
  "a text that fails all of allOf": [
    { type: "string", allOf: [{ minLength: 2 }, { pattern: "^b" }] },
    "a",
    [
      'spec.x FieldValueInvalid Invalid value: "a": spec.x in body should be at least 2 chars long',
      "spec.x FieldValueInvalid Invalid value: \"a\": spec.x in body should match '^b'",
      '<nil> FieldValueInvalid Invalid value: "": "spec.x" must validate all the schemas (allOf). None validated',
    ],
  ],
  "what not forbids": [
    { type: "string", not: { enum: ["bad"] } },
    "bad",
    ['<nil> FieldValueInvalid Invalid value: "": "spec.x" must not validate the schema (not)'],
  ],
  "an embedded resource without its kind": [
    {
      type: "object",
      "x-kubernetes-embedded-resource": true,
      "x-kubernetes-preserve-unknown-fields": true,
    },
    { apiVersion: "v1" },
    ["spec.x.kind FieldValueRequired Required value"],
  ],
};

const GOOD: Readonly<Record<string, readonly [Schema, Json]>> = {
  "an integer as a number": [{ type: "number" }, 1],
  "a whole number as an integer": [{ type: "integer" }, 2.0],
  "a null where it is allowed": [{ type: "string", enum: ["a"], nullable: true }, null],
  "either kind of an integer or text": [{ "x-kubernetes-int-or-string": true }, "http"],
  "a format that servers ignore": [{ type: "string", format: "int-or-string" }, "anything"],
  "length counted in characters": [{ type: "string", maxLength: 2 }, "\u{1F600}\u{1F600}"],
  "fields that the schema does not name": [{ type: "object" }, { anything: 1 }],
};

describe("validating an object", () => {
  it.each(Object.entries(RULES))("refuses %s", (_name, [schema, value, expected]) => {
    expect(failures(spec({ x: schema }), { spec: { x: value } })).toEqual(expected);
  });

  it.each(Object.entries(GOOD))("accepts %s", (_name, [schema, value]) => {
    expect(failures(spec({ x: schema }), { spec: { x: value } })).toEqual([]);
  });

  it("names required fields from the root on", () => {
    const schema: Schema = { ...spec({}, { required: ["a"] }), required: ["spec"] };
    expect(failures(schema, {})).toEqual(["spec FieldValueRequired Required value"]);
    expect(failures(schema, { spec: {} })).toEqual(["spec.a FieldValueRequired Required value"]);
  });

  it("checks the types of metadata, of which a CRD does not speak", () => {
    expect(failures(spec({}), { metadata: { labels: { a: 1 } } })).toEqual([
      'metadata.labels.a FieldValueTypeInvalid Invalid value: "integer": metadata.labels.a in body must be of type string: "integer"',
    ]);
  });

  it("follows references, bare or wrapped in allOf", () => {
    const definitions = {
      Port: { type: "object", required: ["port"], properties: { port: { type: "integer" } } },
    } satisfies Record<string, Schema>;
    const schema: Schema = {
      type: "object",
      properties: {
        bare: { $ref: "#/definitions/Port" },
        wrapped: { allOf: [{ $ref: "#/definitions/Port" }], default: {} },
      },
    };
    const object = { bare: {}, wrapped: { port: "x" } };
    expect(validateObject(schema, definitions, object).map(({ field }) => field)).toEqual([
      "bare.port",
      "wrapped.port",
    ]);
  });

  it("throws when a reference leads nowhere", () => {
    const schema: Schema = { $ref: "#/definitions/Missing" };
    expect(() => validateObject(schema, { Other: {} }, {})).toThrow("unknown definition Missing");
  });
});
