// The registry of problems and its page say the same: a code without an explanation, or the reverse, is a defect.

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { PROBLEMS } from "../src/api/problem.ts";

const page = readFileSync(new URL("../docs/errors.md", import.meta.url), "utf8");
const sections = page
  .split(/^## /m)
  .slice(1)
  .map((section) => {
    const [code = "", summary = "", ...rest] = section
      .trim()
      .split("\n\n")
      .map((part) => part.trim());
    return { code, summary, rest };
  });

it("docs/errors.md has one section for each code, in the registry's order, with its sentence", () => {
  expect(sections.map(({ code, summary }) => [code, summary])).toEqual(Object.entries(PROBLEMS));
});

it.each(sections)("$code has a cause and says what to do", ({ rest }) => {
  expect(rest).toHaveLength(2);
  expect(rest[0]).toMatch(/^\*\*Cause\.\*\* \S/);
  expect(rest[1]).toMatch(/^\*\*What to do\.\*\* \S/);
});
