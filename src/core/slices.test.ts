import { describe, expect, test } from "vitest";
import { aSlice } from "../../test/kubeObjects.ts";
import { aContribution, aShare, id } from "../../test/shares.ts";
import type { Endpoint, EndpointSlice } from "../api/builtin.ts";
import type { Contribution, EndpointShare, WhenLost } from "../api/share.ts";
import { viewMerged } from "./import.ts";
import type { Liveness } from "./liveness.ts";
import { mergeShares } from "./merge.ts";
import { planSliceRemoval, planSlices } from "./slices.ts";
import type { Write } from "./write.ts";

interface Situation {
  /** Of "b", or of each that is named. */
  readonly liveness?: Liveness | Readonly<Record<string, Liveness>>;
  readonly awaited?: readonly string[];
  readonly families?: readonly ("IPv4" | "IPv6")[];
}

/** Seen from cluster "a". */
function plan(
  contributions: readonly Contribution[],
  observed: readonly EndpointSlice[] = [],
  situation: Situation = {},
): readonly Write[] {
  const merged = mergeShares(contributions.map(({ share }) => share));
  if (merged === undefined) throw new Error("nothing was merged");
  const { liveness = {}, awaited = [], families = ["IPv4", "IPv6"] } = situation;
  const judged: Readonly<Record<string, Liveness>> =
    typeof liveness === "string" ? { b: liveness } : liveness;
  return planSlices(
    {
      cluster: id("a"),
      view: viewMerged(merged, { families, derivedName: "derived-web" }),
      contributions,
      livenessOf: (cluster) => judged[cluster] ?? "live",
      isAwaited: (cluster) => awaited.includes(cluster),
    },
    observed,
  );
}
function applied(writes: readonly Write[]): readonly EndpointSlice[] {
  return writes.flatMap((write) =>
    write.verb === "delete" ? [] : [write.object as EndpointSlice],
  );
}
const slicesOf = (...args: Parameters<typeof plan>): readonly EndpointSlice[] =>
  applied(plan(...args));
const verbs = (writes: readonly Write[]): readonly string[] => writes.map(({ verb }) => verb);

function withEndpoint(cluster: string, endpoint: Endpoint, share = aShare(cluster)): Contribution {
  const [first] = aContribution(share).endpoints;
  return { share, endpoints: [{ ...(first as EndpointShare), endpoints: [endpoint] }] };
}
const addresses = ["10.0.0.1"];

/** Everybody has told everything. */
const heard = { contributions: [], isAwaited: () => false, livenessOf: () => "live" as const };

