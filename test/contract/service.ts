// Contract: Services: defaults, addresses in both families, and each combination that is refused.

import { BlockList, isIPv6 } from "node:net";
import { describe, expect, test } from "vitest";
import { SERVICE } from "../../src/api/builtin.ts";
import { aService } from "./objects.ts";
import type { Server } from "./server.ts";
import { at, type WireObject } from "./wire.ts";

interface Spec {
  readonly clusterIP?: string;
  readonly clusterIPs?: readonly string[];
  readonly ipFamilies?: readonly string[];
  readonly ports?: readonly { readonly nodePort?: number }[];
}
type Fields = Readonly<Record<string, unknown>>;

export function serviceContract(server: Server): void {
  const create = async (spec: Fields, name = "a", ns?: string) =>
    server().wire.post(at(SERVICE, ns ?? (await server().namespace())), aService(name, spec));
  const specOf = (object: WireObject) => object.spec as Spec;

  function isInCidr(address: string, cidr: string): boolean {
    const [network, prefix] = cidr.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    const block = new BlockList();
    block.addSubnet(network!, Number(prefix), isIPv6(network!) ? "ipv6" : "ipv4");
    return block.check(address, family);
  }
  /** A free address: one that the server itself just gave and took back. */
  async function freeAddress(): Promise<string> {
    const ns = await server().namespace();
    const { object } = await create({}, "probe", ns);
    await server().wire.delete(at(SERVICE, ns, "probe"));
    return specOf(object).clusterIP!;
  }

  describe("a Service", () => {
    test("is written with its defaults", async () => {
      const { object } = await create({ ports: [{ port: 80 }], selector: { app: "a" } });
      const { clusterIP } = specOf(object);
      expect(object.spec).toEqual({
        type: "ClusterIP",
        selector: { app: "a" },
        ports: [{ port: 80, protocol: "TCP", targetPort: 80 }],
        clusterIP,
        clusterIPs: [clusterIP],
        ipFamilies: ["IPv4"],
        ipFamilyPolicy: "SingleStack",
        internalTrafficPolicy: "Cluster",
        sessionAffinity: "None",
      });
      expect(object.status).toEqual({ loadBalancer: {} });
    });

    test("gets an address of the first service CIDR", async () => {
      const { object } = await create({});
      expect(isInCidr(specOf(object).clusterIP!, server().serviceCidrs[0]!)).toBe(true);
    });

    test("gets an address of the second CIDR when it asks for IPv6", async () => {
      const { object } = await create({ ipFamilies: ["IPv6"] });
      expect(isInCidr(specOf(object).clusterIP!, server().serviceCidrs[1]!)).toBe(true);
      expect(object.spec).toMatchObject({ ipFamilies: ["IPv6"], ipFamilyPolicy: "SingleStack" });
    });

    test.each(["PreferDualStack", "RequireDualStack"])(
      "with %s gets one address of each family",
      async (ipFamilyPolicy) => {
        const { object } = await create({ ipFamilyPolicy });
        const { clusterIP, clusterIPs, ipFamilies } = specOf(object);
        expect(ipFamilies).toEqual(["IPv4", "IPv6"]);
        expect(clusterIPs).toHaveLength(2);
        expect(clusterIP).toBe(clusterIPs![0]);
        for (const [index, address] of clusterIPs!.entries()) {
          expect(isInCidr(address, server().serviceCidrs[index]!)).toBe(true);
        }
      },
    );

    test("with dual stack keeps the order of families that it asks for", async () => {
      const { object } = await create({
        ipFamilyPolicy: "RequireDualStack",
        ipFamilies: ["IPv6", "IPv4"],
      });
      expect(specOf(object).ipFamilies).toEqual(["IPv6", "IPv4"]);
      expect(isInCidr(specOf(object).clusterIP!, server().serviceCidrs[1]!)).toBe(true);
    });

    test("gains a second address when it turns dual stack, and loses it again", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      const { object } = await create({}, "a", ns);
      const dual = await wire.patch(at(SERVICE, ns, "a"), "merge", {
        spec: { ipFamilyPolicy: "PreferDualStack" },
      });
      expect(dual.status).toBe(200);
      expect(specOf(dual.object).clusterIPs).toHaveLength(2);
      expect(specOf(dual.object).clusterIP).toBe(specOf(object).clusterIP);
      const single = await wire.patch(at(SERVICE, ns, "a"), "merge", {
        spec: { ipFamilyPolicy: "SingleStack" },
      });
      expect(specOf(single.object).clusterIPs).toEqual(specOf(object).clusterIPs);
      expect(specOf(single.object).ipFamilies).toEqual(["IPv4"]);
    });

    test("two have two addresses", async () => {
      const ns = await server().namespace();
      const first = await create({}, "a", ns);
      const second = await create({}, "b", ns);
      expect(specOf(first.object).clusterIP).not.toBe(specOf(second.object).clusterIP);
    });

    test("gets the address that it asks for", async () => {
      const clusterIP = await freeAddress();
      const created = await create({ clusterIP });
      expect(created.status).toBe(201);
      expect(specOf(created.object)).toMatchObject({ clusterIP, clusterIPs: [clusterIP] });
    });

    test("that asks for a taken address is refused with 422", async () => {
      const ns = await server().namespace();
      const { object } = await create({}, "a", ns);
      const refused = await create({ clusterIP: specOf(object).clusterIP }, "b", ns);
      expect(refused.status).toBe(422);
      expect(refused.error.details?.causes).toEqual([
        expect.objectContaining({
          reason: "FieldValueInvalid",
          field: "spec.clusterIPs",
          message: expect.stringContaining("provided IP is already allocated"),
        }),
      ]);
    });

    test.each([
      ["outside the range", "203.0.113.1", "spec.clusterIPs"],
      ["that is none", "not-an-ip", "spec.clusterIPs[0]"],
    ])("that asks for an address %s is refused with 422", async (_case, clusterIP, field) => {
      const refused = await create({ clusterIP });
      expect(refused.status).toBe(422);
      expect(refused.error.details?.causes).toContainEqual(expect.objectContaining({ field }));
    });

    test("gives its address back when deleted", async () => {
      const clusterIP = await freeAddress();
      const ns = await server().namespace();
      expect((await create({ clusterIP }, "a", ns)).status).toBe(201);
      await server().wire.delete(at(SERVICE, ns, "a"));
      expect((await create({ clusterIP }, "b", ns)).status).toBe(201);
    });

    test("gives its address back when the create fails after all", async () => {
      const clusterIP = await freeAddress();
      const ns = await server().namespace();
      await create({}, "a", ns);
      expect((await create({ clusterIP }, "a", ns)).status).toBe(409);
      expect((await create({ clusterIP }, "b", ns)).status).toBe(201);
    });

    test("keeps no address of a dry run", async () => {
      const clusterIP = await freeAddress();
      const ns = await server().namespace();
      await server().wire.post(at(SERVICE, ns), aService("a", { clusterIP }), { dryRun: "All" });
      expect((await create({ clusterIP }, "b", ns)).status).toBe(201);
    });

    test("cannot change its address", async () => {
      const ns = await server().namespace();
      await create({}, "a", ns);
      const refused = await server().wire.patch(at(SERVICE, ns, "a"), "merge", {
        spec: { clusterIP: await freeAddress(), clusterIPs: null },
      });
      expect(refused.status).toBe(422);
      expect(refused.error.details?.causes).toContainEqual(
        expect.objectContaining({ field: "spec.clusterIPs[0]" }),
      );
    });

    test("replaced without its address keeps it", async () => {
      const ns = await server().namespace();
      const { object } = await create({}, "a", ns);
      const replaced = await server().wire.put(
        at(SERVICE, ns, "a"),
        aService("a", { ports: [{ port: 81 }] }),
      );
      expect(replaced.status).toBe(200);
      expect(specOf(replaced.object).clusterIP).toBe(specOf(object).clusterIP);
    });

    test("that is headless has None for an address", async () => {
      const { object } = await create({ clusterIP: "None", selector: { app: "a" } });
      expect(object.spec).toMatchObject({
        type: "ClusterIP",
        clusterIP: "None",
        clusterIPs: ["None"],
        ipFamilies: ["IPv4"],
        ipFamilyPolicy: "SingleStack",
      });
    });

    test("that is headless needs no ports, and one with an address does", async () => {
      expect((await create({ clusterIP: "None", ports: [] })).status).toBe(201);
      const refused = await create({ ports: [] });
      expect(refused.status).toBe(422);
      expect(refused.error.details?.causes).toContainEqual(
        expect.objectContaining({ field: "spec.ports", reason: "FieldValueRequired" }),
      );
    });

    test("that is headless without a selector is in both families", async () => {
      const { object } = await create({ clusterIP: "None" });
      expect(object.spec).toMatchObject({
        ipFamilies: ["IPv4", "IPv6"],
        ipFamilyPolicy: "RequireDualStack",
      });
    });

    test("of type ExternalName has no address and needs a name", async () => {
      const { object, status } = await create({
        type: "ExternalName",
        externalName: "example.org",
        ports: [],
      });
      expect(status).toBe(201);
      expect(object.spec).toEqual({
        type: "ExternalName",
        externalName: "example.org",
        sessionAffinity: "None",
      });
      const refused = await create({ type: "ExternalName" });
      expect(refused.status).toBe(422);
      expect(refused.error.details?.causes).toContainEqual(
        expect.objectContaining({ field: "spec.externalName" }),
      );
    });

    test("gets an address when it turns from ExternalName to ClusterIP, and gives it back", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      await create({ type: "ExternalName", externalName: "example.org" }, "a", ns);
      const inside = await wire.put(at(SERVICE, ns, "a"), aService("a"));
      expect(inside.status).toBe(200);
      expect(isInCidr(specOf(inside.object).clusterIP!, server().serviceCidrs[0]!)).toBe(true);
      const outside = await wire.put(
        at(SERVICE, ns, "a"),
        aService("a", { type: "ExternalName", externalName: "example.org" }),
      );
      expect(outside.status).toBe(200);
      expect(outside.object.spec).not.toHaveProperty("clusterIP");
      const { clusterIP } = specOf(inside.object);
      expect((await create({ clusterIP }, "b", ns)).status).toBe(201);
    });

    test("of type NodePort gets a node port and loses it as ClusterIP", async () => {
      const ns = await server().namespace();
      const { object } = await create({ type: "NodePort" }, "a", ns);
      expect(specOf(object).ports?.[0]?.nodePort).toBeGreaterThanOrEqual(30_000);
      expect(specOf(object).ports?.[0]?.nodePort).toBeLessThanOrEqual(32_767);
      expect(object.spec).toMatchObject({ externalTrafficPolicy: "Cluster" });
      const inside = await server().wire.put(at(SERVICE, ns, "a"), aService("a"));
      expect(inside.status).toBe(200);
      expect(specOf(inside.object).ports?.[0]).not.toHaveProperty("nodePort");
    });

    test("without a selector is like any other", async () => {
      const { object } = await create({});
      expect(object.spec).not.toHaveProperty("selector");
      expect(specOf(object).clusterIP).toMatch(/^\d/);
    });

    test("with ClientIP affinity gets the default timeout", async () => {
      const { object } = await create({ sessionAffinity: "ClientIP" });
      expect(object.spec).toMatchObject({
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 10_800 } },
      });
    });

    test("keeps the name of a target port and the application protocol", async () => {
      const ports = [
        { name: "web", port: 80, targetPort: "http", appProtocol: "kubernetes.io/h2c" },
      ];
      const { object } = await create({ ports });
      expect(object.spec?.ports).toEqual([{ ...ports[0], protocol: "TCP" }]);
    });

    test.each(["PreferClose", "PreferSameZone", "PreferSameNode"])(
      "takes trafficDistribution %s",
      async (trafficDistribution) => {
        const { object } = await create({ trafficDistribution });
        expect(object.spec).toMatchObject({ trafficDistribution });
      },
    );

    test("takes internalTrafficPolicy Local", async () => {
      const { object } = await create({ internalTrafficPolicy: "Local" });
      expect(object.spec).toMatchObject({ internalTrafficPolicy: "Local" });
    });

    test.each<[string, Fields, string, string]>([
      ["port 0", { ports: [{ port: 0 }] }, "spec.ports[0].port", "FieldValueInvalid"],
      ["port 70000", { ports: [{ port: 70_000 }] }, "spec.ports[0].port", "FieldValueInvalid"],
      [
        "an unknown protocol",
        { ports: [{ port: 80, protocol: "ICMP" }] },
        "spec.ports[0].protocol",
        "FieldValueNotSupported",
      ],
      [
        "several ports, one unnamed",
        { ports: [{ port: 80, name: "a" }, { port: 81 }] },
        "spec.ports[1].name",
        "FieldValueRequired",
      ],
      [
        "a port name twice",
        {
          ports: [
            { port: 80, name: "a" },
            { port: 81, name: "a" },
          ],
        },
        "spec.ports[1].name",
        "FieldValueDuplicate",
      ],
      [
        "a port and protocol twice",
        {
          ports: [
            { port: 80, name: "a" },
            { port: 80, name: "b" },
          ],
        },
        "spec.ports[1]",
        "FieldValueDuplicate",
      ],
      [
        "a port name in upper case",
        { ports: [{ port: 80, name: "Web" }] },
        "spec.ports[0].name",
        "FieldValueInvalid",
      ],
      ["an unknown type", { type: "Magic" }, "spec.type", "FieldValueNotSupported"],
      [
        "an unknown affinity",
        { sessionAffinity: "Sticky" },
        "spec.sessionAffinity",
        "FieldValueNotSupported",
      ],
      [
        "an affinity timeout over a day",
        {
          sessionAffinity: "ClientIP",
          sessionAffinityConfig: { clientIP: { timeoutSeconds: 90_000 } },
        },
        "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
        "FieldValueInvalid",
      ],
      [
        "an unknown internalTrafficPolicy",
        { internalTrafficPolicy: "Near" },
        "spec.internalTrafficPolicy",
        "FieldValueNotSupported",
      ],
      [
        "an unknown trafficDistribution",
        { trafficDistribution: "Near" },
        "spec.trafficDistribution",
        "FieldValueNotSupported",
      ],
      [
        "an unknown family",
        { ipFamilies: ["IPv5"] },
        "spec.ipFamilies[0]",
        "FieldValueNotSupported",
      ],
      [
        "an external name that is none",
        { type: "ExternalName", externalName: "not a name" },
        "spec.externalName",
        "FieldValueInvalid",
      ],
    ])("with %s is refused with 422", async (_case, spec, field, reason) => {
      const refused = await create(spec);
      expect(refused.status).toBe(422);
      expect(refused.error.details).toMatchObject({ name: "a", kind: "Service" });
      expect(refused.error.details?.causes).toContainEqual(
        expect.objectContaining({ field, reason }),
      );
    });

    test("whose name is no DNS label is refused with 422", async () => {
      const refused = await create({}, "with.dot");
      expect(refused.status).toBe(422);
      expect(refused.error.details?.causes).toContainEqual(
        expect.objectContaining({ field: "metadata.name" }),
      );
    });

    test("may share a port number between protocols", async () => {
      const ports = [
        { port: 53, name: "dns", protocol: "UDP" },
        { port: 53, name: "dns-tcp", protocol: "TCP" },
      ];
      expect((await create({ ports })).status).toBe(201);
    });

    test("has a load balancer status that is written through /status only", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      await create({ type: "LoadBalancer" }, "a", ns);
      const loadBalancer = { ingress: [{ ip: "203.0.113.9" }] };
      const ignored = await wire.patch(at(SERVICE, ns, "a"), "merge", { status: { loadBalancer } });
      expect(ignored.object.status).toEqual({ loadBalancer: {} });
      const written = await wire.patch(at(SERVICE, ns, "a", "status"), "merge", {
        status: { loadBalancer },
      });
      expect(written.status).toBe(200);
      expect(written.object.status).toEqual({
        loadBalancer: { ingress: [{ ip: "203.0.113.9", ipMode: "VIP" }] },
      });
    });

    test("named kubernetes in default is there from the start", async () => {
      const { object } = await server().wire.get(at(SERVICE, "default", "kubernetes"));
      expect(isInCidr(specOf(object).clusterIP!, server().serviceCidrs[0]!)).toBe(true);
    });
  });
}
