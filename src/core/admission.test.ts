import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aContribution, aShare, id } from "../../test/shares.ts";
import { type ServiceKey, serviceKey } from "../api/names.ts";
import type { Contribution, EndpointShare } from "../api/share.ts";
import {
  ADMISSION_LIMITS,
  type AdmissionContext,
  admitContribution,
  compileDeclaration,
  limitServices,
} from "./admission.ts";

const DECLARED = { podCIDRs: ["10.1.0.0/16", "fd01::/64"], serviceCIDRs: ["10.1.250.0/24"] };
const CONTEXT: AdmissionContext = {
  declaration: compileDeclaration(DECLARED),
  ownServices: compileDeclaration({ serviceCIDRs: ["10.1.240.0/24", "fd01::ff00/120"] }).services,
};
const declaring = (...podCIDRs: readonly string[]): AdmissionContext => ({
  ...CONTEXT,
  declaration: compileDeclaration({ podCIDRs }),
});
const west = (...addresses: readonly string[]): Contribution =>
  aContribution(aShare("west"), addresses);
const admit = (contribution: Contribution, context = CONTEXT) =>
  admitContribution(contribution, context);
const addressesOf = ({ endpoints }: Contribution): readonly string[] =>
  endpoints.flatMap((share) => share.endpoints.flatMap((endpoint) => endpoint.addresses));
const told = (contribution: Contribution, context = CONTEXT) =>
  admit(contribution, context).rejections.map(({ reason, count }) => `${count} ${reason}`);
const sentences = (contribution: Contribution, context = CONTEXT) =>
  admit(contribution, context).rejections.map(({ message }) => message);

function aSlice(slice: string, addresses: readonly string[], fields: Partial<EndpointShare> = {}) {
  const [share] = west("10.1.0.1").endpoints;
  return {
    ...share!,
    slice,
    endpoints: addresses.map((address) => ({ addresses: [address] })),
    ...fields,
  };
}
const inSlices = (...endpoints: readonly EndpointShare[]): Contribution => ({
  share: aShare("west"),
  endpoints,
});

describe("what is inside the declared ranges", () => {
  test("is taken in as it is, without a copy", () => {
    const contribution = west("10.1.0.1", "10.1.255.255", "fd01::1");
    const admitted = admit(contribution);
    expect(admitted.contribution).toBe(contribution);
    expect(admitted.rejections).toEqual([]);
  });

  test("stays when other endpoints of the source go, and slices without a fault are not copied", () => {
    const contribution = inSlices(
      aSlice("web-1", ["10.1.0.1"]),
      aSlice("web-2", ["10.2.0.1", "10.1.0.2"]),
      aSlice("web-3", ["10.2.0.2"]),
    );
    const admitted = admit(contribution).contribution;
    expect(addressesOf(admitted)).toEqual(["10.1.0.1", "10.1.0.2"]);
    expect(admitted.endpoints.map(({ slice }) => slice)).toEqual(["web-1", "web-2"]);
    expect(admitted.endpoints[0]).toBe(contribution.endpoints[0]);
  });

  test("stays in the merge when no endpoint of it may be used", () => {
    const contribution = west("192.0.2.1");
    expect(admit(contribution).contribution).toEqual({ ...contribution, endpoints: [] });
  });
});

