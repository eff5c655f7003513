// oxlint-disable-next-line no-restricted-imports -- what we are measured against
import { BlockList, isIP } from "node:net";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { IPFamily } from "../api/builtin.ts";
import {
  type Address,
  type Cidr,
  doCidrsOverlap,
  isForbiddenAddress,
  isInside,
  parseAddress,
  parseCidr,
} from "./address.ts";

function address(text: string): Address {
  const parsed = parseAddress(text);
  if (parsed === undefined) throw new Error(`${text} is no address`);
  return parsed;
}
function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  if (parsed === undefined) throw new Error(`${text} is no range`);
  return parsed;
}
const FAMILY_BY_NODE: Readonly<Record<number, IPFamily>> = { 4: "IPv4", 6: "IPv6" };
const familyByNode = (text: string): IPFamily | undefined =>
  text.includes("%") ? undefined : FAMILY_BY_NODE[isIP(text)];

/** Near misses: the letters that addresses are made of, in any order. */
const scribble = fc.oneof(
  fc.string({
    unit: fc.constantFrom(
      "0",
      "1",
      "2",
      "5",
      "9",
      "a",
      "F",
      ":",
      "::",
      ".",
      "%",
      " ",
      "/",
      "g",
      "-",
    ),
    maxLength: 24,
  }),
  fc
    .array(fc.constantFrom("0", "00", "1", "01", "25", "255", "256", "1000", "a", ""), {
      minLength: 3,
      maxLength: 5,
    })
    .map((parts) => parts.join(".")),
  fc
    .array(fc.constantFrom("0", "", "1", "ffff", "00000", "12345", "abcd", "1.2.3.4", "::"), {
      minLength: 2,
      maxLength: 10,
    })
    .map((parts) => parts.join(":")),
);
const v4 = fc.ipV4();
const v6 = fc.ipV6();
/** Not IPv4 in disguise: node sees through that, and we forbid it altogether. */
const plainV6 = v6.filter((text) => !isInside(address(text), cidr("::ffff:0:0/96")));

describe("an address", () => {
  test("is read exactly when node reads it, but never with a zone", () => {
    fc.assert(
      fc.property(fc.oneof(v4, v6, scribble), (text) => {
        expect(parseAddress(text)?.family).toBe(familyByNode(text));
      }),
      { numRuns: 2000 },
    );
  });

  test.each([
    "010.0.0.1",
    "10.1",
    "10.0.0.256",
    "1.2.3.4.5",
    "1..2.3",
    "1.2.3.",
    "0x7f.0.0.1",
    "1.2.3.4 ",
    "",
  ])("%j is no IPv4 address: others would read it differently, or not at all", (text) =>
    expect(parseAddress(text)).toBeUndefined(),
  );

  test.each([
    ":",
    ":::",
    "1::2::3",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4::5:6:7:8",
    "12345::",
    "fe80::1%eth0",
    "::1.2.3",
    "::1.2.3.4:5",
    "1:",
    ":1",
  ])("%j is no IPv6 address", (text) => expect(parseAddress(text)).toBeUndefined());

  test.each([
    ["::", "0:0:0:0:0:0:0:0"],
    ["1::", "1:0:0:0:0:0:0:0"],
    ["::8", "0:0:0:0:0:0:0:8"],
    ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"],
    ["::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"],
    ["2001:DB8::A", "2001:db8:0:0:0:0:0:a"],
    ["64:ff9b::192.0.2.33", "64:ff9b:0:0:0:0:c000:221"],
    ["1:2:3:4:5:6:255.255.255.255", "1:2:3:4:5:6:ffff:ffff"],
  ])("%s and %s are one address", (short, long) => {
    expect(address(short)).toEqual(address(long));
  });

  test("of one text differs from that of another", () => {
    fc.assert(
      fc.property(v4, v4, (a, b) => {
        expect(address(a).words[0] === address(b).words[0]).toBe(a === b);
      }),
    );
  });
});

