import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createImportWorld, type Heard, type ImportWorld } from "../../test/importWorld.ts";
import { aHandmadeImport, aService, aSlice, anApply } from "../../test/kubeObjects.ts";
import { aContribution, aShare, WEB } from "../../test/shares.ts";
import { ENDPOINT_SLICE, SERVICE, type Service } from "../api/builtin.ts";
import { derivedServiceName } from "../api/digest.ts";
import { SERVICE_IMPORT, type ServiceImport } from "../api/mcs.ts";
import type { Resource } from "../api/object.ts";
import type { Write } from "./write.ts";

const DERIVED = derivedServiceName(WEB);
const USER = "kubectl";
const one: Heard = { contributions: [aContribution(aShare("b"))] };
const headless: Heard = { contributions: [aContribution(aShare("b", { type: "Headless" }))] };

function settled(heard: Heard = one): ImportWorld {
  const world = createImportWorld();
  world.settle(heard);
  return world;
}
function importOf(world: ImportWorld): ServiceImport {
  const { serviceImport } = world.server.observe(WEB);
  if (serviceImport === undefined) throw new Error("there is no import");
  return serviceImport;
}
const names = (writes: readonly Write[]): readonly string[] =>
  writes.map(({ verb, resource }) => `${verb} ${resource.kind}`);
const RESOURCES: readonly Resource[] = [SERVICE_IMPORT, SERVICE, ENDPOINT_SLICE];
const isEmpty = (world: ImportWorld): boolean =>
  RESOURCES.every((resource) => world.server.list(resource).length === 0);

describe("the life of an import", () => {
  test("R13, R57: import, derived Service, endpoints, address, status: each when the one before is there", () => {
    const world = settled();
    expect(names(world.server.log)).toEqual([
      "apply ServiceImport",
      "apply Service",
      // After the Service, or kube-proxy would leave UDP clients that were too early without an answer.
      "apply EndpointSlice",
      "apply ServiceImport",
      "apply ServiceImport",
    ]);
    expect(importOf(world)).toMatchObject({
      spec: { type: "ClusterSetIP", ips: ["10.96.0.1"], ipFamilies: ["IPv4"] },
      status: { clusters: [{ cluster: "b" }], endpointSliceObjects: "Present" },
    });
  });

  test("R41: no version of the import shows addresses without families, or the other way round", () => {
    const world = settled({
      contributions: [aContribution(aShare("b", { ipFamilies: ["IPv6", "IPv4"] }))],
    });
    const specs = world.server.log.flatMap((write) =>
      write.resource === SERVICE_IMPORT && write.verb !== "delete"
        ? [(write.object as ServiceImport).spec ?? {}]
        : [],
    ) as NonNullable<ServiceImport["spec"]>[];
    expect(specs.map(({ ips = [], ipFamilies = [] }) => [ips.length, ipFamilies.length])).toEqual([
      [0, 0],
      [2, 2],
      [0, 0],
    ]);
  });

  test("R8: a restart writes nothing", () => {
    const world = settled();
    expect(world.plan(one)).toEqual([]);
  });

  test("R8: a restart writes nothing while clusters are heard one by one", () => {
    const two = [aContribution(aShare("b", { age: 9 })), aContribution(aShare("c"), ["10.0.0.3"])];
    const world = settled({ contributions: two });
    expect(world.plan({ contributions: [], awaited: ["b", "c"] })).toEqual([]);
    expect(world.plan({ contributions: two.slice(1), awaited: ["b"] })).toEqual([]);
    expect(world.plan({ contributions: two.slice(0, 1), awaited: ["c"] })).toEqual([]);
    expect(world.plan({ contributions: two })).toEqual([]);
  });

  test("R15: last export gone, everything of ours is gone", () => {
    const world = settled();
    world.settle({});
    expect(isEmpty(world)).toBe(true);
  });

  test("R15, R57: while anyone may still turn out to export it, import and IP stay; endpoints that are gone go", () => {
    const world = settled();
    const [vip] = importOf(world).spec?.ips ?? [];
    expect(names(world.plan({ awaited: ["x"] }))).toEqual(["delete EndpointSlice"]);
    world.settle({ awaited: ["x"] });
    world.settle({ contributions: [aContribution(aShare("x"), ["10.0.0.9"])] });
    expect(importOf(world).spec?.ips).toEqual([vip]);
  });

  test("R15: who has been silent for too long is not waited for", () => {
    const world = settled();
    world.settle({ awaited: ["x"], liveness: { x: "lost" } });
    expect(isEmpty(world)).toBe(true);
  });

  test("R16: a new contributor is listed", () => {
    const world = settled();
    const contributions = [aContribution(aShare("b")), aContribution(aShare("a"))];
    world.settle({ contributions });
    expect(importOf(world).status?.clusters).toEqual([{ cluster: "a" }, { cluster: "b" }]);
  });
});

