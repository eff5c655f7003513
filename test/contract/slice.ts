// Contract: EndpointSlices that we write ourselves: what is accepted, what is fixed, who touches them.

import { describe, expect, test } from "vitest";
import { ENDPOINT_SLICE, SERVICE } from "../../src/api/builtin.ts";
import { aService, aSlice } from "./objects.ts";
import { type Server, SOON } from "./server.ts";
import { at } from "./wire.ts";

type Fields = Readonly<Record<string, unknown>>;

export function sliceContract(server: Server): void {
  const create = async (fields: Fields) =>
    server().wire.post(at(ENDPOINT_SLICE, await server().namespace()), aSlice("a", fields));

  describe("an EndpointSlice", () => {
    test("keeps every field of its endpoints that Isthmus writes", async () => {
      const endpoint = {
        addresses: ["192.0.2.7"],
        conditions: { ready: true, serving: true, terminating: false },
        hostname: "db-0",
        nodeName: "node-1",
        zone: "zone-a",
        hints: { forZones: [{ name: "zone-a" }] },
        targetRef: { kind: "Pod", name: "db-0", namespace: "x" },
      };
      const created = await create({ endpoints: [endpoint] });
      expect(created.status).toBe(201);
      expect(created.object.endpoints).toEqual([endpoint]);
    });

    test("writes empty conditions for an endpoint that has none", async () => {
      const created = await create({ endpoints: [{ addresses: ["192.0.2.7"] }] });
      expect(created.object.endpoints).toEqual([{ addresses: ["192.0.2.7"], conditions: {} }]);
    });

    test("defaults the name and the protocol of its ports", async () => {
      const created = await create({ ports: [{ port: 80 }] });
      expect(created.object.ports).toEqual([{ name: "", port: 80, protocol: "TCP" }]);
    });

    test("without endpoints or ports shows null for them", async () => {
      const created = await server().wire.post(at(ENDPOINT_SLICE, await server().namespace()), {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { name: "a" },
        addressType: "IPv4",
      });
      expect(created.status).toBe(201);
      expect(created.object).toMatchObject({ endpoints: null, ports: null });
    });

    test("takes 1000 endpoints and refuses 1001", async () => {
      const endpoints = (count: number) =>
        Array.from({ length: count }, (_, index) => ({
          addresses: [`192.0.${2 + Math.floor(index / 250)}.${1 + (index % 250)}`],
        }));
      expect((await create({ endpoints: endpoints(1000) })).status).toBe(201);
      const refused = await create({ endpoints: endpoints(1001) });
      expect(refused.status).toBe(422);
      expect(refused.error.details?.causes).toContainEqual(
        expect.objectContaining({ field: "endpoints", reason: "FieldValueTooMany" }),
      );
    });

    test.each<[string, Fields, string, string]>([
      ["no address type", { addressType: "" }, "addressType", "FieldValueRequired"],
      ["an unknown address type", { addressType: "IPX" }, "addressType", "FieldValueNotSupported"],
      [
        "an IPv6 address among IPv4",
        { endpoints: [{ addresses: ["2001:db8::1"] }] },
        "endpoints[0].addresses",
        "FieldValueInvalid",
      ],
      [
        "an address that is none",
        { endpoints: [{ addresses: ["256.1.1.1"] }] },
        "endpoints[0].addresses[0]",
        "FieldValueInvalid",
      ],
      [
        "a loopback address",
        { endpoints: [{ addresses: ["127.0.0.1"] }] },
        "endpoints[0].addresses[0]",
        "FieldValueInvalid",
      ],
      [
        "a link-local address",
        { endpoints: [{ addresses: ["169.254.1.1"] }] },
        "endpoints[0].addresses[0]",
        "FieldValueInvalid",
      ],
      [
        "an endpoint without addresses",
        { endpoints: [{ addresses: [] }] },
        "endpoints[0].addresses",
        "FieldValueRequired",
      ],
      [
        "an upper-case host name",
        { endpoints: [{ addresses: ["192.0.2.1"], hostname: "DB" }] },
        "endpoints[0].hostname",
        "FieldValueInvalid",
      ],
      [
        "an unknown protocol",
        { ports: [{ port: 80, protocol: "ICMP" }] },
        "ports[0].protocol",
        "FieldValueNotSupported",
      ],
      [
        "a port name twice",
        {
          ports: [
            { name: "a", port: 80 },
            { name: "a", port: 81 },
          ],
        },
        "ports[1].name",
        "FieldValueDuplicate",
      ],
    ])("with %s is refused with 422", async (_case, fields, field, reason) => {
      const refused = await create(fields);
      expect(refused.status).toBe(422);
      expect(refused.error.details).toMatchObject({
        group: "discovery.k8s.io",
        kind: "EndpointSlice",
      });
      expect(refused.error.details?.causes).toContainEqual(
        expect.objectContaining({ field, reason }),
      );
    });

    test("of IPv6 takes IPv6 addresses, and of FQDN takes names", async () => {
      const v6 = { addressType: "IPv6", endpoints: [{ addresses: ["2001:db8::1"] }] };
      const fqdn = { addressType: "FQDN", endpoints: [{ addresses: ["db.example.org"] }] };
      expect((await create(v6)).status).toBe(201);
      expect((await create(fqdn)).status).toBe(201);
    });

    test("keeps its address type for life", async () => {
      const ns = await server().namespace();
      await server().wire.post(at(ENDPOINT_SLICE, ns), aSlice("a", { endpoints: [] }));
      const refused = await server().wire.patch(at(ENDPOINT_SLICE, ns, "a"), "merge", {
        addressType: "IPv6",
      });
      expect(refused.status).toBe(422);
      expect(refused.error.details?.causes).toContainEqual(
        expect.objectContaining({ field: "addressType", reason: "FieldValueInvalid" }),
      );
    });

    test("managed by another is left alone beside the Service that it serves", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      const labels = {
        "kubernetes.io/service-name": "a",
        "endpointslice.kubernetes.io/managed-by": "isthmus.dev",
      };
      const { object } = await wire.post(at(ENDPOINT_SLICE, ns), aSlice("ours", {}, { labels }));
      await wire.post(at(SERVICE, ns), aService("a", { selector: { app: "a" } }));
      // With controllers: they have acted on the Service once their own slice is there.
      const count = async () => (await wire.get(at(ENDPOINT_SLICE, ns))).list.items.length;
      await expect.poll(count, SOON).toBe(server().hasControllers ? 2 : 1);
      expect((await wire.get(at(ENDPOINT_SLICE, ns, "ours"))).object).toEqual(object);
    });
  });
}
