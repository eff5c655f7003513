import { describe, expect, test } from "vitest";
import { aService } from "../../test/kubeObjects.ts";
import { aShare } from "../../test/shares.ts";
import type { IPFamily, Service } from "../api/builtin.ts";
import { isDerived, planDerived, readVirtualIps } from "./derived.ts";
import { viewMerged } from "./import.ts";
import { mergeShares } from "./merge.ts";
import type { Write } from "./write.ts";

const owner = {
  apiVersion: "multicluster.x-k8s.io/v1beta1",
  kind: "ServiceImport",
  name: "web",
  uid: "import-uid",
};

function plan(
  share: Parameters<typeof aShare>[1],
  observed: Service | undefined,
  ips: readonly string[] = [],
): readonly Write[] {
  const merged = mergeShares([aShare("a", share)]);
  if (merged === undefined) throw new Error("nothing was merged");
  const families: readonly IPFamily[] = ["IPv4", "IPv6"];
  const view = viewMerged(merged, { families, derivedName: "derived-web" });
  return planDerived({ view, derivedName: "derived-web", owner, ips }, observed);
}
function written(writes: readonly Write[]): Service {
  const [write] = writes;
  if (write === undefined || write.verb === "delete") throw new Error("nothing was written");
  return write.object;
}
/** As the API server would have it: with defaults, and a virtual IP. */
function stored(share: Parameters<typeof aShare>[1] = {}): Service {
  const made = written(plan(share, undefined));
  return {
    ...made,
    metadata: { ...made.metadata, uid: "u-1", resourceVersion: "7" },
    spec: {
      ...made.spec,
      clusterIP: "10.96.0.1",
      clusterIPs: ["10.96.0.1"],
      ports: (made.spec?.ports ?? []).map((port) => ({ ...port, targetPort: port.port })),
    },
  };
}
const edited = (spec: Service["spec"]): Service => {
  const right = stored();
  return { ...right, spec: { ...right.spec, ...spec } };
};

describe("the derived Service", () => {
  test("R60: is a ClusterIP without selector, owned by the import, with the import's ports", () => {
    const made = written(plan({ ports: ["http 80/TCP h2c", "dns 53/UDP"] }, undefined));
    expect(made.metadata).toEqual({
      namespace: "shop",
      name: "derived-web",
      labels: { "isthmus.dev/managed": "true", "multicluster.kubernetes.io/service-name": "web" },
      ownerReferences: [owner],
    });
    expect(made.spec).toEqual({
      type: "ClusterIP",
      ports: [
        { name: "http", protocol: "TCP", port: 80, appProtocol: "h2c" },
        { name: "dns", protocol: "UDP", port: 53 },
      ],
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      sessionAffinity: "None",
      internalTrafficPolicy: "Cluster",
    });
  });

  test("R62: takes over affinity, policies and distribution", () => {
    const spec = {
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
      internalTrafficPolicy: "Local",
      trafficDistribution: "PreferClose",
    } as const;
    expect(written(plan(spec, undefined)).spec).toMatchObject(spec);
  });

  test("R62: spells out the default of an affinity, and never a config without one", () => {
    expect(written(plan({ sessionAffinity: "ClientIP" }, undefined)).spec).toMatchObject({
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 10_800 } },
    });
    const config = { sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } } };
    expect(written(plan(config, undefined)).spec).not.toHaveProperty("sessionAffinityConfig");
  });

  test("R59, R62: has an address of each family, in the order of the import", () => {
    const { spec } = written(plan({ ipFamilies: ["IPv6", "IPv4"] }, undefined));
    expect(spec).toMatchObject({
      ipFamilies: ["IPv6", "IPv4"],
      ipFamilyPolicy: "RequireDualStack",
    });
  });

  test("R57: asks for the address that the import shows already", () => {
    expect(written(plan({}, undefined, ["10.96.0.7"])).spec).toMatchObject({
      clusterIP: "10.96.0.7",
      clusterIPs: ["10.96.0.7"],
    });
  });
});

