// Merge patches and JSON patches: the examples of the RFCs, their laws, and where API servers are lenient.

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { equalJson, isJsonObject } from "../json.ts";
import { applyJsonPatch, applyMergePatch, PatchError } from "./patch.ts";
import type { Json } from "../types.ts";

const json = fc.jsonValue({ maxDepth: 3 }).map((value) => value as Json);
const key = fc.constantFrom("a", "b", "c", "__proto__", "x/y", "m~n");
const tree: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    fc.constantFrom<Json>(1, "x", true),
    fc.array(fc.constantFrom<Json>(1, 2), { maxLength: 3 }),
    fc.dictionary(key, tie("value"), { maxKeys: 3 }),
  ),
})).value;

describe("a merge patch", () => {
  it.each<[Json, Json, Json]>([
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [
      ["a", "b"],
      ["c", "d"],
      ["c", "d"],
    ],
    [{ a: "foo" }, null, null],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: "b", c: null }, { a: "b" }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])("turns %j by %j into %j", (target, patch, expected) => {
    expect(applyMergePatch(target, patch)).toEqual(expected);
  });

  function diff(from: Json, to: Json): Json {
    if (!isJsonObject(from) || !isJsonObject(to)) return to;
    const entries: [string, Json][] = [];
    for (const name of Object.keys(from)) if (!Object.hasOwn(to, name)) entries.push([name, null]);
    for (const [name, value] of Object.entries(to)) {
      const old = Object.hasOwn(from, name) ? from[name]! : undefined;
      if (old === undefined || !equalJson(old, value)) {
        entries.push([name, isJsonObject(old) ? diff(old, value) : value]);
      }
    }
    return Object.fromEntries(entries);
  }

  it("leads from any object to any other when it is their difference", () => {
    fc.assert(
      fc.property(tree, tree, (from, to) => {
        expect(equalJson(applyMergePatch(from, diff(from, to)), to)).toBe(true);
      }),
    );
  });

  it("changes nothing when applied again", () => {
    fc.assert(
      fc.property(json, json, (target, patch) => {
        const once = applyMergePatch(target, patch);
        expect(equalJson(applyMergePatch(once, patch), once)).toBe(true);
      }),
    );
  });

  it("leaves the target as it was", () => {
    const target = { a: { b: 1 } };
    applyMergePatch(target, { a: { b: null, c: 1 } });
    expect(target).toEqual({ a: { b: 1 } });
  });
});

describe("a JSON patch", () => {
  const document = { a: { b: [1, 2, 3] }, "x/y": 1, "m~n": 2 };

  it.each<[string, Json, Json]>([
    ["adds a member", [{ op: "add", path: "/c", value: 1 }], { ...document, c: 1 }],
    [
      "inserts into an array",
      [{ op: "add", path: "/a/b/1", value: 9 }],
      { ...document, a: { b: [1, 9, 2, 3] } },
    ],
    [
      "appends to an array",
      [{ op: "add", path: "/a/b/-", value: 9 }],
      { ...document, a: { b: [1, 2, 3, 9] } },
    ],
    ["removes an item", [{ op: "remove", path: "/a/b/0" }], { ...document, a: { b: [2, 3] } }],
    [
      "unescapes pointers",
      [
        { op: "remove", path: "/x~1y" },
        { op: "replace", path: "/m~0n", value: 3 },
      ],
      { a: document.a, "m~n": 3 },
    ],
    [
      "moves",
      [{ op: "move", from: "/a/b", path: "/b" }],
      { a: {}, b: [1, 2, 3], "x/y": 1, "m~n": 2 },
    ],
    ["copies", [{ op: "copy", from: "/a/b/2", path: "/c" }], { ...document, c: 3 }],
    ["tests", [{ op: "test", path: "/a/b", value: [1, 2, 3] }], document],
    ["replaces the document", [{ op: "replace", path: "", value: 1 }], 1],
    [
      "adds where it should replace",
      [{ op: "replace", path: "/c", value: 1 }],
      { ...document, c: 1 },
    ],
    ["takes a missing member for null", [{ op: "test", path: "/c", value: null }], document],
    ["takes a missing value for null", [{ op: "add", path: "/c" }], { ...document, c: null }],
  ])("%s", (_name, patch, expected) => {
    expect(applyJsonPatch(document, patch)).toEqual(expected);
  });

  it.each<[string, Json]>([
    ["a failed test", [{ op: "test", path: "/a/b/0", value: 2 }]],
    ["a parent that is missing", [{ op: "add", path: "/nope/c", value: 1 }]],
    ["the removal of nothing", [{ op: "remove", path: "/nope" }]],
    ["an index beyond the end", [{ op: "add", path: "/a/b/4", value: 1 }]],
    ["an index with a leading zero", [{ op: "replace", path: "/a/b/01", value: 1 }]],
    ["a replacement beyond the end", [{ op: "replace", path: "/a/b/3", value: 1 }]],
    ["a move of nothing", [{ op: "move", from: "/nope", path: "/c" }]],
    ["an operation of no kind", [{ op: "frob", path: "/a" }]],
    ["an operation without a path", [{ op: "add", value: 1 }]],
  ])("is rejected for %s", (_name, patch) => {
    expect(() => applyJsonPatch(document, patch)).toThrow(
      new PatchError("Invalid", "the server rejected our request due to an error in our request"),
    );
  });

  it.each<[Json, string]>([
    [{ op: "add" }, "object into Go value of type []handlers.jsonPatchOp"],
    [[5], "number into Go value of type handlers.jsonPatchOp"],
  ])("is malformed as %j", (patch, sentence) => {
    expect(() => applyJsonPatch(document, patch)).toThrow(
      `error decoding patch: json: cannot unmarshal ${sentence}`,
    );
  });

  it("counts as a whole or not at all", () => {
    const patch = [
      { op: "add", path: "/a/c", value: 1 },
      { op: "test", path: "/a/c", value: 2 },
    ];
    expect(() => applyJsonPatch(document, patch)).toThrow(PatchError);
    expect(document).toEqual({ a: { b: [1, 2, 3] }, "x/y": 1, "m~n": 2 });
  });

  it("undoes itself: what was added and removed again leaves no trace", () => {
    fc.assert(
      fc.property(tree, key, tree, (value, name, added) => {
        const holder = { held: value } as const;
        const pointer = `/${`new-${name}`.replaceAll("~", "~0").replaceAll("/", "~1")}`;
        const there = applyJsonPatch(holder, [{ op: "add", path: pointer, value: added }]);
        const tested = applyJsonPatch(there, [{ op: "test", path: pointer, value: added }]);
        const back = applyJsonPatch(tested, [{ op: "remove", path: pointer }]);
        expect(equalJson(back, holder)).toBe(true);
      }),
    );
  });
});
