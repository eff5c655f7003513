// Servers and their ports in, SRV records out: what records.test.ts cannot see.

import { expect, test } from "vitest";
import { planServerSets, type Server } from "./srv.ts";

/** Counts how often anybody looks at an address. */
function aCrowd(count: number, looks: { count: number }): readonly Server[] {
  return Array.from({ length: count }, (_, index) => ({
    target: "same.east.web.shop.svc",
    address: {
      family: "IPv4",
      get words() {
        looks.count += 1;
        return [index];
      },
    },
    ports: [{ name: "http", protocol: "tcp", number: index }],
  }));
}

test("endpoints that all have one name cost what they are, not the square of it", () => {
  const looks = { count: 0 };
  const [set] = planServerSets(aCrowd(1_000, looks));
  expect(set?.servers).toHaveLength(1_000);
  expect(set?.additional).toHaveLength(1_000);
  expect(looks.count).toBeLessThanOrEqual(2_000);
});

test("an address that is given twice under one name is told once, and so is a port", () => {
  const looks = { count: 0 };
  const [set] = planServerSets([...aCrowd(2, looks), ...aCrowd(3, looks)]);
  expect(set?.servers.map(({ port }) => port)).toEqual([0, 1, 2]);
  expect(set?.additional.map(({ address }) => address.words)).toEqual([[0], [1], [2]]);
});
