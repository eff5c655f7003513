import { describe, expect, test } from "vitest";
import { aContribution, aShare, id, WEB } from "../../test/shares.ts";
import { endpointShareName } from "../api/digest.ts";
import { serviceKey } from "../api/names.ts";
import {
  decodeEndpointShare,
  decodeServiceShare,
  encodeEndpointShare,
  encodeServiceShare,
  serviceOfShareName,
} from "./wire.ts";

const EAST = id("east");
const share = aShare("east");
const endpoints = aContribution(share, ["10.0.0.1", "10.0.0.2"]).endpoints[0]!;

/** The share as "east" stores it, with some fields written differently. */
function readService(fields: object = {}, name = "shop.web") {
  return decodeServiceShare({
    cluster: EAST,
    name,
    spec: { ...encodeServiceShare(share), ...fields },
  });
}

function readEndpoints(fields: object = {}, name = endpointShareName(WEB, endpoints.slice)) {
  return decodeEndpointShare({
    cluster: EAST,
    name,
    spec: { ...encodeEndpointShare(endpoints), ...fields },
  });
}

function valueOf<T>(decoded: { readonly ok: boolean; readonly value?: T }): T {
  expect(decoded).toMatchObject({ ok: true });
  return decoded.value!;
}

function some<T>(length: number, make: (at: number) => T): readonly T[] {
  return Array.from({ length }, (_, at) => make(at));
}

describe("names", () => {
  const web = serviceKey({ namespace: "shop", name: "web" });

  test("say which service a share is of", () => {
    expect(serviceOfShareName("shop.web")).toBe(web);
    expect(serviceOfShareName(endpointShareName(WEB, "web-abc"))).toBe(web);
  });

  test.each([
    "",
    "shop",
    "shop.",
    ".web",
    "shop.Web",
    "shop.web.a.b",
    "shop.-web",
    "shop/web",
    `${"x".repeat(64)}.web`,
    "shop.web.",
    "shop.web\n",
  ])("%j is no share's", (name) => {
    expect(serviceOfShareName(name)).toBeUndefined();
    expect(readService({}, name)).toMatchObject({ ok: false });
    expect(readEndpoints({}, name)).toMatchObject({ ok: false });
  });

  test("a ServiceShare has no digest, an EndpointShare that of its slice", () => {
    expect(readService({}, "shop.web.0123456789").ok).toBe(false);
    expect(readEndpoints({}, "shop.web").ok).toBe(false);
    expect(readEndpoints({ slice: "another" })).toEqual({
      ok: false,
      rejections: [
        {
          cluster: "east",
          reason: "Malformed",
          count: 1,
          message: `Cluster "east" shares "shop/web" in a form that is not understood here: its slice "another" does not go by the name ${JSON.stringify(endpointShareName(WEB, endpoints.slice))}. If "east" runs a later release of Isthmus, upgrade this cluster too.`,
        },
      ],
    });
  });

  test("cluster and service come from where the share lies, whatever it says itself", () => {
    const value = valueOf(readService({ cluster: "west", service: "bank/vault" }));
    expect(value).toMatchObject({ cluster: "east", service: "shop/web" });
  });
});

describe("what does not travel", () => {
  test("R50: nodes, hints, references to pods and further addresses stay at home", () => {
    const endpoint = {
      addresses: ["10.0.0.1", "10.0.0.9"],
      conditions: { ready: true },
      hostname: "web-0",
      zone: "z1",
      nodeName: "node-1",
      hints: { forZones: [{ name: "z1" }] },
      targetRef: { kind: "Pod" },
    };
    expect(encodeEndpointShare({ ...endpoints, endpoints: [endpoint] }).endpoints).toEqual([
      { addresses: ["10.0.0.1"], conditions: { ready: true }, hostname: "web-0", zone: "z1" },
    ]);
  });

  test("a zone that no label can hold: nobody could compare it", () => {
    const endpoint = { addresses: ["10.0.0.1"], zone: "zone one" };
    expect(encodeEndpointShare({ ...endpoints, endpoints: [endpoint] }).endpoints).toEqual([
      { addresses: ["10.0.0.1"] },
    ]);
  });

  test("the name of a port that needs none, written or not", () => {
    const ports = encodeServiceShare(aShare("east", { ports: ["80/TCP"] })).ports;
    expect(ports).toEqual([{ protocol: "TCP", port: 80 }]);
    for (const written of [ports, [{ name: "", port: 80 }], [{ name: null, port: 80 }]]) {
      expect(valueOf(readService({ ports: written })).ports).toEqual([
        { name: "", protocol: "TCP", port: 80 },
      ]);
    }
  });

  test("cluster and service: the hub knows them by namespace and name", () => {
    expect(Object.keys(encodeServiceShare(share))).not.toContain("cluster");
    expect(Object.keys(encodeEndpointShare(endpoints))).not.toContain("service");
  });
});

