import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type Cidr, isInside, parseAddress, parseCidr } from "./address.ts";
import { mergeRanges } from "./ranges.ts";

test.each([
  { of: "twins", given: ["10.0.1.0/24", "10.0.0.0/24"], merged: ["10.0.0.0/23"] },
  {
    of: "neighbours that are no twins",
    given: ["10.0.1.0/24", "10.0.2.0/24"],
    merged: ["10.0.1.0/24", "10.0.2.0/24"],
  },
  {
    of: "a node's range inside the cluster's",
    given: ["10.0.7.0/24", "10.0.0.0/16"],
    merged: ["10.0.0.0/16"],
  },
  {
    of: "twins of twins",
    given: ["10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24", "10.0.3.0/24"],
    merged: ["10.0.0.0/22"],
  },
  {
    of: "both families",
    given: ["fd00:1:0:1::/64", "10.0.0.0/24", "fd00:1::/64"],
    merged: ["10.0.0.0/24", "fd00:1::/63"],
  },
  { of: "host bits", given: ["10.1.2.3/16"], merged: ["10.1.0.0/16"] },
  {
    of: "the whole world",
    given: ["0.0.0.0/1", "128.0.0.0/1", "::/0"],
    merged: ["0.0.0.0/0", "::/0"],
  },
  { of: "no CIDR at all", given: ["10.0.0.0", "east", "10.0.0.0/33"], merged: [] },
  { of: "nothing", given: [], merged: [] },
])("the fewest ranges of $of", ({ given, merged }) => {
  expect(mergeRanges(given, 32)).toEqual(merged);
});

test("where too many are left, those join that add the fewest addresses", () => {
  const given = ["10.0.0.0/24", "10.0.2.0/24", "10.9.0.0/24", "fd00::/64"];
  expect(mergeRanges(given, 3)).toEqual(["10.0.0.0/22", "10.9.0.0/24", "fd00::/64"]);
  expect(mergeRanges(given, 2)).toEqual(["10.0.0.0/12", "fd00::/64"]);
  // One of each family is the least.
  expect(mergeRanges(given, 1)).toEqual(["10.0.0.0/12", "fd00::/64"]);
});

test("a parent swallows those that lie in front of it", () => {
  expect(mergeRanges(["10.0.0.0/24", "10.0.6.0/24", "10.0.9.0/24"], 2)).toEqual([
    "10.0.0.0/21",
    "10.0.9.0/24",
  ]);
});

const anyCidr = fc
  .tuple(fc.nat(7), fc.nat(255), fc.integer({ min: 20, max: 32 }))
  .map(([a, b, length]) => `10.0.${a}.${b}/${length}`);

test("merging covers exactly what was given, once, in whatever order, and is done after one time", () => {
  fc.assert(
    fc.property(fc.array(anyCidr, { maxLength: 40 }), fc.nat(2047), (given, host) => {
      const merged = mergeRanges(given, Number.POSITIVE_INFINITY);
      const address = parseAddress(`10.0.${host >> 8}.${host & 255}`)!;
      const holders = (texts: readonly string[]): readonly Cidr[] =>
        texts.flatMap((text) => parseCidr(text)!).filter((cidr) => isInside(address, cidr));
      expect(holders(merged).length).toBe(holders(given).length > 0 ? 1 : 0);
      expect(mergeRanges(given.toReversed(), Number.POSITIVE_INFINITY)).toEqual(merged);
      expect(mergeRanges(merged, Number.POSITIVE_INFINITY)).toEqual(merged);
    }),
  );
});

test("a limit is kept, and nothing that was given is lost to it", () => {
  fc.assert(
    fc.property(
      fc.array(anyCidr, { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 5 }),
      (given, most) => {
        const merged = mergeRanges(given, most).map((text) => parseCidr(text)!);
        expect(merged.length).toBeLessThanOrEqual(most);
        for (const text of given) {
          const first = parseAddress(text.slice(0, text.indexOf("/")))!;
          expect(merged.some((cidr) => isInside(first, cidr))).toBe(true);
        }
      },
    ),
  );
});
