import { expect, test } from "vitest";
import { fitPower, renderFit } from "./fit.ts";

const SIZES = [100, 500, 1_000, 5_000];

test.each([0, 0.5, 1, 2, -1])("the exponent of c·n^%d is found", (exponent) => {
  const fit = fitPower(SIZES.map((n) => ({ n, cost: 3 * n ** exponent })));
  expect(fit?.exponent).toBeCloseTo(exponent, 9);
  expect(fit?.growth).toBeCloseTo(50 ** Math.abs(exponent), 6);
});

test("points between the ends count: the line goes through none of them", () => {
  const points = [1, 10, 100].map((n) => ({ n, cost: n === 10 ? 8 : 1 }));
  expect(fitPower(points)).toMatchObject({ growth: 8, exponent: 0 });
});

test("points come in any order, and rounds at one size are their median", () => {
  const points = [
    { n: 100, cost: 100 },
    { n: 10, cost: 1_000 },
    { n: 10, cost: 10 },
    { n: 10, cost: 9 },
  ];
  expect(fitPower(points)?.exponent).toBeCloseTo(1, 9);
  expect(fitPower(points)?.smallest).toEqual({ n: 10, cost: 10 });
});

test.each([
  { of: "nothing", points: [] },
  {
    of: "one size",
    points: [
      { n: 5, cost: 1 },
      { n: 5, cost: 2 },
    ],
  },
  {
    of: "a cost of zero",
    points: [
      { n: 5, cost: 0 },
      { n: 6, cost: 2 },
    ],
  },
])("there is no fit of $of", ({ points }) => {
  expect(fitPower(points)).toBeUndefined();
});

const CHANGE = { name: "change p50", unit: "ms", of: "services" } as const;
const GROWING = [
  { n: 100, cost: 8.7 },
  { n: 5_000, cost: 9.1 },
];

test("the line says both ends, the exponent, the growth and what is called flat", () => {
  expect(renderFit({ ...CHANGE, points: GROWING, flat: 1.2 })).toBe(
    "change p50: 8.7 → 9.1 ms from 100 to 5000 services, n^0.01, 1.05 × (flat: ≤ 1.2)",
  );
});

test("the line says when it is not flat, and nothing of it where nobody asked", () => {
  expect(renderFit({ ...CHANGE, points: GROWING, flat: 1.01 })).toMatch(
    /\(flat: ≤ 1.01, MISSED\)$/,
  );
  expect(renderFit({ ...CHANGE, points: GROWING })).toMatch(/1\.05 ×$/);
});

test("an exponent just below zero has no sign", () => {
  const points = [
    { n: 1, cost: 1 },
    { n: 10, cost: 0.9999 },
  ];
  expect(renderFit({ ...CHANGE, points })).toContain(", n^0.00,");
});

test("without a fit the line shows the points", () => {
  expect(renderFit({ ...CHANGE, points: [{ n: 100, cost: 8.7 }] })).toBe(
    "change p50: no fit of 8.7 ms at 100 services",
  );
});