describe("a share from the next release", () => {
  test("is read without the fields that are not known here, and nothing is said about them", () => {
    const ports = [{ name: "http", port: 80, weight: 3 }];
    expect(readService({ weight: 5, ports, policy: { drain: true } })).toEqual({
      ok: true,
      value: share,
      rejections: [],
    });
    const [first] = endpoints.endpoints;
    const later = readEndpoints({ gateway: "g", endpoints: [{ ...first, weight: 2 }] });
    expect(later).toEqual({
      ok: true,
      value: { ...endpoints, endpoints: [first] },
      rejections: [],
    });
  });

  test("loses a port whose protocol is not known here, and keeps the others", () => {
    const ports = [
      { name: "http", port: 80 },
      { name: "quic", protocol: "QUIC", port: 443 },
    ];
    const decoded = readService({ ports });
    expect(valueOf(decoded).ports).toEqual(share.ports);
    expect(decoded.rejections).toEqual([
      {
        cluster: "east",
        reason: "Malformed",
        count: 1,
        message:
          'Cluster "east" shares ports of "shop/web" that cannot be used here: a port\'s protocol is "QUIC". If "east" runs a later release of Isthmus, upgrade this cluster too.',
      },
    ]);
  });

  test.each([
    ["session affinity", { sessionAffinity: "Cookie" }, "sessionAffinity"],
    ["internal traffic policy", { internalTrafficPolicy: "Zone" }, "internalTrafficPolicy"],
    ["traffic distribution", { trafficDistribution: "PreferFast" }, "trafficDistribution"],
    ["rule for its loss", { whenLost: "drain" }, "whenLost"],
    ["IP families", { ipFamilies: ["IPv4", "IPv8"] }, undefined],
  ])("loses a %s that is not known here, and says so", (what, fields, gone) => {
    const decoded = readService(fields);
    const { [gone as "whenLost"]: _gone, ...rest } = share;
    expect(decoded).toMatchObject({ ok: true, value: rest });
    expect(valueOf(decoded)).not.toHaveProperty(gone ?? "nothing");
    expect(decoded.rejections).toMatchObject([
      { count: 1, message: expect.stringContaining(what) },
    ]);
  });

  test("has a family once, however often it says so", () => {
    expect(valueOf(readService({ ipFamilies: ["IPv6", "IPv6"] })).ipFamilies).toEqual(["IPv6"]);
  });

  test.each([
    ["a type", { type: "Anycast" }, '"Anycast"'],
    ["only families", { ipFamilies: ["IPv8"] }, "no IP family"],
    ["only protocols", { ports: [{ port: 443, protocol: "QUIC" }] }, "no port"],
  ])("is not taken at all with %s that are not known here", (_, fields, why) => {
    const decoded = readService(fields);
    expect(decoded.ok).toBe(false);
    expect(decoded.rejections[0]?.message).toContain(why);
  });

  test("endpoints of another address type, or with no port that can be used, are not taken", () => {
    expect(readEndpoints({ addressType: "FQDN" }).ok).toBe(false);
    expect(readEndpoints({ ports: [{ port: 443, protocol: "QUIC" }] }).ok).toBe(false);
    expect(valueOf(readEndpoints({ ports: [] })).ports).toEqual([]);
  });
});

describe("the time of export", () => {
  test.each([
    ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"],
    ["2026-01-02T03:04:05.678901Z", "2026-01-02T03:04:05Z"],
    ["2026-01-02T03:04:05+00:00", "2026-01-02T03:04:05Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"],
  ])("%s is %s", (written, read) => {
    expect(valueOf(readService({ exportedAt: written })).exportedAt).toBe(read);
  });

  test.each([
    "",
    "0",
    "yesterday",
    "2026-01-02",
    "2026-01-02T03:04:05",
    "2026-01-02 03:04:05Z",
    "2026-01-02T03:04:05+01:00",
    "2026-13-02T03:04:05Z",
    "2026-02-29T00:00:00Z",
    "2100-02-29T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-01-02T24:00:00Z",
    " 2026-01-02T03:04:05Z",
    "2026-01-02T03:04:05Z\n",
    0,
    null,
  ])("%j is none: precedence goes by it, so the share is not taken (R20)", (exportedAt) => {
    expect(readService({ exportedAt }).ok).toBe(false);
  });
});

