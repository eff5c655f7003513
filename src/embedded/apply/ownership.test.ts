// Ownership after updates that are not applies: who owns what, and since when, as observed on a real API server.

import { describe, expect, it } from "vitest";
import { retainTimestamps, trackUpdate } from "./apply.ts";
import type { Definitions } from "../types.ts";
import {
  FIRST,
  fieldsOf,
  IDENTITY,
  LATER,
  SCHEMA,
  withManagedFields,
  World,
} from "../../../test/applyWorld.ts";

describe("tracking an update", () => {
  it("gives changed fields to the writer and takes them from their owners", () => {
    const world = new World();
    world.apply("one", { spec: { size: 1, name: "n" } });
    world.time = LATER;
    const state = world.update("editor", { spec: { size: 2, name: "n" } });
    expect(fieldsOf(state, "one")).toEqual({ "f:spec": { "f:name": {} } });
    expect(fieldsOf(state, "editor", "Update")).toEqual({ "f:spec": { "f:size": {} } });
    expect(state.managedFields.map((entry) => entry.time)).toEqual([FIRST, LATER]);
  });

  it("takes removed fields from everyone", () => {
    const world = new World();
    world.apply("one", { spec: { size: 1 } });
    expect(world.update("editor", {}).managedFields).toEqual([]);
  });

  it("owns the objects that it brings into being", () => {
    const state = new World().update("creator", {
      metadata: { name: "a", uid: "u", resourceVersion: "1", labels: { app: "x" } },
      spec: { size: 1 },
    });
    expect(fieldsOf(state, "creator", "Update")).toEqual({
      "f:metadata": { "f:labels": { ".": {}, "f:app": {} } },
      "f:spec": { ".": {}, "f:size": {} },
    });
  });

  it("does not own the structs that built-in types are born with", () => {
    const definitions: Definitions = {
      Spec: { type: "object", properties: { size: { type: "integer" } } },
      Root: {
        type: "object",
        properties: { spec: { allOf: [{ $ref: "#/definitions/Spec" }], default: {} } },
      },
    };
    const [entry] = trackUpdate({
      schema: { $ref: "#/definitions/Root" },
      definitions,
      before: undefined,
      after: { ...IDENTITY, spec: { size: 1 } },
      manager: "creator",
      operation: "Update",
      apiVersion: "v1",
      time: FIRST,
    });
    expect(entry?.fieldsV1).toEqual({ "f:spec": { "f:size": {} } });
  });

  it("keeps an updater's earlier fields and the ledger itself when nothing changes", () => {
    const world = new World();
    world.update("editor", { spec: { size: 1 } });
    const before = world.state?.managedFields;
    world.time = LATER;
    expect(world.update("editor", { spec: { size: 1 } }).managedFields).toEqual(before);
    expect(
      fieldsOf(world.update("editor", { spec: { size: 1, name: "n" } }), "editor", "Update"),
    ).toEqual({ "f:spec": { ".": {}, "f:name": {}, "f:size": {} } });
  });

  it("leaves an object untracked that was never tracked", () => {
    const world = new World();
    world.state = { object: { ...IDENTITY, metadata: { name: "a" } }, managedFields: [] };
    expect(world.update("editor", { spec: { size: 1 } }).managedFields).toEqual([]);
  });

  it("keeps status and main resource apart", () => {
    const after = {
      ...IDENTITY,
      metadata: { name: "a" },
      spec: { size: 1 },
      status: { phase: "x" },
    };
    const [entry] = trackUpdate({
      schema: SCHEMA,
      definitions: {},
      before: undefined,
      after,
      manager: "controller",
      operation: "Update",
      apiVersion: "x.dev/v1",
      subresource: "status",
      resetFields: [["metadata"], ["spec"]],
      time: FIRST,
    });
    expect(entry).toMatchObject({
      subresource: "status",
      fieldsV1: { "f:status": { ".": {}, "f:phase": {} } },
    });
  });

  it("lets a client edit the ledger, and forget it with one empty entry", () => {
    const world = new World();
    world.apply("one", { spec: { size: 1 } });
    const edited = [{ ...world.state?.managedFields[0], manager: "renamed" }];
    const common = {
      schema: SCHEMA,
      definitions: {},
      before: world.stored(),
      manager: "editor",
      operation: "Update",
      apiVersion: "x.dev/v1",
      time: LATER,
    } as const;
    const object = world.state!.object;
    const renamed = trackUpdate({
      ...common,
      after: withManagedFields({ object, managedFields: edited }),
    });
    expect(renamed.map((entry) => entry.manager)).toEqual(["renamed"]);
    const forgotten = trackUpdate({
      ...common,
      after: withManagedFields({ object, managedFields: [{}] }),
    });
    expect(forgotten).toEqual([]);
    const broken = trackUpdate({
      ...common,
      after: withManagedFields({ object, managedFields: [{ manager: "x" }] }),
    });
    expect(broken.map((entry) => entry.manager)).toEqual(["one"]);
  });

  it("folds the oldest updaters into one entry beyond ten", () => {
    const world = new World();
    for (let index = 0; index < 14; index += 1) {
      world.time = `2030-01-01T00:00:${String(index).padStart(2, "0")}Z`;
      const free = Object.fromEntries(
        Array.from({ length: index + 1 }, (_, key) => [`k${key}`, 1]),
      );
      world.update(`editor-${index}`, { spec: { free } });
    }
    const managers = world.state!.managedFields.map((entry) => entry.manager);
    expect(managers).toHaveLength(10);
    expect(managers).toContain("ancient-changes");
    expect(fieldsOf(world.state!, "ancient-changes", "Update")).toMatchObject({
      "f:spec": { "f:free": { "f:k0": {}, "f:k4": {} } },
    });
  });
});

describe("retaining timestamps", () => {
  const entry = { manager: "one", operation: "Apply", time: FIRST } as const;
  const before = {
    ...IDENTITY,
    metadata: { name: "a", resourceVersion: "1", managedFields: [entry] },
  };

  it("gives back the stored object when only times differ", () => {
    const after = {
      ...before,
      metadata: { ...before.metadata, managedFields: [{ ...entry, time: LATER }] },
    };
    expect(retainTimestamps(before, after)).toBe(before);
  });

  it("gives back the new object when anything else differs", () => {
    const after = { ...before, spec: {} };
    expect(retainTimestamps(before, after)).toBe(after);
    const moved = {
      ...before,
      metadata: { ...before.metadata, managedFields: [{ ...entry, manager: "two" }] },
    };
    expect(retainTimestamps(before, moved)).toBe(moved);
  });
});
