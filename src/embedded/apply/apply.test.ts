// Server-side apply: ownership, conflicts, removal and times, as observed on a real API server.

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TypedError } from "./typed.ts";
import { FIRST, fieldsOf, IDENTITY, LATER, World } from "../../../test/applyWorld.ts";

describe("applying", () => {
  it("creates the object and owns exactly what it set", () => {
    const state = new World().apply("one", {
      metadata: { name: "a", labels: { app: "x" } },
      spec: { size: 1, ports: [{ port: 80 }] },
    });
    expect(state.object).toEqual({
      ...IDENTITY,
      metadata: { name: "a", labels: { app: "x" } },
      spec: { size: 1, ports: [{ port: 80 }] },
    });
    expect(state.managedFields).toEqual([
      {
        manager: "one",
        operation: "Apply",
        apiVersion: "x.dev/v1",
        time: FIRST,
        fieldsType: "FieldsV1",
        fieldsV1: {
          "f:metadata": { "f:labels": { "f:app": {} } },
          "f:spec": {
            "f:ports": { 'k:{"port":80,"protocol":"TCP"}': { ".": {}, "f:port": {} } },
            "f:size": {},
          },
        },
      },
    ]);
  });

  it("conflicts with another owner only where the value differs", () => {
    const world = new World();
    world.apply("one", { spec: { size: 1, name: "n" } });
    const result = world.tryApply("two", { spec: { size: 2, name: "n" } });
    expect(result).toEqual({
      kind: "conflict",
      message: 'Apply failed with 1 conflict: conflict with "one": .spec.size',
      conflicts: [
        {
          reason: "FieldManagerConflict",
          message: 'conflict with "one"',
          field: ".spec.size",
        },
      ],
    });
  });

  it("names every conflicting field, with the version an updater used", () => {
    const world = new World();
    world.update("editor", {
      spec: { name: "n", ports: [{ port: 80, protocol: "TCP", name: "x" }] },
    });
    const result = world.tryApply("two", { spec: { name: "m", ports: [{ port: 80, name: "y" }] } });
    expect(result).toMatchObject({
      kind: "conflict",
      message: [
        'Apply failed with 2 conflicts: conflicts with "editor" using x.dev/v1:',
        "- .spec.name",
        '- .spec.ports[port=80,protocol="TCP"].name',
      ].join("\n"),
    });
  });

  it("shares ownership of an equal value, which then outlives either owner", () => {
    const world = new World();
    world.apply("one", { spec: { size: 1, name: "n" } });
    const shared = world.apply("two", { spec: { size: 1 } });
    expect(fieldsOf(shared, "one")).toEqual({ "f:spec": { "f:name": {}, "f:size": {} } });
    expect(fieldsOf(shared, "two")).toEqual({ "f:spec": { "f:size": {} } });
    expect(world.apply("one", { spec: { name: "n" } }).object).toMatchObject({
      spec: { size: 1, name: "n" },
    });
    expect(world.apply("two", {}).object["spec"]).toEqual({ name: "n" });
  });

  it("takes fields over by force, and drops owners that have nothing left", () => {
    const world = new World();
    world.apply("one", { spec: { size: 1 } });
    const state = world.apply("two", { spec: { size: 2 } }, { force: true });
    expect(state.object["spec"]).toEqual({ size: 2 });
    expect(state.managedFields.map((entry) => entry.manager)).toEqual(["two"]);
  });

  it("removes what it no longer sets, unless somebody else owns it", () => {
    const world = new World();
    world.apply("one", { spec: { size: 1, set: ["a", "b"], ports: [{ port: 80, name: "x" }] } });
    world.apply("two", { spec: { set: ["b"] } });
    expect(world.apply("one", { spec: { size: 1 } }).object["spec"]).toEqual({
      size: 1,
      set: ["b"],
    });
  });

  it("leaves alone what nobody or an updater owns", () => {
    const world = new World();
    world.update("editor", {
      spec: { name: "n", ports: [{ port: 80, protocol: "TCP", name: "x" }] },
    });
    world.apply("one", { spec: { size: 1, ports: [{ port: 80 }] } });
    expect(world.apply("one", {}).object["spec"]).toEqual({
      name: "n",
      ports: [{ port: 80, protocol: "TCP", name: "x" }],
    });
  });

  it("leaves alone what came into the object without an owner, while it holds the parent", () => {
    const world = new World();
    const { object, managedFields } = world.apply("one", { spec: { size: 1, set: ["a"] } });
    const spec = { size: 1, set: ["a"], name: "filled in" };
    world.state = { object: { ...object, spec }, managedFields };
    expect(world.apply("one", { spec: { size: 1 } }).object["spec"]).toEqual({
      size: 1,
      name: "filled in",
    });
    expect(
      world.apply("one", { metadata: { name: "a", labels: { a: "b" } } }).object,
    ).not.toHaveProperty("spec");
  });

  it("stays one owner when it applies with another version", () => {
    const world = new World();
    world.apply("one", { spec: { size: 1 } });
    const old = (world.state?.managedFields ?? []).map((entry) => ({
      ...entry,
      apiVersion: "x.dev/v1beta1",
    }));
    world.state = { object: world.state!.object, managedFields: old };
    const state = world.apply("one", { spec: { name: "n" } });
    expect(state.managedFields.map((entry) => entry.apiVersion)).toEqual(["x.dev/v1"]);
    expect(state.object["spec"]).toEqual({ name: "n" });
  });

  it("keeps a map or keyed list that null is applied to", () => {
    const world = new World();
    world.update("editor", { metadata: { name: "a", labels: { a: "b" } }, spec: { set: ["x"] } });
    const state = world.apply("one", {
      metadata: { name: "a", labels: null },
      spec: { set: null },
    });
    expect(state.object).toMatchObject({ metadata: { labels: { a: "b" } }, spec: { set: ["x"] } });
  });

  it("replaces atomic lists and maps as one", () => {
    const world = new World();
    world.apply("one", { spec: { atomic: ["a", "b"], whole: { x: "1", y: "2" } } });
    const state = world.apply("one", { spec: { atomic: ["c"], whole: { x: "1" } } });
    expect(state.object["spec"]).toEqual({ atomic: ["c"], whole: { x: "1" } });
    expect(fieldsOf(state, "one")).toEqual({ "f:spec": { "f:atomic": {}, "f:whole": {} } });
  });

  it("finds list items by their keys, defaulted keys included", () => {
    const world = new World();
    world.apply("one", { spec: { ports: [{ port: 80, name: "x" }] } });
    const state = world.apply("two", {
      spec: { ports: [{ port: 80, protocol: "TCP", name: "x" }] },
    });
    expect(state.object["spec"]).toEqual({ ports: [{ port: 80, name: "x", protocol: "TCP" }] });
    expect(
      world.apply("three", { spec: { ports: [{ port: 80, protocol: "UDP" }] } }).object["spec"],
    ).toEqual({
      ports: [
        { port: 80, name: "x", protocol: "TCP" },
        { port: 80, protocol: "UDP" },
      ],
    });
  });

  it("lets the applied order win among the items it names", () => {
    const world = new World();
    world.apply("one", { spec: { set: ["a", "b", "c"] } });
    world.apply("two", { spec: { set: ["d"] } });
    expect(world.apply("one", { spec: { set: ["c", "a", "b"] } }).object["spec"]).toEqual({
      set: ["c", "d", "a", "b"],
    });
  });

  it("tracks free-form objects key by key", () => {
    const world = new World();
    const state = world.apply("one", { spec: { free: { a: { b: 1 }, l: [1, 2] } } });
    expect(fieldsOf(state, "one")).toEqual({
      "f:spec": { "f:free": { "f:a": { ".": {}, "f:b": {} }, "f:l": {} } },
    });
  });

  it("follows a value from scalar to object and back", () => {
    const world = new World();
    world.update("one", { spec: { free: { q: 1 } } });
    const state = world.update("two", { spec: { free: { q: { r: 1 } } } });
    expect(fieldsOf(state, "two", "Update")).toEqual({
      "f:spec": { "f:free": { "f:q": { ".": {}, "f:r": {} } } },
    });
    expect(fieldsOf(world.update("two", { spec: { free: { q: 2 } } }), "two", "Update")).toEqual({
      "f:spec": { "f:free": { "f:q": {} } },
    });
  });

  it("keeps object and times as they were when nothing changes", () => {
    const world = new World();
    world.apply("one", { spec: { size: 1 } });
    const before = world.state;
    world.time = LATER;
    const after = world.apply("one", { spec: { size: 1 } });
    expect(after.object).toBe(before?.object);
    expect(after.managedFields).toBe(before?.managedFields);
  });

  it("changes its time when it changes the object", () => {
    const world = new World();
    world.apply("one", { spec: { size: 1 } });
    world.time = LATER;
    expect(world.apply("one", { spec: { size: 2 } }).managedFields[0]?.time).toBe(LATER);
  });

  it("gives everything that was there before the first apply to its own owner", () => {
    const world = new World();
    world.state = {
      object: { ...IDENTITY, metadata: { name: "a" }, spec: { size: 1 } },
      managedFields: [],
    };
    const state = world.apply("one", { spec: { name: "n" } });
    expect(fieldsOf(state, "before-first-apply", "Update")).toEqual({
      "f:spec": { ".": {}, "f:size": {} },
    });
    expect(world.tryApply("one", { spec: { size: 2 } }).kind).toBe("conflict");
  });

  it("neither owns nor fights over fields that the endpoint resets", () => {
    const world = new World();
    const state = world.apply("one", { spec: { size: 1 }, status: { phase: "x" } });
    expect(fieldsOf(state, "one")).toEqual({ "f:spec": { "f:size": {} } });
  });

  it.each([
    [
      "a field the schema does not declare",
      { spec: { sise: 1 } },
      ".spec.sise: field not declared in schema",
    ],
    [
      "two items with one key",
      { spec: { ports: [{ port: 1 }, { port: 1, protocol: "TCP" }] } },
      '.spec.ports: duplicate entries for key [port=1,protocol="TCP"]',
    ],
    ["a scalar where a list belongs", { spec: { set: 5 } }, ".spec.set: expected list, got &{5}"],
  ])("refuses %s", (_name, content, sentence) => {
    const world = new World();
    expect(() => world.apply("one", content)).toThrow(new TypedError(sentence));
  });

  const content = fc.record(
    {
      size: fc.integer({ min: 0, max: 2 }),
      name: fc.constantFrom("x", "y"),
      atomic: fc.array(fc.constantFrom("a", "b"), { maxLength: 2 }),
      // An empty keyed list owns nothing, so a server first prunes what was in it and only then adds it, empty.
      set: fc.uniqueArray(fc.constantFrom("a", "b", "c"), { minLength: 1 }),
      ports: fc.uniqueArray(
        fc.record(
          {
            port: fc.constantFrom(1, 2),
            protocol: fc.constantFrom("TCP", "UDP"),
            name: fc.constantFrom("p", "q"),
          },
          { requiredKeys: ["port"] },
        ),
        { minLength: 1, selector: (port) => `${port.port}/${port.protocol ?? "TCP"}` },
      ),
    },
    // An applier that owns nothing is forgotten.
    { requiredKeys: ["size"] },
  );
  const write = fc.record({ manager: fc.constantFrom("one", "two", "three"), spec: content });

  it("changes nothing when the same thing is applied twice", () => {
    fc.assert(
      fc.property(fc.array(write, { maxLength: 5 }), write, (history, last) => {
        const world = new World();
        for (const { manager, spec } of history) world.apply(manager, { spec }, { force: true });
        world.apply(last.manager, { spec: last.spec }, { force: true });
        const before = world.state;
        world.time = LATER;
        const after = world.apply(last.manager, { spec: last.spec });
        expect(after.object).toEqual(before?.object);
        expect(after.managedFields).toEqual(before?.managedFields);
      }),
    );
  });

  it("removes everything again when every applier applies nothing", () => {
    fc.assert(
      fc.property(fc.array(write, { minLength: 1, maxLength: 6 }), (history) => {
        const world = new World();
        for (const { manager, spec } of history) world.apply(manager, { spec }, { force: true });
        for (const manager of ["one", "two", "three"]) world.apply(manager, {});
        expect(world.state?.managedFields).toEqual([]);
        const spec = world.state?.object["spec"] ?? {};
        expect(Object.values(spec).flat()).toEqual([]);
      }),
    );
  });
});