describe("a namespace that is", () => {
  test("R14: missing gets no import, and gets it when it appears", () => {
    const world = settled({ ...one, namespace: "missing" });
    expect(isEmpty(world)).toBe(true);
    world.settle(one);
    expect(importOf(world).spec?.type).toBe("ClusterSetIP");
  });

  test("R14: missing is made where the administrator wants that, and only for an export", () => {
    const world = createImportWorld();
    const missing = { namespace: "missing", makesNamespace: true } as const;
    expect(world.plan(missing)).toEqual([]);
    expect(world.plan({ ...one, ...missing })).toMatchObject([
      { verb: "apply", object: { kind: "Namespace", metadata: { name: "shop" } } },
    ]);
  });

  test("R19: terminating is left alone", () => {
    expect(createImportWorld().plan({ ...one, namespace: "terminating" })).toEqual([]);
    expect(settled().plan({ namespace: "terminating" })).toEqual([]);
  });

  test("R68: denied gets no import, and loses the one it has", () => {
    expect(createImportWorld().plan({ ...one, namespace: "denied" })).toEqual([]);
    const world = settled();
    world.settle({ ...one, namespace: "denied" });
    expect(isEmpty(world)).toBe(true);
  });
});

describe("the virtual IP", () => {
  test("R57: survives the loss of the derived Service", () => {
    const world = settled();
    const { name = "", uid } = world.server.get(SERVICE, DERIVED)?.metadata ?? {};
    world.server.write({ verb: "delete", resource: SERVICE, ref: { name }, uid }, USER);
    const shown = importOf(world).spec?.ips;
    world.settle(one);
    expect(importOf(world).spec?.ips).toEqual(shown);
    expect(world.server.get(SERVICE, DERIVED)?.spec?.clusterIPs).toEqual(shown);
  });

  test("R57: is another one when the old one is not to be had any more", () => {
    const world = settled();
    const { name = "", uid } = world.server.get(SERVICE, DERIVED)?.metadata ?? {};
    world.server.write({ verb: "delete", resource: SERVICE, ref: { name }, uid }, USER);
    world.server.refuseIp("10.96.0.1");
    world.settle(one);
    expect(importOf(world).spec?.ips).toEqual(["10.96.0.2"]);
    expect(importOf(world).status?.conditions?.[0]?.status).toBe("True");
  });

  test("R30, R58, R63: goes when the import turns headless", () => {
    const world = settled();
    world.settle(headless);
    expect(importOf(world).spec).not.toHaveProperty("ips");
    expect(world.server.list(SERVICE)).toEqual([]);
    expect(importOf(world).metadata.annotations ?? {}).not.toHaveProperty([
      "multicluster.kubernetes.io/derived-service",
    ]);
  });

  test("R30, R63: comes when a headless import gets one, and the import lives on", () => {
    const world = settled(headless);
    const { uid } = importOf(world).metadata;
    world.settle(one);
    expect(importOf(world).spec?.ips).toEqual(["10.96.0.1"]);
    expect(importOf(world).metadata.uid).toBe(uid);
  });

  test("R42, R63: gains and loses its second family, and keeps the first", () => {
    const dual = { contributions: [aContribution(aShare("b", { ipFamilies: ["IPv4", "IPv6"] }))] };
    const world = settled();
    world.settle(dual);
    expect(importOf(world).spec).toMatchObject({
      ips: ["10.96.0.1", "fd00::2"],
      ipFamilies: ["IPv4", "IPv6"],
    });
    world.settle(one);
    expect(importOf(world).spec).toMatchObject({ ips: ["10.96.0.1"], ipFamilies: ["IPv4"] });
  });

  test("R59: keeps both addresses when only their order changes", () => {
    const inOrder = (...ipFamilies: ("IPv4" | "IPv6")[]): Heard => ({
      contributions: [aContribution(aShare("b", { ipFamilies }))],
    });
    const world = settled(inOrder("IPv4", "IPv6"));
    const [four, six] = importOf(world).spec?.ips ?? [];
    world.settle(inOrder("IPv6", "IPv4"));
    expect(importOf(world).spec).toMatchObject({ ips: [six, four], ipFamilies: ["IPv6", "IPv4"] });
  });

  test("R57: goes on being shown while the derived Service is made anew", () => {
    const world = settled();
    const before = importOf(world).spec?.ips;
    const six = { contributions: [aContribution(aShare("b", { ipFamilies: ["IPv6"] }))] };
    for (const write of world.plan(six)) world.server.write(write);
    expect(world.server.list(SERVICE)).toEqual([]);
    expect(importOf(world).spec?.ips).toEqual(before);
    expect(names(world.plan(six))).toEqual(["apply Service"]);
  });

  test("R57: is not taken from an import that is there and not seen", () => {
    const world = settled();
    const unseen = createImportWorld();
    const [write] = unseen.plan({ ...one, lastIps: importOf(world).spec?.ips ?? [] });
    world.server.write(write!);
    expect(importOf(world).spec).toMatchObject({ ips: ["10.96.0.1"], ipFamilies: ["IPv4"] });
  });

  test("R57: that it had is not shown where it was refused, nor in a family that it no longer has", () => {
    const unseen = createImportWorld();
    const six = { contributions: [aContribution(aShare("b", { ipFamilies: ["IPv6"] }))] };
    for (const heard of [{ ...one, refusedIp: "taken" }, six]) {
      const [write] = unseen.plan({ ...heard, lastIps: ["10.96.0.1"] });
      expect(write).toMatchObject({ verb: "apply", resource: SERVICE_IMPORT });
      expect(write).not.toHaveProperty("object.spec.ips");
    }
  });

  test("R18, R42: is not given where the cluster has none of the families", () => {
    const contributions = [aContribution(aShare("b", { ipFamilies: ["IPv6"] }), ["fd00::9"])];
    const world = settled({ contributions, families: ["IPv4"] });
    expect(world.server.list(SERVICE)).toEqual([]);
    expect(importOf(world)).toMatchObject({
      spec: { ipFamilies: ["IPv6"] },
      status: { conditions: [{ status: "False", reason: "IPFamilyNotSupported" }] },
    });
  });
});

