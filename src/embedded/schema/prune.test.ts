// Pruning and defaulting: what goes, what stays, what is filled in.

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyDefaults } from "./defaults.ts";
import { pruneUnknown } from "./prune.ts";
import type { Definitions, JsonObject, Schema } from "../types.ts";

const SCHEMA: Schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        known: { type: "string" },
        items: { type: "array", items: { type: "object", properties: { a: { type: "string" } } } },
        map: {
          type: "object",
          additionalProperties: { type: "object", properties: { a: { type: "string" } } },
        },
        closed: { type: "object" },
        free: {
          type: "object",
          "x-kubernetes-preserve-unknown-fields": true,
          properties: { shut: { type: "object", properties: { a: { type: "string" } } } },
        },
        embedded: {
          type: "object",
          "x-kubernetes-embedded-resource": true,
          properties: { spec: { type: "object", properties: { a: { type: "string" } } } },
        },
      },
    },
  },
};

describe("pruning", () => {
  it("drops what the schema does not know and names it", () => {
    const { object, unknown } = pruneUnknown(
      SCHEMA,
      {},
      {
        apiVersion: "x.dev/v1",
        kind: "Thing",
        extra: 1,
        spec: {
          known: "x",
          other: 1,
          items: [{ a: "1", b: 2 }, { a: "2" }],
          map: { k: { a: "1", z: 1 } },
          closed: { x: 1 },
        },
      },
    );
    expect(unknown).toEqual([
      "extra",
      "spec.closed.x",
      "spec.items[0].b",
      "spec.map.k.z",
      "spec.other",
    ]);
    expect(object).toEqual({
      apiVersion: "x.dev/v1",
      kind: "Thing",
      spec: { known: "x", items: [{ a: "1" }, { a: "2" }], map: { k: { a: "1" } }, closed: {} },
    });
  });

  it("keeps unknown fields where the schema says so, but not below what it declares there", () => {
    const { object, unknown } = pruneUnknown(
      SCHEMA,
      {},
      {
        spec: { free: { any: { thing: [1] }, shut: { a: "1", b: 2 } } },
      },
    );
    expect(object).toEqual({ spec: { free: { any: { thing: [1] }, shut: { a: "1" } } } });
    expect(unknown).toEqual(["spec.free.shut.b"]);
  });

  it("keeps apiVersion, kind and metadata of embedded resources", () => {
    const embedded = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p", bogus: 1 },
      spec: { a: "1" },
      more: 1,
    };
    const { object, unknown } = pruneUnknown(SCHEMA, {}, { spec: { embedded } });
    expect(unknown).toEqual(["spec.embedded.metadata.bogus", "spec.embedded.more"]);
    expect(object).toEqual({
      spec: {
        embedded: { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: { a: "1" } },
      },
    });
  });

  it("keeps metadata to what ObjectMeta holds, and leaves out what is empty", () => {
    const { object, unknown } = pruneUnknown(
      SCHEMA,
      {},
      {
        metadata: { name: "a", labels: {}, finalizers: [], annotations: { x: "" }, bogus: 1 },
      },
    );
    expect(object).toEqual({ metadata: { name: "a", annotations: { x: "" } } });
    expect(unknown).toEqual(["metadata.bogus"]);
  });

  it("keeps everything in a built-in object that declares nothing", () => {
    const definitions: Definitions = {
      RawExtension: { type: "object" },
      Root: {
        type: "object",
        properties: { raw: { $ref: "#/definitions/RawExtension" }, any: {} },
      },
    };
    const object = { raw: { a: { b: 1 } }, any: { c: 1 } };
    const pruned = pruneUnknown({ $ref: "#/definitions/Root" }, definitions, { ...object, no: 1 });
    expect(pruned).toEqual({ object, unknown: ["no"] });
  });

  it("gives back the same object when nothing is unknown", () => {
    const object = { spec: { items: [{ a: "1" }] } };
    expect(pruneUnknown(SCHEMA, {}, object).object).toBe(object);
  });

  it("finds nothing more in what it has pruned", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom("spec", "known", "items"), fc.jsonValue()),
        (any) => {
          const object = { spec: any } as JsonObject;
          const once = pruneUnknown(SCHEMA, {}, object);
          const twice = pruneUnknown(SCHEMA, {}, once.object);
          expect(twice.unknown).toEqual([]);
          expect(twice.object).toBe(once.object);
        },
      ),
    );
  });
});

describe("defaulting", () => {
  const schema: Schema = {
    type: "object",
    properties: {
      spec: {
        type: "object",
        default: {},
        properties: {
          size: { type: "integer", default: 0 },
          mode: { type: "string", default: "auto" },
          note: { type: "string", nullable: true, default: "n" },
          plain: { type: "string" },
          ports: {
            type: "array",
            items: { type: "object", properties: { protocol: { type: "string", default: "TCP" } } },
          },
        },
      },
    },
  };

  it("fills in what is missing, nested defaults included", () => {
    expect(applyDefaults(schema, {}, {})).toEqual({ spec: { size: 0, mode: "auto", note: "n" } });
    expect(
      applyDefaults(schema, {}, { spec: { mode: "x", ports: [{}, { protocol: "UDP" }] } }),
    ).toEqual({
      spec: {
        mode: "x",
        ports: [{ protocol: "TCP" }, { protocol: "UDP" }],
        size: 0,
        note: "n",
      },
    });
  });

  it("takes a null for missing unless it is allowed", () => {
    expect(applyDefaults(schema, {}, { spec: { mode: null, note: null, plain: null } })).toEqual({
      spec: { mode: "auto", note: null, size: 0 },
    });
  });

  it("gives back the same object when nothing is missing", () => {
    const object = { spec: { size: 1, mode: "x", note: "y" } };
    expect(applyDefaults(schema, {}, object)).toBe(object);
  });

  it("does not take the Go zero values in built-in schemas for defaults", () => {
    const definitions: Definitions = {
      Time: { type: "string", format: "date-time" },
      Status: { type: "object", properties: { balancer: { type: "object", default: {} } } },
      Root: {
        type: "object",
        properties: {
          port: { type: "integer", default: 0 },
          protocol: { type: "string", default: "TCP" },
          status: { allOf: [{ $ref: "#/definitions/Status" }], default: {} },
          at: { allOf: [{ $ref: "#/definitions/Time" }], default: {} },
        },
      },
    };
    expect(applyDefaults({ $ref: "#/definitions/Root" }, definitions, {})).toEqual({
      protocol: "TCP",
      status: { balancer: {} },
    });
  });
});
