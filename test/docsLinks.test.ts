// Every link within the docs leads somewhere: to a file or folder that is there, and to a heading that it has.

import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { anchorsOf, linksOf, readPages } from "./docs/pages.ts";

const root = new URL("../", import.meta.url);
const pages = readPages();

describe.each(pages)("$name", (page) => {
  test("has links that lead somewhere", () => {
    const broken = linksOf(page).filter((link) => {
      if (/^(?:https?|mailto):/.test(link)) return false;
      const [path = "", anchor] = link.split("#");
      const target =
        path === "" ? new URL(page.name, root) : new URL(path, new URL(page.name, root));
      if (!existsSync(target)) return true;
      if (anchor === undefined) return false;
      const there = pages.find(({ name }) => new URL(name, root).href === target.href);
      return there !== undefined && !anchorsOf(there).has(anchor);
    });
    expect(broken).toEqual([]);
  });

  test("can be found: a page links to it", () => {
    const from = pages.filter((other) =>
      linksOf(other).some(
        (link) =>
          new URL(link.split("#")[0]!, new URL(other.name, root)).href ===
          new URL(page.name, root).href,
      ),
    );
    expect(page.name === "README.md" || from.some(({ name }) => name !== page.name)).toBe(true);
  });
});
