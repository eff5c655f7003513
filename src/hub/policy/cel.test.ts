import { expect, test } from "vitest";
import { renderCel } from "./cel.ts";

test("JSON values become CEL literals", () => {
  expect(renderCel({ a: ["b", 1, true, null], c: {} })).toBe(
    "{'a': ['b', 1, true, null], 'c': {}}",
  );
});

test("texts cannot end their quotes", () => {
  expect(renderCel("it's \\")).toBe(String.raw`'it\'s \\'`);
});

test("places in texts become expressions", () => {
  const places = { "<a>": "variables.a", "<b>": "variables.b" };
  expect(renderCel("<a>", places)).toBe("variables.a");
  expect(renderCel("x-<a>-<b>", places)).toBe("'x-' + variables.a + '-' + variables.b");
  expect(renderCel({ k: "<b><b>" }, places)).toBe("{'k': variables.b + variables.b}");
  expect(renderCel("", places)).toBe("''");
});
