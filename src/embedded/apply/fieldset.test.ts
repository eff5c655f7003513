// Field sets: FieldsV1 round trips and the laws of the algebra.

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  differenceSets,
  differenceSubtrees,
  EMPTY_SET,
  encodeFieldSet,
  equalSets,
  type FieldSet,
  fieldElement,
  fieldSetOf,
  hasPath,
  intersectSets,
  isEmptySet,
  keyElement,
  listPaths,
  parseFieldSet,
  renderPath,
  unionSets,
  valueElement,
} from "./fieldset.ts";

const element = fc.oneof(
  fc.constantFrom("a", "b", "c").map(fieldElement),
  fc.constantFrom(1, 2).map((port) => keyElement({ protocol: "TCP", port })),
  fc.constantFrom("x", "y").map(valueElement),
);
const path = fc.array(element, { minLength: 1, maxLength: 4 });
const set: fc.Arbitrary<FieldSet> = fc.array(path, { maxLength: 12 }).map(fieldSetOf);

describe("FieldsV1", () => {
  const fields = {
    "f:metadata": { "f:labels": { ".": {}, "f:app": {} } },
    "f:spec": {
      "f:ports": { 'k:{"port":80,"protocol":"TCP"}': { ".": {}, "f:port": {} } },
      "f:set": { 'v:"x"': {} },
    },
  };

  it("decodes to the paths it names", () => {
    const parsed = parseFieldSet(fields);
    expect(listPaths(parsed).map(renderPath)).toEqual([
      ".metadata.labels",
      ".metadata.labels.app",
      '.spec.ports[port=80,protocol="TCP"]',
      '.spec.ports[port=80,protocol="TCP"].port',
      '.spec.set[="x"]',
    ]);
    expect(hasPath(parsed, ["f:metadata", "f:labels"])).toBe(true);
    expect(hasPath(parsed, ["f:metadata"])).toBe(false);
  });

  it("encodes back to what it was", () => {
    expect(encodeFieldSet(parseFieldSet(fields))).toEqual(fields);
  });

  it("takes list keys for equal whatever their order", () => {
    const other = parseFieldSet({ 'k:{"protocol":"TCP","port":80}': {} });
    expect(encodeFieldSet(other)).toEqual({ 'k:{"port":80,"protocol":"TCP"}': {} });
  });

  it.each([
    ["a path element of no kind", { "x:spec": {} }],
    ["a key that is no JSON", { "k:{": {} }],
    ["an index that is no number", { "i:one": {} }],
    ["a leaf that is no object", { "f:spec": 1 }],
    ["no object at all", []],
  ])("refuses %s", (_name, broken) => {
    expect(() => parseFieldSet(broken)).toThrow("fieldsV1");
  });
});

describe("the algebra of field sets", () => {
  it("survives encoding", () => {
    fc.assert(
      fc.property(set, (a) => {
        expect(equalSets(parseFieldSet(encodeFieldSet(a)), a)).toBe(true);
      }),
    );
  });

  it("has a commutative, associative and idempotent union with the empty set as neutral", () => {
    fc.assert(
      fc.property(set, set, set, (a, b, c) => {
        expect(equalSets(unionSets(a, b), unionSets(b, a))).toBe(true);
        expect(equalSets(unionSets(unionSets(a, b), c), unionSets(a, unionSets(b, c)))).toBe(true);
        expect(equalSets(unionSets(a, a), a)).toBe(true);
        expect(equalSets(unionSets(a, EMPTY_SET), a)).toBe(true);
      }),
    );
  });

  it("distributes intersection over union", () => {
    fc.assert(
      fc.property(set, set, set, (a, b, c) => {
        const left = intersectSets(a, unionSets(b, c));
        const right = unionSets(intersectSets(a, b), intersectSets(a, c));
        expect(equalSets(left, right)).toBe(true);
      }),
    );
  });

  it("splits a set into what it shares with another and what it does not", () => {
    fc.assert(
      fc.property(set, set, (a, b) => {
        expect(equalSets(unionSets(differenceSets(a, b), intersectSets(a, b)), a)).toBe(true);
        expect(isEmptySet(intersectSets(differenceSets(a, b), b))).toBe(true);
      }),
    );
  });

  it("never keeps an empty child", () => {
    function hasEmptyChild(a: FieldSet): boolean {
      return [...a.children.values()].some((child) => isEmptySet(child) || hasEmptyChild(child));
    }
    fc.assert(
      fc.property(set, set, (a, b) => {
        for (const result of [
          intersectSets(a, b),
          differenceSets(a, b),
          differenceSubtrees(a, b),
        ]) {
          expect(hasEmptyChild(result)).toBe(false);
        }
      }),
    );
  });

  it("takes whole subtrees away when asked to", () => {
    const spec = fieldSetOf([["f:spec"], ["f:spec", "f:a"], ["f:status", "f:b"]]);
    const gone = fieldSetOf([["f:spec"]]);
    expect(encodeFieldSet(differenceSets(spec, gone))).toEqual({
      "f:spec": { "f:a": {} },
      "f:status": { "f:b": {} },
    });
    expect(encodeFieldSet(differenceSubtrees(spec, gone))).toEqual({ "f:status": { "f:b": {} } });
  });
});
