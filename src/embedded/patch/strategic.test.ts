// Strategic merge: every directive, with results as a real API server gave them.

import { describe, expect, it } from "vitest";
import { PatchError } from "./patch.ts";
import { applyStrategicPatch } from "./strategic.ts";
import type { Definitions, JsonObject } from "../types.ts";

const DEFINITIONS: Definitions = {
  Owner: { type: "object", properties: { uid: { type: "string" }, name: { type: "string" } } },
  Variable: { type: "object", properties: { name: { type: "string" }, value: { type: "string" } } },
  Container: {
    type: "object",
    properties: {
      name: { type: "string" },
      image: { type: "string" },
      args: { type: "array", items: { type: "string" } },
      env: {
        type: "array",
        items: { $ref: "#/definitions/Variable" },
        "x-kubernetes-patch-strategy": "merge",
        "x-kubernetes-patch-merge-key": "name",
      },
    },
  },
  Volume: { type: "object" },
  Root: {
    type: "object",
    properties: {
      labels: { type: "object", additionalProperties: { type: "string" } },
      finalizers: {
        type: "array",
        items: { type: "string" },
        "x-kubernetes-patch-strategy": "merge",
      },
      owners: {
        type: "array",
        items: { allOf: [{ $ref: "#/definitions/Owner" }], default: {} },
        "x-kubernetes-patch-strategy": "merge",
        "x-kubernetes-patch-merge-key": "uid",
      },
      containers: {
        type: "array",
        items: { $ref: "#/definitions/Container" },
        "x-kubernetes-patch-strategy": "merge",
        "x-kubernetes-patch-merge-key": "name",
      },
      volumes: {
        type: "array",
        items: { $ref: "#/definitions/Volume" },
        "x-kubernetes-patch-strategy": "merge,retainKeys",
        "x-kubernetes-patch-merge-key": "name",
      },
    },
  },
};

const OBJECT: JsonObject = {
  labels: { a: "1", b: "2" },
  finalizers: ["x/a", "x/b", "x/c"],
  owners: [
    { uid: "u1", name: "n1" },
    { uid: "u2", name: "n2" },
  ],
  containers: [
    {
      name: "c1",
      image: "i1",
      args: ["x", "y"],
      env: [
        { name: "A", value: "1" },
        { name: "B", value: "2" },
      ],
    },
    { name: "c2", image: "i2" },
  ],
  volumes: [{ name: "v1", emptyDir: {} }],
};

function patched(patch: JsonObject): JsonObject {
  return applyStrategicPatch({ $ref: "#/definitions/Root" }, DEFINITIONS, OBJECT, patch);
}

const CASES: Readonly<Record<string, readonly [JsonObject, JsonObject]>> = {
  "maps merge and null removes": [{ labels: { a: null, c: "3" } }, { labels: { b: "2", c: "3" } }],
  "a map is replaced by directive": [
    { labels: { $patch: "replace", z: "1" } },
    { labels: { z: "1" } },
  ],
  "lists of scalars merge, new items first": [
    { finalizers: ["x/d"] },
    { finalizers: ["x/d", "x/a", "x/b", "x/c"] },
  ],
  "scalars leave a list by directive": [
    { "$deleteFromPrimitiveList/finalizers": ["x/b"] },
    { finalizers: ["x/a", "x/c"] },
  ],
  "a list is put in order": [
    { "$setElementOrder/finalizers": ["x/c", "x/b", "x/a"] },
    { finalizers: ["x/c", "x/b", "x/a"] },
  ],
  "an order places new items, and what it does not name keeps its place": [
    { "$setElementOrder/finalizers": ["x/c", "x/d", "x/a"], finalizers: ["x/d"] },
    { finalizers: ["x/b", "x/c", "x/d", "x/a"] },
  ],
  "an item merges by its key": [
    { owners: [{ uid: "u1", name: "new" }] },
    {
      owners: [
        { uid: "u1", name: "new" },
        { uid: "u2", name: "n2" },
      ],
    },
  ],
  "an item is deleted by its key": [
    { owners: [{ $patch: "delete", uid: "u1" }] },
    { owners: [{ uid: "u2", name: "n2" }] },
  ],
  "a list is replaced by directive": [
    { owners: [{ $patch: "replace" }, { uid: "u9", name: "n9" }] },
    { owners: [{ uid: "u9", name: "n9" }] },
  ],
  "an order by key places new items": [
    {
      "$setElementOrder/owners": [{ uid: "u2" }, { uid: "u3" }, { uid: "u1" }],
      owners: [{ uid: "u3", name: "n3" }],
    },
    {
      owners: [
        { uid: "u2", name: "n2" },
        { uid: "u3", name: "n3" },
        { uid: "u1", name: "n1" },
      ],
    },
  ],
  "lists inside list items merge too, and plain lists are replaced": [
    {
      containers: [
        {
          name: "c1",
          args: ["z"],
          "$setElementOrder/env": [{ name: "C" }, { name: "A" }],
          env: [
            { name: "C", value: "3" },
            { name: "B", $patch: "delete" },
          ],
        },
      ],
    },
    {
      containers: [
        {
          name: "c1",
          image: "i1",
          args: ["z"],
          env: [
            { name: "C", value: "3" },
            { name: "A", value: "1" },
          ],
        },
        { name: "c2", image: "i2" },
      ],
    },
  ],
  "only retained keys stay": [
    { volumes: [{ name: "v1", $retainKeys: ["name", "hostPath"], hostPath: { path: "/x" } }] },
    { volumes: [{ name: "v1", hostPath: { path: "/x" } }] },
  ],
  "fields that the schema does not know merge as maps": [
    { other: { a: { b: 1 } } },
    { other: { a: { b: 1 } } },
  ],
};

describe("a strategic merge patch", () => {
  it.each(Object.entries(CASES))("%s", (_name, [patch, expected]) => {
    expect(patched(patch)).toEqual({ ...OBJECT, ...expected });
  });

  it("removes a map or a list by null or directive", () => {
    expect(patched({ labels: null, owners: null })).toEqual({
      finalizers: OBJECT["finalizers"],
      containers: OBJECT["containers"],
      volumes: OBJECT["volumes"],
    });
    expect(patched({ labels: { $patch: "delete" } })).not.toHaveProperty("labels");
  });

  it.each<[JsonObject, "InternalError" | "BadRequest", string]>([
    [
      { labels: { $patch: "foo" } },
      "InternalError",
      "unknown patch type: foo in map: map[$patch:foo]",
    ],
    [
      { owners: [{ uid: "u1", $patch: "frob" }] },
      "InternalError",
      "unknown patch type: frob in map: map[$patch:frob uid:u1]",
    ],
    [
      { owners: [{ name: "x" }] },
      "InternalError",
      "map: map[name:x] does not contain declared merge key: uid",
    ],
    [
      { finalizers: [{ $patch: "foo" }] },
      "InternalError",
      "list element types are not identical: [[x/a x/b x/c] [map[$patch:foo]]]",
    ],
    [
      { "$setElementOrder/finalizers": ["x/a"], finalizers: ["x/d"] },
      "InternalError",
      "The order in patch list:\n[x/d]\n doesn't match $setElementOrder list:\n[x/a]\n",
    ],
    [
      { volumes: [{ name: "v1", $retainKeys: ["name"], hostPath: {} }] },
      "BadRequest",
      "invalid patch format of retainKeys",
    ],
  ])("%j is refused", (patch, reason, sentence) => {
    expect(() => patched(patch)).toThrow(new PatchError(reason, sentence));
    expect(() => patched(patch)).toThrow(expect.objectContaining({ reason }));
  });
});