describe("an imported slice", () => {
  const [slice] = slicesOf([aContribution(aShare("b"))]);

  test("R46, R48: is a discovery.k8s.io/v1 slice in the service's namespace with the labels of the API", () => {
    expect(slice).toMatchObject({
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { namespace: "shop" },
    });
    expect(slice?.metadata.labels).toEqual({
      "multicluster.kubernetes.io/service-name": "web",
      "multicluster.kubernetes.io/source-cluster": "b",
      "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.isthmus.dev",
      "kubernetes.io/service-name": "derived-web",
    });
  });

  test("R51: never names the user's own Service", () => {
    const headless = slicesOf([aContribution(aShare("b", { type: "Headless" }))]);
    expect(headless[0]?.metadata.labels).not.toHaveProperty(["kubernetes.io/service-name"]);
    expect(slice?.metadata.labels?.["kubernetes.io/service-name"]).not.toBe("web");
  });

  test("R49: carries backend ports under the names of the service's", () => {
    expect(slice?.ports).toEqual([{ name: "http", protocol: "TCP", port: 8080 }]);
  });

  test("R46: is there for the importing cluster's own endpoints too", () => {
    const own = slicesOf([aContribution(aShare("a"))]);
    expect(own[0]?.metadata.labels?.["multicluster.kubernetes.io/source-cluster"]).toBe("a");
  });

  test("R47, R52: is of one source cluster, and its name of no other", () => {
    const slices = slicesOf([aContribution(aShare("b")), aContribution(aShare("c"))]);
    expect(slices).toHaveLength(2);
    expect(new Set(slices.map(({ metadata }) => metadata.name)).size).toBe(2);
  });

  test("R49: is of one family; a family that is not in use gets none", () => {
    const dual = aContribution(aShare("b", { ipFamilies: ["IPv4", "IPv6"] }), [
      "10.0.0.1",
      "fd00::1",
    ]);
    expect(slicesOf([dual]).map(({ addressType }) => addressType)).toEqual(["IPv4", "IPv6"]);
    const single = slicesOf([dual], [], { families: ["IPv6"] });
    expect(single.map(({ addressType }) => addressType)).toEqual(["IPv6"]);
  });

  test("R49: keeps conditions, hostname and zone of each endpoint", () => {
    const endpoint = {
      addresses,
      conditions: { ready: false, serving: true, terminating: true },
      hostname: "web-0",
      zone: "z",
    };
    expect(slicesOf([withEndpoint("b", endpoint)])[0]?.endpoints).toEqual([endpoint]);
  });

  test("R39: is as ready as its source says, which is where publishNotReadyAddresses shows", () => {
    const published = {
      addresses,
      conditions: { ready: true, serving: false, terminating: false },
    };
    const held = { addresses, conditions: { ready: false, serving: false, terminating: false } };
    for (const endpoint of [published, held]) {
      expect(slicesOf([withEndpoint("b", endpoint)])[0]?.endpoints).toEqual([endpoint]);
    }
  });

  test("R55: has no owner reference: the plan removes it and waits for no garbage collector", () => {
    expect(slice?.metadata).not.toHaveProperty("ownerReferences");
    expect(verbs(planSliceRemoval(heard, [slice!]))).toEqual(["delete"]);
  });

  test("R56: is one also for the 1,000 endpoints that a source slice can hold", () => {
    const many = [...Array(1000).keys()].map((at) => `10.0.${at >> 8}.${at & 255}`);
    const slices = slicesOf([aContribution(aShare("b"), many)]);
    expect(slices).toHaveLength(1);
    expect(slices[0]?.endpoints.flatMap((endpoint) => endpoint.addresses)).toEqual(many);
  });

  test("R50: names nodes of this cluster only", () => {
    const endpoint = { addresses, nodeName: "node-1" };
    expect(slicesOf([withEndpoint("b", endpoint)])[0]?.endpoints).toEqual([{ addresses }]);
    expect(slicesOf([withEndpoint("a", endpoint)])[0]?.endpoints).toEqual([endpoint]);
  });
});

describe("zone hints", () => {
  const hinted = (trafficDistribution: string | undefined, endpoint: Endpoint) => {
    const share = aShare("b", trafficDistribution === undefined ? {} : { trafficDistribution });
    return slicesOf([withEndpoint("b", endpoint, share)])[0]?.endpoints[0]?.hints;
  };
  const zoned = { addresses, zone: "z" };

  test.each(["PreferClose", "PreferSameZone"])("R50: are computed for %s", (preference) => {
    expect(hinted(preference, zoned)).toEqual({ forZones: [{ name: "z" }] });
  });

  test("R50: are left out without a preference, and for endpoints without a zone", () => {
    expect(hinted(undefined, zoned)).toBeUndefined();
    expect(hinted("PreferClose", { addresses })).toBeUndefined();
  });

  test("R50: go again with the preference", () => {
    const hintful = slicesOf([
      withEndpoint("b", zoned, aShare("b", { trafficDistribution: "PreferClose" })),
    ]);
    const [after] = slicesOf([withEndpoint("b", zoned)], hintful);
    expect(after?.endpoints).toEqual([zoned]);
  });
});

describe("ports that lost the merge", () => {
  const portsOf = (...contributions: readonly Contribution[]) =>
    slicesOf(contributions)
      .filter(
        ({ metadata }) => metadata.labels?.["multicluster.kubernetes.io/source-cluster"] === "b",
      )
      .map(({ ports }) => ports?.map(({ name }) => name));
  const oldest = aContribution(aShare("a", { age: 9 }));

  test("R28: are taken out of the slices of the cluster that has them", () => {
    const other = aContribution(aShare("b", { ports: ["http 81/TCP", "dns 53/UDP"] }));
    expect(portsOf(oldest, other)).toEqual([["dns"]]);
  });

  test("R28: leave no slice behind when none is left", () => {
    expect(portsOf(oldest, aContribution(aShare("b", { ports: ["http 81/TCP"] })))).toEqual([]);
    expect(portsOf(oldest, aContribution(aShare("b", { ports: ["http 80/UDP"] })))).toEqual([]);
    expect(portsOf(oldest, aContribution(aShare("b", { ports: ["web 80/TCP"] })))).toEqual([]);
  });

  test("R28: do not include those that differ in nothing but their application protocol", () => {
    const other = aContribution(aShare("b", { ports: ["http 80/TCP h2c"] }));
    expect(portsOf(oldest, other)).toEqual([["http"]]);
  });

  test("R28: a headless service without ports keeps its endpoints", () => {
    const bare = { type: "Headless" as const, ports: [] };
    expect(portsOf(aContribution(aShare("b", bare)))).toEqual([[]]);
  });
});