describe("left out is", () => {
  test.each([
    ["an address that nobody declared", "10.2.0.1", "AddressNotDeclared"],
    ["an address of another declared family's range", "fd02::1", "AddressNotDeclared"],
    ["loopback", "127.0.0.1", "AddressForbidden"],
    ["link-local, where clouds keep their secrets", "169.254.169.254", "AddressForbidden"],
    ["multicast", "ff02::1", "AddressForbidden"],
    ["IPv4 in disguise", "::ffff:10.1.0.1", "AddressForbidden"],
    ["a spelling that others read as another address", "10.1.0.010", "AddressForbidden"],
    ["a name", "pod.example", "AddressForbidden"],
    ["an address of a Service of this cluster", "10.1.240.7", "AddressInServiceRange"],
    ["the same over IPv6", "fd01::ff01", "AddressInServiceRange"],
    ["an address of a Service of the source", "10.1.250.7", "AddressInServiceRange"],
  ])("%s: %s", (_, address, reason) => {
    expect(told(west(address, "10.1.0.1", "fd01::1"))).toEqual([`1 ${reason}`]);
    expect(addressesOf(admit(west(address)).contribution)).toEqual([]);
  });

  test("what is forbidden, even where everything is declared", () => {
    const anywhere = declaring("0.0.0.0/0", "::/0");
    const forbidden = ["0.0.0.0", "127.0.0.1", "169.254.0.1", "224.0.0.1", "255.255.255.255"];
    const hidden = ["::", "::1", "fe80::1", "ff00::1", "::ffff:127.0.0.1", "::127.0.0.1"];
    expect(told(west(...forbidden, ...hidden), anywhere)).toEqual(["11 AddressForbidden"]);
  });

  test("an address of the wrong family for its slice", () => {
    expect(told(inSlices(aSlice("web-1", ["fd01::1"])))).toEqual(["1 AddressForbidden"]);
    expect(told(inSlices(aSlice("web-1", ["10.1.0.1"], { addressType: "IPv6" })))).toHaveLength(1);
  });

  test("an endpoint of which any address is bad, or that has none", () => {
    const addresses = ["10.1.0.1", "10.2.0.1"];
    expect(told(inSlices(aSlice("a", [], { endpoints: [{ addresses }] })))).toHaveLength(1);
    expect(told(inSlices(aSlice("a", [], { endpoints: [{ addresses: [] }] })))).toEqual([
      "1 AddressForbidden",
    ]);
  });

  test("everything of a source of which nothing is declared", () => {
    expect(told(west("10.1.0.1", "10.1.0.2"), declaring())).toEqual(["2 AddressNotDeclared"]);
  });

  test("what lies in a declared range that nobody can read: it lets nothing in", () => {
    const context = declaring("10.1.0.0/99");
    expect(context.declaration.unreadable).toEqual(["10.1.0.0/99"]);
    expect(told(west("10.1.0.1"), context)).toEqual(["1 AddressNotDeclared"]);
  });

  test("every slice after the hundredth, by name", () => {
    const name = (at: number): string => `web-${String(at).padStart(3, "0")}`;
    const slices = Array.from({ length: 103 }, (_, at) => aSlice(name(at), [`10.1.0.${at}`]));
    const { contribution, rejections } = admit(inSlices(...slices.toReversed()));
    expect(contribution.endpoints.map(({ slice }) => slice)).toEqual(
      Array.from({ length: 100 }, (_, at) => name(at)),
    );
    expect(rejections).toMatchObject([{ reason: "TooMany", count: 3, cluster: "west" }]);
    expect(told(inSlices(...slices.slice(3)))).toEqual([]);
  });
});

describe("the sentence", () => {
  test("counts, names an example and says what to do", () => {
    expect(sentences(west("192.0.2.3", "192.0.2.1", "192.0.2.2"))).toEqual([
      '3 endpoints of cluster "west" lie outside its declared ranges, such as 192.0.2.1. ' +
        "Declare the range in spec.podCIDRs of its ClusterMember on the hub, or export pods inside 10.1.0.0/16, fd01::/64.",
    ]);
  });

  test("speaks of one endpoint in the singular", () => {
    expect(sentences(west("192.0.2.3"))[0]).toContain('1 endpoint of cluster "west" lies outside');
    expect(sentences(west("127.0.0.1"))[0]).toContain(
      '1 endpoint of cluster "west" has an address',
    );
  });

  test("says that nothing is declared", () => {
    expect(sentences(west("192.0.2.1"), declaring())[0]).toContain(
      'Cluster "west" has no pod range declared',
    );
  });

  test("points at a declared range that is none", () => {
    expect(sentences(west("192.0.2.1"), declaring("10.1.0.0/99"))[0]).toContain(
      "10.1.0.0/99 is no range",
    );
  });

  test("names the ranges of Services", () => {
    expect(sentences(west("10.1.240.1"))[0]).toContain(
      "(10.1.240.0/24, fd01::ff00/120, 10.1.250.0/24), such as 10.1.240.1",
    );
  });

  test("is short, whatever a member writes and however much is declared", () => {
    const many = Array.from({ length: 32 }, (_, at) => `fd00:1234:5678:9abc:def0:1234:${at}::/112`);
    for (const address of ["x".repeat(4000), "192.0.2.1", "\u001b[31m\u202Ered"]) {
      for (const message of sentences(west(address), declaring(...many))) {
        expect(message.length).toBeLessThan(500);
        expect(message).toMatch(/^[\u0020-\u007e]*$/);
      }
    }
  });

  test("is one for each reason, in order of the reasons", () => {
    expect(told(west("127.0.0.1", "10.2.0.1", "10.1.240.1", "10.2.0.2"))).toEqual([
      "1 AddressForbidden",
      "1 AddressInServiceRange",
      "2 AddressNotDeclared",
    ]);
  });
});

const ADDRESSES =
  "10.1.0.1 10.1.0.2 10.1.240.1 10.2.0.1 10.2.0.2 127.0.0.1 fd01::1 fd01::ff01 fd02::1 fe80::1 ::ffff:10.1.0.1 x 10.1";
const address = fc.constantFrom("", ...ADDRESSES.split(" "));
const slices = fc
  .uniqueArray(
    fc.record({
      slice: fc.constantFrom("a", "b", "c", "d", "e"),
      addressType: fc.constantFrom("IPv4" as const, "IPv6" as const),
      addresses: fc.array(fc.array(address, { maxLength: 2 }), { maxLength: 4 }),
    }),
    { selector: ({ slice }) => slice },
  )
  .map((all) =>
    all.map(({ slice, addressType, addresses }) =>
      aSlice(slice, [], { addressType, endpoints: addresses.map((some) => ({ addresses: some })) }),
    ),
  );