describe("a range", () => {
  test.each([
    "10.0.0.0",
    "10.0.0.0/",
    "10.0.0.0/33",
    "10.0.0.0/08",
    "10.0.0.0/-1",
    "10.0.0.0/8/8",
    "::/129",
    "::/1e1",
    "/8",
    "10.0/8",
    "10.0.0.0/ 8",
  ])("is not what %j is", (text) => expect(parseCidr(text)).toBeUndefined());

  test("ignores what stands behind its prefix", () => {
    expect(cidr("10.1.2.3/16").words).toEqual(cidr("10.1.0.0/16").words);
    expect(cidr("10.1.2.3/16").text).toBe("10.1.2.3/16");
  });

  test("holds an address exactly when node says so", () => {
    const pair = fc.oneof(
      fc.tuple(v4, v4, fc.nat(32), fc.constant("ipv4" as const)),
      fc.tuple(plainV6, plainV6, fc.nat(128), fc.constant("ipv6" as const)),
    );
    fc.assert(
      fc.property(pair, fc.boolean(), ([net, other, bits, family], isNear) => {
        const list = new BlockList();
        list.addSubnet(net, bits, family);
        // Random addresses hardly ever meet: half of the time it is asked for its own.
        const asked = isNear ? net : other;
        expect(isInside(address(asked), cidr(`${net}/${bits}`))).toBe(list.check(asked, family));
      }),
      { numRuns: 2000 },
    );
  });

  test("ends at its prefix: one bit before it matters, one behind it does not", () => {
    fc.assert(
      fc.property(fc.integer(), fc.nat(32), fc.nat(31), (value, bits, flipped) => {
        const quad = (word: number): string =>
          [24, 16, 8, 0].map((shift) => (word >>> shift) & 255).join(".");
        const range = cidr(`${quad(value)}/${bits}`);
        const other = address(quad(value ^ (1 << (31 - flipped))));
        expect(isInside(other, range)).toBe(flipped >= bits);
      }),
    );
  });

  test("of one family never holds an address of the other", () => {
    expect(isInside(address("10.0.0.1"), cidr("::/0"))).toBe(false);
    expect(isInside(address("::1"), cidr("0.0.0.0/0"))).toBe(false);
    expect(doCidrsOverlap(cidr("::/0"), cidr("0.0.0.0/0"))).toBe(false);
  });

  test("overlaps another exactly when one holds the first address of the other", () => {
    const bits = fc.nat(32);
    const near = fc.constantFrom("10.0.0.0", "10.0.128.0", "10.1.0.0", "11.0.0.0", "138.0.0.0");
    fc.assert(
      fc.property(near, bits, near, bits, (a, aBits, b, bBits) => {
        const left = cidr(`${a}/${aBits}`);
        const right = cidr(`${b}/${bBits}`);
        const holds =
          isInside({ family: "IPv4", words: right.words }, left) ||
          isInside({ family: "IPv4", words: left.words }, right);
        expect(doCidrsOverlap(left, right)).toBe(holds);
        expect(doCidrsOverlap(right, left)).toBe(holds);
      }),
      { numRuns: 500 },
    );
  });
});

describe("no endpoint may have", () => {
  test.each([
    ["unspecified", "0.0.0.0", "0.255.255.255"],
    ["loopback", "127.0.0.1", "127.255.255.255"],
    ["link-local", "169.254.0.0", "169.254.169.254"],
    ["multicast", "224.0.0.1", "239.255.255.255"],
    ["broadcast", "255.255.255.255", "255.255.255.255"],
    ["unspecified or loopback", "::", "::1"],
    ["link-local", "fe80::1", "febf:ffff::1"],
    ["multicast", "ff00::", "ff02::1"],
    ["mapped", "::ffff:10.0.0.1", "::ffff:127.0.0.1"],
    ["IPv4-compatible", "::10.0.0.1", "::7f00:1"],
  ])("a %s address, such as %s or %s", (_, first, second) => {
    expect([first, second].map((text) => isForbiddenAddress(address(text)))).toEqual([true, true]);
  });

  test.each([
    "1.0.0.0",
    "10.0.0.1",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "169.255.0.0",
    "223.255.255.255",
    "240.0.0.1",
    "255.255.255.254",
    "fe7f::1",
    "fec0::1",
    "feff::1",
    "fd00::1",
    "2001:db8::1",
    "::1:0:0:0",
    "::fffe:1.2.3.4",
  ])("but %s is like any other", (text) => {
    expect(isForbiddenAddress(address(text))).toBe(false);
  });
});