describe("slices that are there", () => {
  const both = [aContribution(aShare("a")), aContribution(aShare("b"))];
  const present = slicesOf(both);

  test("are left alone when they are right, whatever others added to their metadata", () => {
    const marked = present.map((slice) => ({
      ...slice,
      metadata: { ...slice.metadata, labels: { ...slice.metadata.labels, own: "x" } },
    }));
    expect(plan(both, marked)).toEqual([]);
  });

  test("one endpoint changed is one slice written", () => {
    const moved = [aContribution(aShare("a")), aContribution(aShare("b"), ["10.0.0.2"])];
    const writes = plan(moved, present);
    expect(verbs(writes)).toEqual(["apply"]);
    expect(applied(writes)[0]?.endpoints[0]?.addresses).toEqual(["10.0.0.2"]);
  });

  test("R53: one endpoint changed among many slices is one slice written", () => {
    const source = (slice: string, ip: string): EndpointShare => ({
      ...(both[1]?.endpoints[0] as EndpointShare),
      slice,
      endpoints: [{ addresses: [ip] }],
    });
    const many = (ip: string): Contribution => ({
      share: aShare("b"),
      endpoints: [...Array(20).keys()].map((at) =>
        source(`web-${at}`, at === 7 ? ip : `10.1.0.${at}`),
      ),
    });
    const before = slicesOf([many("10.1.0.7")]);
    expect(before).toHaveLength(20);
    expect(verbs(plan([many("10.1.1.1")], before))).toEqual(["apply"]);
  });

  test("R54: those of a cluster that exports no more are deleted", () => {
    const writes = plan(both.slice(0, 1), present);
    expect(verbs(writes)).toEqual(["delete"]);
    expect(writes[0]).toMatchObject({ ref: { name: present[1]?.metadata.name } });
  });

  test("R54: those without endpoints are deleted", () => {
    expect(
      verbs(plan([aContribution(aShare("a")), aContribution(aShare("b"), [])], present)),
    ).toEqual(["delete"]);
  });

  test("those of others are left alone, though labelled for the import", () => {
    const labels = { "multicluster.kubernetes.io/service-name": "web" };
    const foreign = aSlice([{ addresses }], { metadata: { namespace: "shop", name: "x", labels } });
    expect(plan(both, [...present, foreign])).toEqual([]);
    expect(planSliceRemoval(heard, [foreign])).toEqual([]);
  });

  test("R63: lose the link to the derived Service when the import turns headless, whoever made it", () => {
    const headless = [aContribution(aShare("b", { type: "Headless" }))];
    const writes = plan(headless, slicesOf([aContribution(aShare("b"))]));
    expect(verbs(writes)).toEqual(["replace"]);
    expect(applied(writes)[0]?.metadata.labels).not.toHaveProperty(["kubernetes.io/service-name"]);
  });

  test("R63: gain the link when the import gets a virtual IP", () => {
    const headless = slicesOf([aContribution(aShare("b", { type: "Headless" }))]);
    const writes = plan([aContribution(aShare("b"))], headless);
    expect(verbs(writes)).toEqual(["apply"]);
    expect(applied(writes)[0]?.metadata.labels?.["kubernetes.io/service-name"]).toBe("derived-web");
  });

  test("R49: one whose family changed is deleted first, because the family of a slice cannot change", () => {
    const old = slicesOf([aContribution(aShare("b"))]).map((slice) => ({
      ...slice,
      addressType: "IPv6" as const,
    }));
    expect(verbs(plan([aContribution(aShare("b"))], old))).toEqual(["delete", "apply"]);
    const headless = [aContribution(aShare("b", { type: "Headless" }))];
    expect(verbs(plan(headless, old))).toEqual(["delete", "apply"]);
  });

  test("R10, R54: all of ours go when nobody exports the service", () => {
    expect(verbs(planSliceRemoval(heard, present))).toEqual(["delete", "delete"]);
  });
});