const context = fc.record({
  declaration: fc
    .subarray(["10.1.0.0/16", "10.2.0.0/16", "fd00::/8", "::/0", "nonsense/8"])
    .map((podCIDRs) => compileDeclaration({ podCIDRs })),
  ownServices: fc
    .subarray(["10.1.240.0/24", "fd01::ff00/120"])
    .map((serviceCIDRs) => compileDeclaration({ serviceCIDRs }).services),
  limits: fc.nat(5).map((sharesPerService) => ({ ...ADMISSION_LIMITS, sharesPerService })),
});

describe("whatever comes in", () => {
  test("what was admitted is admitted again, as it is", () => {
    fc.assert(
      fc.property(slices, context, (some, by) => {
        const once = admit(inSlices(...some), by).contribution;
        expect(admit(once, by)).toEqual({ contribution: once, rejections: [] });
        expect(admit(once, by).contribution).toBe(once);
      }),
    );
  });

  test("the order of slices and endpoints changes neither what is taken in nor a word of what is said", () => {
    const sorted = ({ endpoints }: Contribution) =>
      endpoints.toSorted((a, b) => (a.slice < b.slice ? -1 : 1));
    fc.assert(
      fc.property(slices, context, (some, by) => {
        const one = admit(inSlices(...some), by);
        const reversed = admit(inSlices(...some.toReversed()), by);
        expect(sorted(reversed.contribution)).toEqual(sorted(one.contribution));
        const within = some.map((share) => ({ ...share, endpoints: share.endpoints.toReversed() }));
        expect(reversed.rejections).toEqual(one.rejections);
        expect(admit(inSlices(...within), by).rejections).toEqual(one.rejections);
      }),
    );
  });

  test("every endpoint is either taken in or counted", () => {
    fc.assert(
      fc.property(slices, context, (some, by) => {
        const { sharesPerService } = by.limits;
        const { contribution, rejections } = admit(inSlices(...some), by);
        const looked = some.toSorted((a, b) => (a.slice < b.slice ? -1 : 1));
        const size = (shares: readonly EndpointShare[]): number =>
          shares.flatMap(({ endpoints }) => endpoints).length;
        const counted = rejections.filter(({ reason }) => reason !== "TooMany");
        expect(
          size(contribution.endpoints) + counted.reduce((sum, { count }) => sum + count, 0),
        ).toBe(size(looked.slice(0, sharesPerService)));
        expect(rejections.find(({ reason }) => reason === "TooMany")?.count ?? 0).toBe(
          Math.max(0, some.length - sharesPerService),
        );
      }),
    );
  });
});

describe("a member that shares too much", () => {
  const key = (name: string): ServiceKey => serviceKey({ namespace: "shop", name });
  const limits = { sharesPerService: 3, services: 4, shares: 6, endpoints: 10 };
  const leftOut = (services: Readonly<Record<string, number | readonly [number, number]>>) => {
    const entries = Object.entries(services).map(([name, size]) => {
      const [endpointShares, endpoints] = typeof size === "number" ? [size, 0] : size;
      return [key(name), { endpointShares, endpoints }] as const;
    });
    return limitServices({ cluster: id("west"), services: new Map(entries) }, limits);
  };

  test("that stays within the limits has nothing left out", () => {
    const { leftOut: out, rejections } = leftOut({ a: 1, b: 2, c: 3, d: 0 });
    expect([...out]).toEqual([]);
    expect(rejections).toEqual([]);
  });

  test("has its first services by name taken in, whatever the order they came in", () => {
    const { leftOut: out, rejections } = leftOut({ e: 0, b: 0, f: 0, a: 0, d: 0, c: 0 });
    expect([...out]).toEqual([key("e"), key("f")]);
    expect(rejections).toMatchObject([{ cluster: "west", reason: "TooMany", count: 1 }]);
    expect(rejections[0]?.message).toContain("Export fewer services");
  });

  test("has services left out when their slices are too many together", () => {
    expect([...leftOut({ c: 2, b: 2, a: 3, d: 0 }).leftOut]).toEqual([key("c"), key("d")]);
    expect([...leftOut({ a: 3, b: 3, c: 1 }).leftOut]).toEqual([key("c")]);
  });

  test("has services left out when their endpoints are too many together, however few the slices", () => {
    expect([...leftOut({ b: [1, 4], a: [1, 6] }).leftOut]).toEqual([]);
    const { leftOut: out, rejections } = leftOut({ c: 0, b: [1, 5], a: [1, 6] });
    expect([...out]).toEqual([key("b"), key("c")]);
    expect(rejections[0]?.message).toContain("10 endpoints");
  });

  test("pays for no more slices of a service than are taken in of one", () => {
    expect([...leftOut({ a: 99, b: 99 }).leftOut]).toEqual([]);
  });

  test("may share as much as is written", () => {
    expect(ADMISSION_LIMITS).toEqual({
      sharesPerService: 100,
      services: 5_000,
      shares: 10_000,
      endpoints: 100_000,
    });
  });
});