describe("ports of a service", () => {
  test.each([
    ["no number", { name: "x" }],
    ["the number 0", { name: "x", port: 0 }],
    ["a number that is too large", { name: "x", port: 65_536 }],
    ["half a number", { name: "x", port: 80.5 }],
    ["a number in words", { name: "x", port: "80" }],
    ["a name that is no DNS label", { name: "X", port: 81 }],
    ["no name beside others", { port: 81 }],
    ["a name that is taken", { name: "http", port: 81 }],
    ["a number that is taken", { name: "x", port: 80 }],
    ["an application protocol that no API server takes", { name: "x", port: 81, appProtocol: "/" }],
    ["no form", "80"],
  ])("one with %s is left out alone", (_, bad) => {
    const decoded = readService({ ports: [{ name: "http", port: 80 }, bad] });
    expect(valueOf(decoded).ports).toEqual(share.ports);
    expect(decoded.rejections).toMatchObject([{ reason: "Malformed", count: 1 }]);
  });

  test("the same number may be used by two protocols", () => {
    const ports = [
      { name: "dns", port: 53 },
      { name: "dns-udp", port: 53, protocol: "UDP" },
    ];
    expect(valueOf(readService({ ports })).ports).toHaveLength(2);
  });

  test("a headless service needs none", () => {
    expect(valueOf(readService({ type: "Headless", ports: [] })).ports).toEqual([]);
    expect(readService({ ports: [] }).ok).toBe(false);
  });
});

describe("affinity", () => {
  const seconds = (timeoutSeconds: unknown) => ({ clientIP: { timeoutSeconds } });

  test("its config comes along with ClientIP only: API servers refuse it otherwise", () => {
    const sessionAffinityConfig = seconds(60);
    const byClient = { sessionAffinity: "ClientIP", sessionAffinityConfig };
    expect(valueOf(readService(byClient))).toMatchObject(byClient);
    for (const sessionAffinity of ["None", undefined, "Cookie"]) {
      const value = valueOf(readService({ sessionAffinity, sessionAffinityConfig }));
      expect(value).not.toHaveProperty("sessionAffinityConfig");
    }
  });

  test.each([0, 86_401, 1.5, "60", null])("a time of %j seconds is left out", (time) => {
    const fields = { sessionAffinity: "ClientIP", sessionAffinityConfig: seconds(time) };
    const decoded = readService(fields);
    expect(valueOf(decoded)).not.toHaveProperty("sessionAffinityConfig");
    expect(decoded.rejections).toHaveLength(1);
  });
});

describe("labels and annotations", () => {
  test.each([
    ["a key that no API server takes", { "no key": "x" }],
    ["a value that is no text", { team: 1 }],
    ["no map", ["team"]],
    ["more than 64", Object.fromEntries(some(65, (at) => [`k${at}`, ""]))],
    ["a key of the language", JSON.parse('{"__proto__":"x"}')],
  ])("with %s none of them is taken, and the rest of the share is", (_, bad) => {
    for (const what of ["labels", "annotations"]) {
      const decoded = readService({ labels: {}, annotations: {}, [what]: bad });
      expect(valueOf(decoded)).not.toHaveProperty(what);
      expect(decoded.rejections).toMatchObject([{ message: expect.stringContaining(what) }]);
    }
  });

  test("a label's value is short and plain; an annotation's is bounded, and all of them together too", () => {
    expect(valueOf(readService({ labels: { team: "a b" } }))).not.toHaveProperty("labels");
    const text = (length: number) => "x".repeat(length);
    expect(valueOf(readService({ annotations: { a: text(4_096) } }))).toHaveProperty("annotations");
    expect(valueOf(readService({ annotations: { a: text(4_097) } }))).not.toHaveProperty(
      "annotations",
    );
    const many = Object.fromEntries(some(40, (at) => [`k${at}`, text(4_000)]));
    expect(valueOf(readService({ annotations: many }))).not.toHaveProperty("annotations");
  });
});

