import { expect, test } from "vitest";
import { renderRows, renderTable } from "./table.ts";

test("columns line up and lines carry no trailing blanks", () => {
  expect(renderRows(["NAME", "STATUS"], [["checkout", "ok"], ["db"]])).toEqual([
    "NAME       STATUS",
    "checkout   ok",
    "db",
  ]);
});

test("wide-only columns of a server-side table are left out, odd cells are still readable", () => {
  const table = {
    columnDefinitions: [{ name: "Name" }, { name: "Ports" }, { name: "Selector", priority: 1 }],
    rows: [{ cells: ["web", ["80", 443], "app=web"] }, { cells: ["none", null, null] }],
  };
  expect(renderTable(table)).toEqual(["NAME   PORTS", 'web    ["80",443]', "none"]);
});