describe("what others made", () => {
  const foreign = {
    ownService: aService(),
    slice: aSlice([{ addresses: ["192.0.2.9"] }], {
      metadata: {
        namespace: "shop",
        name: "by-hand",
        labels: { "multicluster.kubernetes.io/service-name": "web" },
      },
    }),
  };

  test("R4, R15, R64: the user's own Service and slices are never written or deleted", () => {
    const world = createImportWorld();
    world.server.write(anApply(SERVICE, foreign.ownService), USER);
    world.server.write(anApply(ENDPOINT_SLICE, foreign.slice), USER);
    const [service, slice] = [
      world.server.get(SERVICE, "web"),
      world.server.get(ENDPOINT_SLICE, "by-hand"),
    ];
    for (const heard of [one, headless, one, {}]) world.settle(heard);
    expect(world.server.get(SERVICE, "web")).toEqual(service);
    expect(world.server.get(ENDPOINT_SLICE, "by-hand")).toEqual(slice);
  });

  test("R64: a Service that has the derived name by chance stays, and the import says so", () => {
    const world = createImportWorld();
    world.server.write(anApply(SERVICE, aService({}, { name: DERIVED })), USER);
    const before = world.server.get(SERVICE, DERIVED);
    for (const heard of [one, headless, one]) world.settle(heard);
    expect(world.server.get(SERVICE, DERIVED)).toEqual(before);
    expect(importOf(world).spec).not.toHaveProperty("ips");
    const [ready] = importOf(world).status?.conditions ?? [];
    expect(ready).toMatchObject({ status: "False", reason: "Pending" });
    expect(ready?.message).toContain(DERIVED);
    world.settle({});
    expect(world.server.get(SERVICE, DERIVED)).toEqual(before);
  });

  test("R60: a derived Service that another tool made for this import is taken over, address and all", () => {
    const world = settled(headless);
    const { uid = "" } = importOf(world).metadata;
    const ownerReferences = [{ apiVersion: "x", kind: "ServiceImport", name: "web", uid }];
    world.server.write(anApply(SERVICE, aService({}, { name: DERIVED, ownerReferences })), USER);
    const ips = world.server.get(SERVICE, DERIVED)?.spec?.clusterIPs;
    world.settle(one);
    expect(importOf(world).spec?.ips).toEqual(ips);
    expect(world.server.get(SERVICE, DERIVED)?.spec).not.toHaveProperty("selector");
  });

  test("R13, R19: an import written by hand becomes the export's when the service is exported", () => {
    const world = createImportWorld();
    const handmade = aHandmadeImport({ ports: [{ name: "old", protocol: "TCP", port: 1 }] });
    world.server.write(anApply(SERVICE_IMPORT, handmade), USER);
    world.settle({});
    const ips = importOf(world).spec?.ips;
    world.settle(one);
    expect(importOf(world).spec).toMatchObject({ ips, ports: [{ name: "http", port: 80 }] });
  });

  const mark = fc.dictionary(fc.constantFrom("x", "y", "z"), fc.constantFrom("1", "2"));
  test("labels, annotations and conditions of others stay on what is ours", () => {
    fc.assert(
      fc.property(mark, mark, fc.constantFrom(headless, one), (labels, annotations, next) => {
        const world = settled();
        const condition = {
          type: "Other",
          status: "True" as const,
          reason: "Fine",
          message: "",
          lastTransitionTime: "2026-01-01T00:00:00Z",
        };
        const { apiVersion, kind } = importOf(world);
        const metadata = { namespace: "shop", name: "web" };
        const marked = { apiVersion, kind, metadata: { ...metadata, labels, annotations } };
        world.server.write(anApply(SERVICE_IMPORT, marked), USER);
        const status = { conditions: [condition] };
        world.server.write(
          {
            ...anApply(SERVICE_IMPORT, { apiVersion, kind, metadata, status }),
            subresource: "status",
          },
          USER,
        );
        world.settle(next);
        expect(importOf(world).metadata.labels).toMatchObject(labels);
        expect(importOf(world).metadata.annotations ?? {}).toMatchObject(annotations);
        expect(importOf(world).status?.conditions).toContainEqual(condition);
      }),
      { numRuns: 50 },
    );
  });
});