describe("endpoints", () => {
  const good = { addresses: ["10.0.0.1"], conditions: { ready: true } };

  test.each<[string, unknown]>([
    ["no address", { ...good, addresses: [] }],
    ["an address that is no text", { ...good, addresses: [1] }],
    ["an address that is too long", { ...good, addresses: ["1".repeat(46)] }],
    ["a host name of two labels", { ...good, hostname: "a.b" }],
    ["a host name that is too long", { ...good, hostname: "x".repeat(64) }],
    ["a zone that no label can hold", { ...good, zone: "zone one" }],
    ["a condition that is neither true nor false", { ...good, conditions: { ready: "yes" } }],
    ["conditions in a list", { ...good, conditions: [] }],
    ["no form", "10.0.0.1"],
  ])("one with %s is left out alone", (_, bad) => {
    const decoded = readEndpoints({ endpoints: [bad, good, bad] });
    expect(valueOf(decoded).endpoints).toEqual([good]);
    expect(decoded.rejections).toMatchObject([{ reason: "Malformed", count: 2 }]);
    expect(decoded.rejections[0]?.message).toMatch(/, and 1 more\. /);
  });

  test("what API servers fill in is filled in: else the slice would be written for ever", () => {
    const value = valueOf(readEndpoints({ ports: [{}], endpoints: [{ addresses: ["10.0.0.1"] }] }));
    expect(value.endpoints).toEqual([{ addresses: ["10.0.0.1"], conditions: {} }]);
    expect(value.ports).toEqual([{ name: "", protocol: "TCP" }]);
  });

  test("nothing is read but what is known: no node and no hint gets in", () => {
    const sly = { ...good, nodeName: "n", hints: { forZones: [{ name: "z" }] }, targetRef: {} };
    expect(valueOf(readEndpoints({ endpoints: [sly] })).endpoints).toEqual([good]);
  });

  test("two ports may have one number, but not one name", () => {
    const ports = ["a", "b", "a"].map((name) => ({ name, port: 80 }));
    const decoded = readEndpoints({ ports });
    expect(valueOf(decoded).ports.map(({ name }) => name)).toEqual(["a", "b"]);
    expect(decoded.rejections).toHaveLength(1);
  });
});

describe("more than the limits", () => {
  test("of endpoints is cut, and told", () => {
    const many = some(1_003, (at) => ({ addresses: [`10.0.${at >> 8}.${at & 255}`] }));
    const decoded = readEndpoints({ endpoints: many });
    expect(valueOf(decoded).endpoints).toHaveLength(1_000);
    expect(decoded.rejections).toEqual([
      {
        cluster: "east",
        reason: "TooMany",
        count: 3,
        message:
          'Cluster "east" shares more endpoints of "shop/web" than is taken in: at most 1000 of them are, 3 are left out. Share fewer in one piece.',
      },
    ]);
  });

  test("of ports is cut, and told", () => {
    const ports = some(102, (at) => ({ name: `p${at}`, port: at + 1 }));
    for (const decoded of [readService({ ports }), readEndpoints({ ports })]) {
      expect(decoded).toMatchObject({ ok: true, value: { ports: { length: 100 } } });
      expect(decoded.rejections).toMatchObject([{ reason: "TooMany", count: 2 }]);
    }
  });

  test("of addresses, and of ports that are sent, is not even looked at", () => {
    const addresses = ["10.0.0.1", "127.0.0.1"];
    const value = valueOf(readEndpoints({ endpoints: [{ addresses }] }));
    expect(value.endpoints[0]?.addresses).toEqual(["10.0.0.1"]);
    const ports = some(102, (at) => ({ name: `p${at}`, port: at + 1 }));
    expect(encodeEndpointShare({ ...endpoints, ports }).ports).toHaveLength(100);
  });

  test("of text is not repeated in sentences, nor anything that a terminal would obey", () => {
    for (const type of [
      "x".repeat(10_000),
      "a\u001b[2Jb",
      "a\u009bb",
      "a\u202eb",
      "😀".repeat(40),
    ]) {
      const [rejection] = readService({ type }).rejections;
      expect(rejection?.message.length).toBeLessThan(400);
      expect(rejection?.message).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u);
    }
  });
});

describe("a share that cannot be read", () => {
  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["a list", []],
    ["text", "shop/web"],
    ["an empty object", {}],
  ])("because it is %s is rejected as a whole", (_, spec) => {
    const name = endpointShareName(WEB, "x");
    for (const decoded of [
      decodeServiceShare({ cluster: EAST, name: "shop.web", spec }),
      decodeEndpointShare({ cluster: EAST, name, spec }),
    ]) {
      expect(decoded).toMatchObject({ ok: false, rejections: [{ reason: "Malformed", count: 1 }] });
    }
  });

  test.each(["ports", "ipFamilies"])("without a list of %s is rejected as a whole", (field) => {
    expect(readService({ type: "Headless", [field]: null }).ok).toBe(false);
  });

  test.each(["ports", "endpoints"])("without its list of %s is rejected as a whole", (field) => {
    expect(readEndpoints({ [field]: {} }).ok).toBe(false);
  });
});
