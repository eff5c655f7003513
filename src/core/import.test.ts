import { describe, expect, test } from "vitest";
import { aShare, WEB } from "../../test/shares.ts";
import type { ServiceImport } from "../api/mcs.ts";
import type { ServiceShare } from "../api/share.ts";
import {
  type ImportView,
  isManaged,
  judgeImport,
  planImportStatus,
  planServiceImport,
  viewMerged,
} from "./import.ts";
import { mergeShares } from "./merge.ts";
import type { Write } from "./write.ts";

const NOW = "2026-01-01T12:00:00Z";

function view(
  share: Parameters<typeof aShare>[1] = {},
  families: readonly ("IPv4" | "IPv6")[] = ["IPv4", "IPv6"],
  ...others: readonly ServiceShare[]
): ImportView {
  const merged = mergeShares([aShare("a", { age: 9, ...share }), ...others]);
  if (merged === undefined) throw new Error("nothing was merged");
  return viewMerged(merged, { families, derivedName: "derived-web" });
}
function written(writes: readonly Write[]): ServiceImport {
  const [write, ...rest] = writes;
  if (write === undefined || write.verb === "delete" || rest.length > 0) {
    throw new Error(`expected one import to be written, not ${JSON.stringify(writes)}`);
  }
  return write.object;
}
/** As the API server would have it after the first write. */
function stored(of: ImportView, ips: readonly string[] = []): ServiceImport {
  const object = written(planServiceImport(of, ips, undefined));
  return { ...object, metadata: { ...object.metadata, uid: "u-1", generation: 1 } };
}

describe("what this cluster makes of the merged service", () => {
  test("R42: families that the cluster has, in the order of the service", () => {
    const dual = view({ ipFamilies: ["IPv6", "IPv4"] });
    expect(dual.ipFamilies).toEqual(["IPv6", "IPv4"]);
    expect(view({ ipFamilies: ["IPv6", "IPv4"] }, ["IPv4"]).ipFamilies).toEqual(["IPv4"]);
  });

  test("R57, R58: only a service that this cluster can give an IP gets a derived Service", () => {
    expect(view().derivedName).toBe("derived-web");
    expect(view({ type: "Headless" }).derivedName).toBeUndefined();
    expect(view({ ipFamilies: ["IPv6"] }, ["IPv4"]).derivedName).toBeUndefined();
  });
});

describe("the import", () => {
  test("R13: has the name and namespace of the service, and all that was merged", () => {
    const affinity = { clientIP: { timeoutSeconds: 60 } };
    const shown = stored(
      view({
        ports: ["http 80/TCP h2c", "dns 53/UDP"],
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: affinity,
        internalTrafficPolicy: "Local",
        trafficDistribution: "PreferClose",
      }),
      ["10.96.0.1"],
    );
    expect(shown).toMatchObject({
      apiVersion: "multicluster.x-k8s.io/v1beta1",
      kind: "ServiceImport",
      metadata: { namespace: "shop", name: "web" },
    });
    expect(shown.spec).toEqual({
      type: "ClusterSetIP",
      ports: [
        { name: "http", protocol: "TCP", port: 80, appProtocol: "h2c" },
        { name: "dns", protocol: "UDP", port: 53 },
      ],
      ips: ["10.96.0.1"],
      ipFamilies: ["IPv4"],
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: affinity,
      internalTrafficPolicy: "Local",
      trafficDistribution: "PreferClose",
    });
  });

  test("R33: says Cluster when the service does", () => {
    expect(stored(view()).spec?.internalTrafficPolicy).toBe("Cluster");
  });

  test("a port without a name has none, not an empty one", () => {
    expect(stored(view({ ports: ["80/TCP"] })).spec?.ports).toEqual([
      { protocol: "TCP", port: 80 },
    ]);
  });

  test("R41, R59: shows addresses and families together, in one order", () => {
    const dual = view({ ipFamilies: ["IPv6", "IPv4"] });
    const before = stored(dual);
    expect(before.spec).not.toHaveProperty("ips");
    expect(before.spec).not.toHaveProperty("ipFamilies");
    expect(stored(dual, ["fd00::1", "10.96.0.1"]).spec).toMatchObject({
      ips: ["fd00::1", "10.96.0.1"],
      ipFamilies: ["IPv6", "IPv4"],
    });
  });

  test("R41, R58: shows families but never addresses when headless", () => {
    const { spec } = stored(view({ type: "Headless", ipFamilies: ["IPv6"] }), ["10.96.0.1"]);
    expect(spec?.ipFamilies).toEqual(["IPv6"]);
    expect(spec).not.toHaveProperty("ips");
  });

  test("R18, R41: shows the families that the service asks for when the cluster has none of them", () => {
    expect(stored(view({ ipFamilies: ["IPv6"] }, ["IPv4"])).spec?.ipFamilies).toEqual(["IPv6"]);
  });

  test("R35, R36, R60: carries exported labels and annotations and the name of its derived Service", () => {
    const { metadata } = stored(view({ labels: { team: "a" }, annotations: { note: "b" } }));
    expect(metadata.labels).toEqual({ team: "a", "isthmus.dev/managed": "true" });
    expect(metadata.annotations).toMatchObject({
      note: "b",
      "multicluster.kubernetes.io/derived-service": "derived-web",
    });
  });

  test("is known as ours by its label", () => {
    expect(isManaged(stored(view()))).toBe(true);
    expect(isManaged({ ...stored(view()), metadata: {} })).toBe(false);
  });
});

