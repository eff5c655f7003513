import * as fc from "fast-check";
import { expect, test } from "vitest";
import { foldEndpoints, unfoldEndpoints } from "./columns.ts";

function throughJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

const endpoint = fc.record(
  {
    addresses: fc.oneof(fc.array(fc.ipV4(), { maxLength: 3 }), fc.jsonValue()),
    zone: fc.constantFrom("a", "b", undefined),
    conditions: fc.constantFrom({ ready: true }, { ready: false }, {}, null),
    later: fc.jsonValue(),
  },
  { requiredKeys: [] },
);
const holder = fc.record(
  {
    slice: fc.string(),
    traits: fc.jsonValue(),
    endpoints: fc.oneof(fc.array(endpoint), fc.array(fc.oneof(endpoint, fc.jsonValue()))),
  },
  { requiredKeys: [] },
);

test("whatever is folded is read back as JSON would read it", () => {
  fc.assert(
    fc.property(fc.oneof(holder, fc.jsonValue()), (value) => {
      expect(unfoldEndpoints(foldEndpoints(value) ?? "")).toEqual(throughJson(value));
    }),
    { numRuns: 1_000 },
  );
});

test("names that mean something to JavaScript are names like any other", () => {
  const text =
    '{"__proto__":{"a":1},"endpoints":[{"addresses":["10.0.0.1"],"__proto__":{"polluted":1},"constructor":2}]}';
  const unfolded = unfoldEndpoints(foldEndpoints(JSON.parse(text)) ?? "");
  expect(JSON.parse(JSON.stringify(unfolded))).toEqual(JSON.parse(text));
  expect(Object.keys(unfolded as object).toSorted()).toEqual(["__proto__", "endpoints"]);
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
});

test("what endpoints have in common is said once", () => {
  const endpoints = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map((address, at) => ({
    addresses: [address],
    zone: at === 1 ? "b" : "a",
  }));
  expect(foldEndpoints({ slice: "web-1", endpoints })).toBe(
    '[{"slice":"web-1","endpoints":[]},[{"zone":"a"},{"zone":"b"}],[["10.0.0.1"],["10.0.0.2"],["10.0.0.3"]],[0,1,0]]',
  );
});

test("what JSON cannot tell is not folded", () => {
  expect(foldEndpoints(undefined)).toBeUndefined();
});
