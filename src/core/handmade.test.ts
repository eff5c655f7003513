import { describe, expect, test } from "vitest";
import { createImportWorld, type ImportWorld } from "../../test/importWorld.ts";
import { aHandmadeImport, aSlice, anApply } from "../../test/kubeObjects.ts";
import { WEB } from "../../test/shares.ts";
import { ENDPOINT_SLICE, SERVICE } from "../api/builtin.ts";
import { derivedServiceName } from "../api/digest.ts";
import { SERVICE_IMPORT, type ServiceImport } from "../api/mcs.ts";
import type { ObjectMeta } from "../api/object.ts";

const ADMIN = "kubectl";
const DERIVED = derivedServiceName(WEB);
const LABELLED = { "multicluster.kubernetes.io/service-name": "web" };

interface Seen {
  readonly world: ImportWorld;
  readonly serviceImport: ServiceImport;
  readonly ready: string;
}

/** An administrator's import, and what became of it. */
function handmade(
  spec: Partial<NonNullable<ServiceImport["spec"]>> = {},
  options: { readonly metadata?: ObjectMeta; readonly world?: ImportWorld } = {},
): Seen {
  const { world = createImportWorld(), metadata } = options;
  world.server.write(anApply(SERVICE_IMPORT, aHandmadeImport(spec, metadata)), ADMIN);
  return see(world);
}
function see(world: ImportWorld): Seen {
  world.settle({});
  const { serviceImport } = world.server.observe(WEB);
  if (serviceImport === undefined) throw new Error("the import is gone");
  const { status, reason } = serviceImport.status?.conditions?.[0] ?? {};
  return { world, serviceImport, ready: `${status}/${reason}` };
}
const message = ({ serviceImport }: Seen): string =>
  serviceImport.status?.conditions?.[0]?.message ?? "";

