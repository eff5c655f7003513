// The docs of check: a section for each code, and a code for each section, so that every result leads somewhere.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { CHECKS } from "../src/core/check/result.ts";
import { check } from "./checkWorld.ts";

describe("docs/check.md", () => {
  const docs = readFileSync(new URL("../docs/check.md", import.meta.url), "utf8");
  const headings = [...docs.matchAll(/^### (\S+)$/gm)].map(([, heading]) => heading!);

  test("has a section for every check, in order, and for nothing else", () => {
    expect(headings).toEqual(Object.keys(CHECKS).map((code) => code.replace("/", "-")));
  });

  test("is where every result leads", () => {
    for (const { doc } of check().checks) {
      expect(doc.startsWith("docs/check.md#")).toBe(true);
      expect(headings).toContain(doc.slice("docs/check.md#".length));
    }
  });

  test("begins each section with the code and what it asserts", () => {
    for (const [code, asserts] of Object.entries(CHECKS)) {
      expect(docs).toContain(`\`${code}\`: ${asserts}.`);
    }
  });
});
