// What changed between two texts, as a person reads it.

import { expect, test } from "vitest";
import { renderDiff } from "./diff.ts";

const TEN = Array.from({ length: 10 }, (_, index) => `line ${index}`);

test("equal texts have no difference to show", () => {
  expect(renderDiff("a\nb\n", "a\nb\n")).toEqual([]);
});

test("a changed line is shown old and new, with two lines around it", () => {
  const changed = TEN.with(5, "other");
  expect(renderDiff(TEN.join("\n"), changed.join("\n"))).toEqual([
    "  line 3",
    "  line 4",
    "- line 5",
    "+ other",
    "  line 6",
    "  line 7",
  ]);
});

test("what lies between two changes is left out, and said to be", () => {
  const changed = ["first", ...TEN, "last"];
  expect(renderDiff(TEN.join("\n"), changed.join("\n"))).toEqual([
    "+ first",
    "  line 0",
    "  line 1",
    "  …",
    "  line 8",
    "  line 9",
    "+ last",
  ]);
});