describe("an import that an administrator wrote", () => {
  test("R57, R61: gets a derived Service and its address, and stays theirs", () => {
    const { world, serviceImport, ready } = handmade();
    expect(ready).toBe("True/Ready");
    expect(serviceImport.spec).toEqual({
      type: "ClusterSetIP",
      ports: [{ name: "http", protocol: "TCP", port: 80 }],
      ips: ["10.96.0.1"],
      ipFamilies: ["IPv4"],
    });
    expect(serviceImport.metadata.annotations).toEqual({
      "multicluster.kubernetes.io/derived-service": DERIVED,
    });
    expect(serviceImport.metadata.labels).toBeUndefined();
    expect(world.server.get(SERVICE, DERIVED)?.metadata.ownerReferences?.[0]?.uid).toBe(
      serviceImport.metadata.uid,
    );
  });

  test("R57: gets the address that it asks for, and its family is filled in", () => {
    const { world, serviceImport, ready } = handmade({ ips: ["10.96.7.7"] });
    expect(ready).toBe("True/Ready");
    expect(world.server.get(SERVICE, DERIVED)?.spec?.clusterIPs).toEqual(["10.96.7.7"]);
    expect(serviceImport.spec).toMatchObject({ ips: ["10.96.7.7"], ipFamilies: ["IPv4"] });
  });

  test("R41, R59: gets the second address filled in where it asks for one of two families", () => {
    const { serviceImport } = handmade({ ips: ["10.96.7.7"], ipFamilies: ["IPv4", "IPv6"] });
    expect(serviceImport.spec?.ips).toEqual(["10.96.7.7", "fd00::1"]);
  });

  test("R57: that asks for an address not to be had is told why, and is not touched", () => {
    const world = createImportWorld();
    world.server.refuseIp("192.0.2.1");
    const seen = handmade({ ips: ["192.0.2.1"] }, { world });
    expect(seen.ready).toBe("False/IPNotAvailable");
    expect(message(seen)).toContain('"192.0.2.1": not available');
    expect(seen.serviceImport.spec?.ips).toEqual(["192.0.2.1"]);
    expect(world.server.list(SERVICE)).toEqual([]);
  });

  test("R57: that asks for another address later is told to start over", () => {
    const { world } = handmade({ ips: ["10.96.7.7"] });
    const seen = handmade({ ips: ["10.96.8.8"] }, { world });
    expect(seen.ready).toBe("False/IPNotAvailable");
    expect(message(seen)).toContain("already has 10.96.7.7");
    expect(world.server.get(SERVICE, DERIVED)?.spec?.clusterIPs).toEqual(["10.96.7.7"]);
  });

  test("R18: of a family that the cluster has not is told so", () => {
    const world = createImportWorld();
    world.server.write(anApply(SERVICE_IMPORT, aHandmadeImport({ ipFamilies: ["IPv6"] })), ADMIN);
    world.settle({ families: ["IPv4"] });
    const { serviceImport } = world.server.observe(WEB);
    expect(serviceImport?.status?.conditions?.[0]?.reason).toBe("IPFamilyNotSupported");
    expect(world.server.list(SERVICE)).toEqual([]);
  });

  test("R80: without ports is told that it needs one, until it has", () => {
    const seen = handmade({ ports: [] });
    expect(seen.ready).toBe("False/NoPorts");
    expect(seen.world.plan({})).toEqual([]);
    const fixed = handmade({ ports: [{ protocol: "TCP", port: 80 }] }, { world: seen.world });
    expect(fixed.ready).toBe("True/Ready");
  });

  test("R25: with ports that no Service can have is told what the API server says", () => {
    const seen = handmade({ ports: [{ port: 80 }, { name: "http", port: 81 }] });
    expect(seen.ready).toBe("False/ServiceRefused");
    expect(message(seen)).toContain("spec.ports[].name: Required");
  });

  test("R62: with affinity but without its config comes to rest", () => {
    const { world, ready } = handmade({ sessionAffinity: "ClientIP" });
    expect(ready).toBe("True/Ready");
    expect(world.server.get(SERVICE, DERIVED)?.spec?.sessionAffinityConfig).toEqual({
      clientIP: { timeoutSeconds: 10_800 },
    });
  });

  test("R58: headless gets no address and no Service", () => {
    const { world, serviceImport, ready } = handmade({ type: "Headless" });
    expect(ready).toBe("True/Ready");
    expect(serviceImport.spec).not.toHaveProperty("ips");
    expect(world.server.list(SERVICE)).toEqual([]);
  });

  test("R58, R63: turned headless loses what we gave it, and nothing else", () => {
    const { world } = handmade({}, { metadata: { annotations: { own: "x" } } });
    const annotations = { own: "x" };
    const { serviceImport } = handmade({ type: "Headless" }, { world, metadata: { annotations } });
    expect(serviceImport.spec).not.toHaveProperty("ips");
    expect(serviceImport.metadata.annotations).toEqual({ own: "x" });
    expect(world.server.list(SERVICE)).toEqual([]);
  });

  test("R57: whose derived Service is lost gets the same address again", () => {
    const { world, serviceImport } = handmade();
    const derived = world.server.get(SERVICE, DERIVED)!;
    const { name = "", uid } = derived.metadata;
    world.server.write({ verb: "delete", resource: SERVICE, ref: { name }, uid });
    expect(see(world).serviceImport.spec?.ips).toEqual(serviceImport.spec?.ips);
  });

  test("R15: is never deleted by us, nobody exports it anyway", () => {
    const { world } = handmade();
    world.settle({});
    const deleted = world.server.log.filter((write) => write.verb === "delete");
    expect(deleted).toEqual([]);
  });
});

describe("slices of an import that an administrator wrote", () => {
  const slice = aSlice([{ addresses: ["192.0.2.9"] }], {
    metadata: { namespace: "shop", name: "by-hand", labels: LABELLED },
  });

  test("R17, R61: are linked to the derived Service, and nothing else of them changes", () => {
    const world = createImportWorld();
    world.server.write(anApply(ENDPOINT_SLICE, slice), ADMIN);
    const { serviceImport } = handmade({}, { world });
    const linked = world.server.get(ENDPOINT_SLICE, "by-hand");
    expect(linked?.metadata.labels).toEqual({ ...LABELLED, "kubernetes.io/service-name": DERIVED });
    expect(linked?.endpoints).toEqual(slice.endpoints);
    expect(serviceImport.status?.endpointSliceObjects).toBe("Present");
  });

  test("R17: are said to be absent when there are none", () => {
    expect(handmade().serviceImport.status?.endpointSliceObjects).toBe("Absent");
  });
});
