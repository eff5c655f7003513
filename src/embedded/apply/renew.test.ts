// The short way of an apply: the same fields with other values. It must say what the long way says, or leave it to that.

import { describe, expect, it } from "vitest";
import { FIRST, fieldsOf, IDENTITY, LATER, World } from "../../../test/applyWorld.ts";
import { fieldSetOf } from "./fieldset.ts";
import { ownerId, type Owner, type Owners } from "./managed.ts";
import { renewValues } from "./renew.ts";

const LIVE = {
  ...IDENTITY,
  metadata: { name: "a", uid: "u", labels: { app: "x" } },
  spec: { size: 1, name: "n", set: ["s"] },
};
const PATCH = { ...IDENTITY, metadata: { name: "a" } };
const NOTHING = fieldSetOf([]);

function aHolder(manager: string, paths: readonly (readonly string[])[]): Owner {
  const fields = fieldSetOf(paths.map((path) => path.map((name) => `f:${name}`)));
  const { apiVersion } = IDENTITY;
  return { manager, operation: "Apply", apiVersion, subresource: "", time: FIRST, fields };
}

function renew(patch: object, ...others: readonly Owner[]) {
  const self = aHolder("self", [
    ["spec", "size"],
    ["spec", "name"],
  ]);
  const owners: Owners = new Map([self, ...others].map((owner) => [ownerId(owner), owner]));
  const claim = { owners, id: ownerId(self), reset: NOTHING };
  return renewValues(LIVE, { ...PATCH, ...patch }, claim)?.object;
}

describe("renewing values", () => {
  it("lays new scalars over the old ones and leaves all else alone", () => {
    const renewed = renew({ spec: { size: 2, name: "n" } });
    expect(renewed).toEqual({ ...LIVE, spec: { size: 2, name: "n", set: ["s"] } });
    expect(Object.keys(renewed?.["spec"] ?? {})).toEqual(["size", "name", "set"]);
  });

  it("takes a uid that is the object's own", () => {
    const spec = { size: 2, name: "n" };
    expect(renew({ metadata: { name: "a", uid: "u" }, spec })).toBeDefined();
    expect(renew({ metadata: { name: "a", uid: "v" }, spec })).toBeUndefined();
  });

  it.each<[string, object]>([
    ["nothing changes", { spec: { size: 1, name: "n" } }],
    ["a field is not applied any more", { spec: { size: 2 } }],
    ["a field is new to the applier", { spec: { size: 2, name: "n", free: {} } }],
    ["a field is there, but not the applier's", { metadata: { name: "a", labels: { app: "y" } } }],
    ["a value is of another type", { spec: { size: "2", name: "n" } }],
    ["a value is null", { spec: { size: null, name: "n" } }],
    ["there is a list", { spec: { size: 2, name: "n", set: ["s"] } }],
    ["another object is meant", { metadata: { name: "b" }, spec: { size: 2, name: "n" } }],
    ["it has no metadata", { metadata: null, spec: { size: 2, name: "n" } }],
  ])("is left to the long way when %s", (_, patch) => {
    expect(renew(patch)).toBeUndefined();
  });

  it("is left to the long way when somebody else holds what changes, and only then", () => {
    const other = aHolder("other", [["spec", "size"]]);
    expect(renew({ spec: { size: 2, name: "n" } }, other)).toBeUndefined();
    expect(renew({ spec: { size: 1, name: "m" } }, other)).toBeDefined();
  });

  it("says when it was, and what is held stays the same", () => {
    const world = new World();
    const before = world.apply("one", { spec: { size: 1, name: "n" } });
    world.time = LATER;
    const after = world.apply("one", { spec: { size: 2, name: "n" } });
    expect(after.object).toMatchObject({ spec: { size: 2, name: "n" } });
    expect(fieldsOf(after, "one")).toEqual(fieldsOf(before, "one"));
    expect(after.managedFields.map(({ time }) => time)).toEqual([LATER]);
  });
});