describe("a source that is not heard", () => {
  const own = aContribution(aShare("a"));
  const other = withEndpoint("b", { addresses, conditions: { ready: true, serving: true } });
  const present = slicesOf([own, other]);

  test("R65: while silent, its endpoints are there but not ready", () => {
    const [slice] = slicesOf([own, other], present, { liveness: "silent" });
    expect(slice?.endpoints).toEqual([{ addresses, conditions: { ready: false, serving: false } }]);
  });

  test("R65: endpoints on their way out stay so while their cluster is silent", () => {
    const leaving = withEndpoint("b", {
      addresses,
      conditions: { ready: false, terminating: true },
    });
    const [slice] = slicesOf([leaving], [], { liveness: "silent" });
    expect(slice?.endpoints[0]?.conditions).toMatchObject({ ready: false, terminating: true });
  });

  test("R66: lost, its slices are deleted", () => {
    expect(verbs(plan([own, other], present, { liveness: "lost" }))).toEqual(["delete"]);
  });

  test("R66: heard again, they are back", () => {
    const left = present.slice(0, 1);
    expect(applied(plan([own, other], left))).toEqual(present.slice(1));
  });

  test("R66: not heard yet since the start, its slices stay as they are", () => {
    expect(plan([own], present, { awaited: ["b"] })).toEqual([]);
  });

  test("R65: silent before it was ever heard, its endpoints turn not ready, and that is written once", () => {
    const writes = plan([own], present, { awaited: ["b"], liveness: "silent" });
    expect(verbs(writes)).toEqual(["apply"]);
    const [slice] = applied(writes);
    expect(slice?.endpoints).toEqual([{ addresses, conditions: { ready: false, serving: false } }]);
    expect({ ...slice, endpoints: present[1]?.endpoints }).toEqual(present[1]);
    const after = [present[0]!, slice!];
    expect(plan([own], after, { awaited: ["b"], liveness: "silent" })).toEqual([]);
  });

  test("R65: what others added to its slice is not taken for ours when it turns not ready", () => {
    const marked = present.map((slice) => ({
      ...slice,
      metadata: { ...slice.metadata, uid: "1", labels: { ...slice.metadata.labels, own: "x" } },
    }));
    const [slice] = slicesOf([own], marked, { awaited: ["b"], liveness: "silent" });
    expect(slice?.metadata).toEqual(present[1]?.metadata);
  });

  test("R66: heard again before it has told what it shares, its slices stay as they are", () => {
    const unready = slicesOf([own, other], [], { liveness: "silent" });
    expect(plan([own], unready, { awaited: ["b"] })).toEqual([]);
    expect(plan([own], present, { awaited: ["b"], liveness: "flapping" })).toEqual([]);
  });

  test("R66: lost before it was ever heard, its slices are deleted", () => {
    expect(verbs(plan([own], present, { awaited: ["b"], liveness: "lost" }))).toEqual(["delete"]);
  });

  test("R66: not heard yet and nobody else shares the service: the same", () => {
    const sources = (liveness: Liveness) => ({
      contributions: [],
      isAwaited: () => true,
      livenessOf: () => liveness,
    });
    expect(planSliceRemoval(sources("live"), present)).toEqual([]);
    expect(verbs(planSliceRemoval(sources("silent"), present))).toEqual(["apply", "apply"]);
    expect(verbs(planSliceRemoval(sources("lost"), present))).toEqual(["delete", "delete"]);
  });
});