describe("an import that is there", () => {
  test("is left alone when it is right, whatever others added to its metadata", () => {
    const right = stored(view(), ["10.96.0.1"]);
    const labels = { ...right.metadata.labels, foreign: "x" };
    const observed = { ...right, metadata: { ...right.metadata, labels } };
    expect(planServiceImport(view(), ["10.96.0.1"], observed)).toEqual([]);
  });

  test("R19: a changed field is put right", () => {
    const observed = stored(view());
    const edited = { ...observed, spec: { ...observed.spec!, ports: [{ port: 1 }] } };
    expect(written(planServiceImport(view(), [], edited)).spec).toEqual(observed.spec);
  });

  test("R19: a field that somebody added is taken away by replacing the spec", () => {
    const observed = stored(view());
    const edited = { ...observed, spec: { ...observed.spec!, trafficDistribution: "PreferClose" } };
    const writes = planServiceImport(view(), [], edited);
    expect(writes[0]?.verb).toBe("replace");
    expect(written(writes).spec).toEqual(observed.spec);
  });

  test("R19: a label of ours that somebody removed comes back", () => {
    const observed = stored(view({ labels: { team: "a" } }));
    const bare = { ...observed, metadata: { ...observed.metadata, labels: {} } };
    const object = written(planServiceImport(view({ labels: { team: "a" } }), [], bare));
    expect(object.metadata.labels).toEqual({ team: "a", "isthmus.dev/managed": "true" });
  });

  test("R34: traffic distribution and affinity disappear with the export's", () => {
    const affine = view({
      trafficDistribution: "PreferClose",
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
    });
    const spec = written(planServiceImport(view(), [], stored(affine))).spec;
    expect(spec).not.toHaveProperty("trafficDistribution");
    expect(spec).not.toHaveProperty("sessionAffinityConfig");
    expect(spec?.sessionAffinity).toBe("None");
  });

  test("R35, R36: a label that is no longer exported goes, a user's own stays", () => {
    const observed = stored(view({ labels: { team: "a" }, annotations: { note: "b" } }));
    const labels = { ...observed.metadata.labels, own: "x" };
    const { metadata } = written(
      planServiceImport(view(), [], { ...observed, metadata: { ...observed.metadata, labels } }),
    );
    expect(metadata.labels).toEqual({ own: "x", "isthmus.dev/managed": "true" });
    expect(metadata.annotations).toEqual({
      "multicluster.kubernetes.io/derived-service": "derived-web",
    });
  });

  test("R30, R58: turned headless it loses addresses and the name of the derived Service", () => {
    const object = written(
      planServiceImport(view({ type: "Headless" }), [], stored(view(), ["10.96.0.1"])),
    );
    expect(object.spec?.type).toBe("Headless");
    expect(object.spec).not.toHaveProperty("ips");
    expect(object.metadata.annotations).toEqual({});
  });
});

describe("the status of an import", () => {
  const ready = judgeImport(view(), ["10.96.0.1"]);
  const plan = (serviceImport: ServiceImport, now = NOW) =>
    planImportStatus({
      serviceImport,
      clusters: view({}, undefined, aShare("b")).clusters,
      hasSlices: true,
      ready,
      rejections: [],
      now,
    });
  const told = { ...stored(view()), status: written(plan(stored(view()))).status! };

  test("R16, R17: lists the contributing clusters and says that there are slices", () => {
    expect(told.status).toMatchObject({
      clusters: [{ cluster: "a" }, { cluster: "b" }],
      endpointSliceObjects: "Present",
    });
  });

  test("R8: is judged on a generation, and written once", () => {
    expect(told.status.conditions?.[0]).toMatchObject({ observedGeneration: 1, reason: "Ready" });
    expect(plan(told, "2026-02-02T00:00:00Z")).toEqual([]);
  });

  test("leaves conditions of others alone", () => {
    const foreign = { ...told.status.conditions![0]!, type: "Other" };
    const conditions = [foreign, ...(told.status.conditions ?? [])];
    expect(plan({ ...told, status: { ...told.status, conditions } })).toEqual([]);
  });

  test("R16: a cluster that somebody wrote in is taken out, and other people's conditions stay", () => {
    const foreign = { ...told.status.conditions![0]!, type: "Other" };
    const status = {
      ...told.status,
      clusters: [...(told.status.clusters ?? []), { cluster: "ghost" }],
      conditions: [foreign, ...(told.status.conditions ?? [])],
    };
    const writes = plan({ ...told, status });
    expect(writes[0]).toMatchObject({ verb: "replace", subresource: "status" });
    expect(written(writes).status).toEqual({
      ...told.status,
      conditions: [foreign, ...(told.status.conditions ?? [])],
    });
  });

  test("is written through the status endpoint, without the spec", () => {
    const [write] = plan(stored(view()));
    expect(write).toMatchObject({ verb: "apply", subresource: "status" });
    expect(written(plan(stored(view())))).not.toHaveProperty("spec");
  });
});

describe("an import is", () => {
  test("R57: ready once it has its address", () => {
    expect(judgeImport(view(), ["10.96.0.1"])).toMatchObject({ status: "True", reason: "Ready" });
    expect(judgeImport(view(), [])).toMatchObject({ status: "False", reason: "Pending" });
  });

  test("R58: ready without an address when headless", () => {
    expect(judgeImport(view({ type: "Headless" }), [])).toMatchObject({ status: "True" });
  });

  test("R18, R42: not ready where the cluster speaks none of its families, and says which", () => {
    const judged = judgeImport(view({ ipFamilies: ["IPv6"] }, ["IPv4"]), []);
    expect(judged).toMatchObject({ status: "False", reason: "IPFamilyNotSupported" });
    expect(judged.message).toContain("IPv6");
  });

  test("of the service that was merged", () => {
    expect(view().service).toBe(WEB);
  });
});
