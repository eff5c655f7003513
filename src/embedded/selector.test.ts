// Selectors: the grammar, what matches, and the sentences of a real API server's 400.

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
  SelectorError,
} from "./selector.ts";

function selects(selector: string, labels: Record<string, string>): boolean {
  return matchesLabels(parseLabelSelector(selector), labels);
}

describe("label selectors", () => {
  it.each([
    ["", {}, true],
    ["a", { a: "" }, true],
    ["a", {}, false],
    ["!a", {}, true],
    ["! a", { a: "1" }, false],
    ["a=1", { a: "1" }, true],
    ["a == 1", { a: "1" }, true],
    ["a=1", { a: "2" }, false],
    ["a=", { a: "" }, true],
    ["a!=1", {}, true],
    ["a != 1", { a: "1" }, false],
    ["a in (1,2)", { a: "2" }, true],
    ["a in( 1 , 2 )", { a: "3" }, false],
    ["a in (1,2)", {}, false],
    ["a in ()", { a: "" }, true],
    ["a notin (1,2)", {}, true],
    ["a notin (1,,2)", { a: "" }, false],
    ["a>5", { a: "6" }, true],
    ["a<5", { a: "6" }, false],
    ["a>5", { a: "many" }, false],
    [" a , !b , c in (x) ", { a: "1", c: "x" }, true],
    ["in in (in)", { in: "in" }, true],
    ["example.com/a=b", { "example.com/a": "b" }, true],
    ["constructor", {}, false],
  ])("%j on %j selects: %s", (selector, labels, expected) => {
    expect(selects(selector, labels)).toBe(expected);
  });

  it.each([
    ["a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ["a in (x", "unable to parse requirement: found '', expected: ',' or ')'"],
    ["a in x", "unable to parse requirement: found 'x' expected: '('"],
    ["!", "unable to parse requirement: found '', expected: identifier"],
    ["a=b=c", "found '=', expected: ',' or 'end of string'"],
    ["a,,b", "found ',', expected: identifier after ','"],
    ["a==b,", "found '', expected: identifier after ','"],
    [",", "found ',', expected: !, identifier, or 'end of string'"],
    [
      "a>x",
      "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
    ],
  ])("%j is refused", (selector, sentence) => {
    expect(() => parseLabelSelector(selector)).toThrow(new SelectorError(sentence));
  });

  it.each(["a=$x", "-a", "a/b/c", "/a", "a/", `a=${"x".repeat(64)}`, "A_/b"])(
    "%j names no label",
    (selector) => {
      expect(() => parseLabelSelector(selector)).toThrow(
        /^unable to parse requirement: .*Invalid value/,
      );
    },
  );

  it("selects what it was built from, and nothing once negated", () => {
    const word = fc.stringMatching(/^[a-z0-9]{1,8}$/);
    fc.assert(
      fc.property(word, fc.uniqueArray(word, { minLength: 1, maxLength: 4 }), (key, values) => {
        const labels = { [key]: values[0]! };
        expect(selects(`${key} in (${values.join(", ")})`, labels)).toBe(true);
        expect(selects(`${key} notin (${values.join(",")})`, labels)).toBe(false);
      }),
    );
  });
});

describe("field selectors", () => {
  const object = {
    metadata: { name: "a,b", namespace: "ns" },
    spec: { nodeName: "n", unschedulable: true },
  };
  const allowed = ["spec.nodeName", "spec.unschedulable", "status.phase"];

  it.each([
    ["", true],
    ["metadata.namespace=ns", true],
    ["metadata.namespace==ns,spec.nodeName!=m", true],
    ["metadata.namespace!=ns", false],
    ["metadata.name=a\\,b", true],
    ["spec.unschedulable=true", true],
    ["status.phase=", true],
    ["status.phase!=Running", true],
    ["status.phase=Running", false],
    [",metadata.namespace=ns,", true],
  ])("%j selects: %s", (selector, expected) => {
    expect(matchesFields(parseFieldSelector(selector, allowed), object)).toBe(expected);
  });

  it.each([
    ["a", "invalid selector: 'a'; can't understand 'a'"],
    ["spec.other=x", "field label not supported: spec.other"],
    ["a!b=c", "field label not supported: a!b"],
    ["metadata.name=a=b", "invalid field selector: unescaped character in value: 61"],
    ["metadata.name=a\\x", "invalid field selector: invalid escape sequence: \\x"],
    ["metadata.name=a\\", "invalid field selector: invalid escape sequence: \\"],
  ])("%j is refused", (selector, sentence) => {
    expect(() => parseFieldSelector(selector, allowed)).toThrow(new SelectorError(sentence));
  });
});