describe("a source whose export says what is to become of its endpoints when it is lost", () => {
  const own = aContribution(aShare("a"));
  const asking = (whenLost: WhenLost) =>
    withEndpoint("b", { addresses, conditions: { ready: true } }, aShare("b", { whenLost }));
  const unready = { addresses, conditions: { ready: false, serving: false } };
  const ready = { addresses, conditions: { ready: true } };

  test.each([
    ["withdraw", "silent", [unready]],
    ["withdraw", "lost", undefined],
    ["unready", "silent", [unready]],
    ["unready", "lost", [unready]],
    ["keep", "flapping", [ready]],
    ["keep", "silent", [ready]],
    ["keep", "lost", [ready]],
  ] as const)("R65: %s: %s, they are as asked", (whenLost, liveness, endpoints) => {
    const slices = slicesOf([own, asking(whenLost)], [], { liveness });
    expect(slices[1]?.endpoints).toEqual(endpoints);
  });

  test.each([
    ["unready", "silent", ["apply"]],
    ["unready", "lost", ["apply"]],
    ["keep", "silent", []],
    ["keep", "lost", []],
  ] as const)(
    "R66: %s: %s, and not heard since the start, they fare the same by what is written on the slice",
    (whenLost, liveness, expected) => {
      const present = slicesOf([own, asking(whenLost)]);
      expect(verbs(plan([own], present, { liveness, awaited: ["b"] }))).toEqual(expected);
    },
  );

  test("not heard in full, what it says now counts, not what is written on the slice", () => {
    const present = slicesOf([own, asking("keep")]);
    const now = { share: aShare("b"), endpoints: [] };
    const writes = plan([own, now], present, { liveness: "lost", awaited: ["b"] });
    expect(verbs(writes)).toEqual(["delete"]);
  });

  test("R54: no member any more, they go, whatever it asked for", () => {
    const present = slicesOf([own, asking("keep")]);
    expect(verbs(plan([own], present, { liveness: "lost" }))).toEqual(["delete"]);
  });

  test("changes its mind: the slice says so, and says nothing where nothing is asked", () => {
    const present = slicesOf([own, asking("keep")]);
    expect(present[1]?.metadata.annotations).toEqual({ "isthmus.dev/when-lost": "keep" });
    const [other] = slicesOf([own, asking("unready")], present);
    expect(other?.metadata.annotations).toEqual({ "isthmus.dev/when-lost": "unready" });
    const writes = plan([own, asking("withdraw")], present);
    expect(verbs(writes)).toEqual(["replace"]);
    expect(applied(writes)[0]?.metadata.annotations).toEqual({});
    expect(plan([own, asking("withdraw")], [present[0]!, ...applied(writes)])).toEqual([]);
  });
});

describe("a source that flaps", () => {
  const of = (cluster: string, ...ips: readonly string[]) =>
    aContribution(aShare(cluster, { ipFamilies: ["IPv4", "IPv6"] }), ips);
  const readyOf = (
    contributions: readonly Contribution[],
    liveness: Readonly<Record<string, Liveness>>,
  ) =>
    slicesOf(contributions, [], { liveness })
      .flatMap(({ endpoints }) => endpoints)
      .filter(({ conditions }) => conditions?.ready === true)
      .flatMap((endpoint) => endpoint.addresses);

  test("has endpoints that are there, but not ready while another has some", () => {
    const both = [of("a", "10.0.0.1"), of("b", "10.0.0.2")];
    expect(slicesOf(both, [], { liveness: "flapping" })).toHaveLength(2);
    expect(readyOf(both, { b: "flapping" })).toEqual(["10.0.0.1"]);
  });

  test("keeps them ready when nobody else has any", () => {
    expect(readyOf([of("b", "10.0.0.2")], { b: "flapping" })).toEqual(["10.0.0.2"]);
    const idle = withEndpoint("a", { addresses, conditions: { ready: false } });
    expect(readyOf([idle, of("b", "10.0.0.2")], { b: "flapping" })).toEqual(["10.0.0.2"]);
  });

  test("keeps them ready when all others flap, too, or are not heard", () => {
    const three = [of("a", "10.0.0.1"), of("b", "10.0.0.2"), of("c", "10.0.0.3")];
    expect(readyOf(three, { a: "lost", b: "flapping", c: "flapping" })).toEqual([
      "10.0.0.2",
      "10.0.0.3",
    ]);
    expect(readyOf(three, { a: "silent", b: "flapping", c: "lost" })).toEqual(["10.0.0.2"]);
  });

  test("keeps those of a family that nobody else has", () => {
    const both = [of("a", "10.0.0.1"), of("b", "10.0.0.2", "fd00::2")];
    expect(readyOf(both, { b: "flapping" })).toEqual(["10.0.0.1", "fd00::2"]);
  });

  test("keeps those of a port that nobody else has", () => {
    const other = aContribution(aShare("b", { ports: ["http 80/TCP", "admin 81/TCP"] }), [
      "10.0.0.2",
    ]);
    expect(readyOf([aContribution(aShare("a")), other], { b: "flapping" })).toEqual([
      "10.0.0.1",
      "10.0.0.2",
    ]);
  });
});