describe("hand edits of what is ours are reverted:", () => {
  const right = settled();
  const metaOf = (name: string) => ({ namespace: "shop", name });
  const slice = right.server.list(ENDPOINT_SLICE)[0]!;
  const service = (spec: NonNullable<Service["spec"]>) =>
    anApply(SERVICE, { apiVersion: "v1", kind: "Service", metadata: metaOf(DERIVED), spec });
  const imported = (spec: Partial<NonNullable<ServiceImport["spec"]>>) =>
    anApply(SERVICE_IMPORT, {
      apiVersion: "multicluster.x-k8s.io/v1beta1",
      kind: "ServiceImport",
      metadata: metaOf("web"),
      spec: spec as NonNullable<ServiceImport["spec"]>,
    });
  const edits: Record<string, Write> = {
    "a selector on the derived Service": service({ selector: { app: "evil" } }),
    "a port on the derived Service": service({ ports: [{ name: "x", port: 9, protocol: "TCP" }] }),
    "affinity on the derived Service": service({ sessionAffinity: "ClientIP" }),
    "distribution on the derived Service": service({ trafficDistribution: "PreferClose" }),
    "the type of the import": imported({ type: "Headless" }),
    "the ports of the import": imported({ ports: [] }),
    "the addresses of the import": imported({ ips: ["192.0.2.1"], ipFamilies: ["IPv4"] }),
    "distribution on the import": imported({ trafficDistribution: "PreferClose" }),
    "the endpoints of a slice": anApply(ENDPOINT_SLICE, {
      ...slice,
      metadata: metaOf(slice.metadata.name ?? ""),
      endpoints: [{ addresses: ["192.0.2.1"] }],
    }),
    "the label of a slice": anApply(ENDPOINT_SLICE, {
      ...slice,
      metadata: {
        ...metaOf(slice.metadata.name ?? ""),
        labels: { ...slice.metadata.labels, "kubernetes.io/service-name": "web" },
      },
    }),
  };
  test.each(Object.entries(edits))("R19: %s", (_, edit) => {
    const world = settled();
    const before = world.server.observe(WEB);
    world.server.write(edit, USER);
    expect(world.plan(one)).not.toEqual([]);
    world.settle(one);
    const after = world.server.observe(WEB);
    expect(after.serviceImport?.spec).toEqual(before.serviceImport?.spec);
    expect(after.derived?.spec).toEqual(before.derived?.spec);
    expect(
      after.slices.map(({ endpoints, metadata: { labels } }) => ({ endpoints, labels })),
    ).toEqual(before.slices.map(({ endpoints, metadata: { labels } }) => ({ endpoints, labels })));
  });

  test("R51: a headless slice that somebody links to a Service is unlinked again", () => {
    const world = settled(headless);
    const [bare] = world.server.list(ENDPOINT_SLICE);
    const labels = { ...bare?.metadata.labels, "kubernetes.io/service-name": "web" };
    const metadata = { ...metaOf(bare?.metadata.name ?? ""), labels };
    world.server.write(anApply(ENDPOINT_SLICE, { ...bare!, metadata }), USER);
    world.settle(headless);
    expect(world.server.list(ENDPOINT_SLICE)[0]?.metadata.labels).toEqual(bare?.metadata.labels);
  });
});