describe("a derived Service that is there", () => {
  test("is left alone when it is right, defaults and all", () => {
    expect(plan({}, stored(), ["10.96.0.1"])).toEqual([]);
  });

  test("R62: follows ports, affinity, policies and distribution, and keeps its address", () => {
    const share = {
      ports: ["http 81/TCP"],
      sessionAffinity: "ClientIP",
      internalTrafficPolicy: "Local",
      trafficDistribution: "PreferClose",
    } as const;
    const { spec } = written(plan(share, stored(), ["10.96.0.1"]));
    expect(spec).toMatchObject({
      ports: [{ name: "http", port: 81 }],
      clusterIPs: ["10.96.0.1"],
      sessionAffinity: "ClientIP",
      internalTrafficPolicy: "Local",
      trafficDistribution: "PreferClose",
    });
  });

  test.each([
    { ports: ["http 81/TCP"] },
    { ports: ["web 80/TCP"] },
    { sessionAffinity: "ClientIP" },
    { internalTrafficPolicy: "Local" },
    { trafficDistribution: "PreferClose" },
  ] as const)("R62: is written for %j alone", (share) => {
    expect(plan(share, stored(), ["10.96.0.1"])).toHaveLength(1);
  });

  test("R62: is written for another timeout alone", () => {
    const affine = (timeoutSeconds: number) =>
      ({
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: { clientIP: { timeoutSeconds } },
      }) as const;
    expect(plan(affine(60), stored(affine(60)), ["10.96.0.1"])).toEqual([]);
    expect(plan(affine(61), stored(affine(60)), ["10.96.0.1"])).toHaveLength(1);
  });

  test("R62: loses affinity and distribution with the import", () => {
    const rich = stored({ sessionAffinity: "ClientIP", trafficDistribution: "PreferClose" });
    const writes = plan({}, rich, ["10.96.0.1"]);
    expect(writes[0]?.verb).toBe("replace");
    expect(written(writes).spec).not.toHaveProperty("trafficDistribution");
    expect(written(writes).spec).not.toHaveProperty("sessionAffinityConfig");
  });

  test.each([
    ["a selector", { selector: { app: "evil" } }],
    ["a port", { ports: [...(stored().spec?.ports ?? []), { name: "x", port: 9 }] }],
    ["an application protocol", { ports: [{ ...stored().spec!.ports![0]!, appProtocol: "h2c" }] }],
    ["another type", { type: "NodePort" as const }],
  ])("R19: loses %s that somebody gave it", (_, spec) => {
    const writes = plan({}, edited(spec), ["10.96.0.1"]);
    expect(writes[0]?.verb).toBe("replace");
    expect(written(writes)).toMatchObject({ metadata: { resourceVersion: "7" } });
    expect(written(writes).spec).toEqual(written(plan({}, undefined, ["10.96.0.1"])).spec);
  });

  test("keeps labels and owners that others gave it", () => {
    const right = edited({ selector: { app: "evil" } });
    const other = { ...owner, uid: "other" };
    const metadata = {
      ...right.metadata,
      labels: { ...right.metadata.labels, own: "x" },
      ownerReferences: [owner, other],
    };
    const object = written(plan({}, { ...right, metadata }, ["10.96.0.1"]));
    expect(object.metadata.labels).toMatchObject({ own: "x", "isthmus.dev/managed": "true" });
    expect(object.metadata.ownerReferences).toEqual([owner, other]);
  });

  test("gets its label and its owner back, also together with the rest", () => {
    const right = stored();
    const bare = { ...edited({ selector: { app: "evil" } }), metadata: { name: "derived-web" } };
    expect(written(plan({}, bare)).metadata).toMatchObject({
      labels: { "isthmus.dev/managed": "true" },
      ownerReferences: [owner],
    });
    const { labels: _, ...metadata } = right.metadata;
    expect(written(plan({}, { ...right, metadata })).metadata.labels).toMatchObject({
      "isthmus.dev/managed": "true",
    });
    const old = { ...right.metadata, ownerReferences: [{ ...owner, uid: "old" }] };
    expect(written(plan({}, { ...right, metadata: old })).metadata.ownerReferences).toEqual([
      owner,
    ]);
  });

  test("R63: is made anew when its first family changes or it has no address at all", () => {
    const gone = { verb: "delete", ref: { namespace: "shop", name: "derived-web" }, uid: "u-1" };
    expect(plan({ ipFamilies: ["IPv6"] }, stored())).toMatchObject([gone]);
    expect(plan({}, edited({ clusterIP: "None", clusterIPs: ["None"] }))).toMatchObject([gone]);
  });

  test("R63: is kept when a second family comes or goes", () => {
    const dual = plan({ ipFamilies: ["IPv4", "IPv6"] }, stored(), ["10.96.0.1"]);
    expect(written(dual).spec).toMatchObject({
      clusterIPs: ["10.96.0.1"],
      ipFamilyPolicy: "RequireDualStack",
    });
    const both = edited({ ipFamilies: ["IPv4", "IPv6"], clusterIPs: ["10.96.0.1", "fd00::1"] });
    expect(written(plan({}, both, ["10.96.0.1"])).spec).toMatchObject({
      ipFamilies: ["IPv4"],
      clusterIPs: ["10.96.0.1"],
      ipFamilyPolicy: "SingleStack",
    });
  });
});

describe("virtual IPs are", () => {
  test("those that the Service has, none while it has none", () => {
    expect(readVirtualIps(stored())).toEqual(["10.96.0.1"]);
    expect(readVirtualIps(undefined)).toEqual([]);
    expect(readVirtualIps(aService({ clusterIPs: ["None"] }))).toEqual([]);
  });
});

test("R64: a Service is ours by our label or by its owner, never by its name", () => {
  const serviceImport = { apiVersion: "x", kind: "ServiceImport", metadata: { uid: "import-uid" } };
  expect(isDerived(stored(), undefined)).toBe(true);
  const named = aService({}, { name: "derived-web" });
  expect(isDerived(named, serviceImport)).toBe(false);
  expect(isDerived(named, undefined)).toBe(false);
  const owned = aService({}, { name: "derived-web", ownerReferences: [owner] });
  expect(isDerived(owned, serviceImport)).toBe(true);
});
