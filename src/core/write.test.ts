import * as fc from "fast-check";
import { expect, test } from "vitest";
import { NAMESPACE, SERVICE } from "../api/builtin.ts";
import { deletionOf, hasEntries, isSameData } from "./write.ts";

const meta = { namespace: "shop", name: "web", uid: "u-1" };

test("a deletion names the very object that was seen", () => {
  expect(deletionOf(SERVICE, { apiVersion: "v1", kind: "Service", metadata: meta })).toEqual({
    verb: "delete",
    resource: SERVICE,
    ref: { namespace: "shop", name: "web" },
    uid: "u-1",
  });
});

test("a deletion of something without a namespace names none", () => {
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } };
  expect(deletionOf(NAMESPACE, namespace)).toMatchObject({ ref: { name: "shop" } });
});

test("entries of others do not matter, missing and different ones do", () => {
  expect(hasEntries({ a: "1", b: "2" }, { a: "1" })).toBe(true);
  expect(hasEntries({ a: "2" }, { a: "1" })).toBe(false);
  expect(hasEntries(undefined, { a: "1" })).toBe(false);
  expect(hasEntries(undefined, undefined)).toBe(true);
});

test("an absent field and an undefined one are the same data", () => {
  expect(isSameData({ a: 1, b: undefined }, { a: 1 })).toBe(true);
  expect(isSameData({ a: 1 }, { a: 1, b: undefined })).toBe(true);
});

test.each([
  [{ a: 1 }, { a: 2 }],
  [{ a: 1 }, { a: 1, b: 1 }],
  [
    [1, 2],
    [2, 1],
  ],
  [[1], [1, 2]],
  [[], {}],
  [null, {}],
  ["1", 1],
])("%j and %j are not the same data", (a, b) => {
  expect(isSameData(a, b)).toBe(false);
  expect(isSameData(b, a)).toBe(false);
});

test("data is the same as its copy, whatever the order of its keys", () => {
  const shuffle = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shuffle);
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).toReversed();
    return Object.fromEntries(entries.map(([key, part]) => [key, shuffle(part)]));
  };
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(isSameData(value, shuffle(value))).toBe(true);
    }),
  );
});
