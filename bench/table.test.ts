import { expect, test } from "vitest";
import { aResult, aRow } from "./fixture.ts";
import { compareRounds, digitsOf, isMet, renderResult } from "./table.ts";

test("rows stand in columns under the title, notes under the rows", () => {
  const text = renderResult(
    aResult([aRow({ goal: 1.5 }), aRow({ name: "requests, all", unit: "requests", goal: 1.1 })], {
      notes: ["n^0.01", "flat"],
    }),
  );
  expect(text.split("\n")).toEqual([
    "cold ÷ the floor",
    "                      ours        floor  ratio     spread   goal",
    "time                 12 ms        10 ms   1.20  1.10–1.30  ≤ 1.5     met",
    "requests, all  12 requests  10 requests   1.20  1.10–1.30  ≤ 1.1  MISSED",
    "n^0.01",
    "flat",
    "",
  ]);
});

test("the median decides over a goal, and its edge is met", () => {
  const ratio = { median: 1.5, min: 1, max: 9 };
  expect(isMet(aRow({ ratio, goal: 1.5 }))).toBe(true);
  expect(isMet(aRow({ ratio, goal: 1.49 }))).toBe(false);
  expect(isMet(aRow({ ratio }))).toBe(true);
  expect(isMet(aRow({ ratio: { median: Number.NaN, min: 1, max: 1 }, goal: 2 }))).toBe(false);
});

test("ratios are those of the same round, not of the medians", () => {
  const rounds = [
    [2, 1],
    [3, 3],
    [10, 2],
  ] as const;
  const row = compareRounds(rounds, {
    name: "time",
    unit: "s",
    ours: ([ours]) => ours,
    floor: ([, floor]) => floor,
  });
  expect(row).toMatchObject({ ours: 3, floor: 2, ratio: { median: 2, min: 1, max: 5 } });
});

test("figures have as many digits as can matter", () => {
  expect([0.034, 0.5, 7.66, 12, 151.6].map(digitsOf)).toEqual(["0.03", "0.50", "7.7", "12", "152"]);
});
