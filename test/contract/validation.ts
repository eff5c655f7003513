// Contract: unknown and repeated fields under each fieldValidation, and kinds with rules of their own.

import { beforeAll, describe, expect, test } from "vitest";
import { CONFIG_MAP, EVENT, LEASE, SECRET, SERVICE } from "../../src/api/builtin.ts";
import { aConfigMap, aService } from "./objects.ts";
import type { Server } from "./server.ts";
import { at } from "./wire.ts";
import { aWidget, type Widgets } from "./widgets.ts";

export function validationContract(server: Server): void {
  describe("fieldValidation on a built-in kind", () => {
    const withUnknown = aService("a", { colour: "red" });

    test("Strict refuses an unknown field with 400 and names it", async () => {
      const ns = await server().namespace();
      const refused = await server().wire.post(at(SERVICE, ns), withUnknown, {
        fieldValidation: "Strict",
      });
      expect(refused.status).toBe(400);
      expect(refused.error.message).toContain('strict decoding error: unknown field "spec.colour"');
    });

    test("Warn, the default, drops it and warns", async () => {
      const ns = await server().namespace();
      const created = await server().wire.post(at(SERVICE, ns), withUnknown);
      expect(created.status).toBe(201);
      expect(created.object.spec).not.toHaveProperty("colour");
      expect(created.headers.warning).toBe('299 - "unknown field \\"spec.colour\\""');
    });

    test("Ignore drops it and says nothing", async () => {
      const ns = await server().namespace();
      const created = await server().wire.post(at(SERVICE, ns), withUnknown, {
        fieldValidation: "Ignore",
      });
      expect(created.status).toBe(201);
      expect(created.object.spec).not.toHaveProperty("colour");
      expect(created.headers).not.toHaveProperty("warning");
    });

    test("Strict refuses an unknown field in a merge patch", async () => {
      const ns = await server().namespace();
      await server().wire.post(at(SERVICE, ns), aService("a"));
      const refused = await server().wire.patch(
        at(SERVICE, ns, "a"),
        "merge",
        { spec: { colour: "red" } },
        { fieldValidation: "Strict" },
      );
      expect([400, 422]).toContain(refused.status);
      expect(refused.error.message).toContain('unknown field "spec.colour"');
    });

    test("an apply of an unknown field is refused whatever it asks for", async () => {
      const ns = await server().namespace();
      const refused = await server().wire.patch(at(SERVICE, ns, "a"), "apply", withUnknown, {
        fieldManager: "one",
      });
      expect(refused.status).toBe(500);
      expect(refused.error.message).toContain("field not declared in schema");
    });

    test("a value that it does not know is refused with 422", async () => {
      const ns = await server().namespace();
      const refused = await server().wire.post(at(SERVICE, ns), aService("a"), {
        fieldValidation: "Loose",
      });
      expect(refused.status).toBe(422);
    });

    test("a wrong type is refused with 400 whatever it asks for", async () => {
      const ns = await server().namespace();
      const refused = await server().wire.post(
        at(SERVICE, ns),
        aService("a", { ports: [{ port: "http" }] }),
        { fieldValidation: "Ignore" },
      );
      expect(refused.status).toBe(400);
      expect(refused.error.reason).toBe("BadRequest");
    });
  });

  describe("fieldValidation on a custom resource", () => {
    let widgets: Widgets;
    beforeAll(async () => {
      widgets = await server().widgets();
    });

    test("Strict refuses an unknown field with 400 and names it", async () => {
      const ns = await server().namespace();
      const refused = await server().wire.post(
        at(widgets.v1, ns),
        aWidget(widgets, "a", { weight: 1 }),
        { fieldValidation: "Strict" },
      );
      expect(refused.status).toBe(400);
      expect(refused.error.message).toContain('unknown field "spec.weight"');
    });

    test("Warn, the default, prunes it and warns", async () => {
      const ns = await server().namespace();
      const created = await server().wire.post(
        at(widgets.v1, ns),
        aWidget(widgets, "a", { weight: 1 }),
      );
      expect(created.status).toBe(201);
      expect(created.object.spec).not.toHaveProperty("weight");
      expect(created.headers.warning).toBe('299 - "unknown field \\"spec.weight\\""');
    });
  });

  describe("a Secret", () => {
    test("takes stringData into data, over data, and never shows it", async () => {
      const ns = await server().namespace();
      const created = await server().wire.post(at(SECRET, ns), {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "a" },
        data: { x: "b2xk", y: "eQ==" },
        stringData: { x: "new" },
      });
      expect(created.status).toBe(201);
      expect(created.object).not.toHaveProperty("stringData");
      expect(created.object.data).toEqual({ x: "bmV3", y: "eQ==" });
      expect(created.object.type).toBe("Opaque");
    });

    test("keeps its type", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "a" } };
      await wire.post(at(SECRET, ns), { ...secret, type: "example.org/one" });
      const refused = await wire.put(at(SECRET, ns, "a"), { ...secret, type: "example.org/two" });
      expect(refused.status).toBe(422);
      expect(refused.error.details?.causes).toContainEqual(
        expect.objectContaining({ field: "type" }),
      );
    });

    test("refuses data that is not base64 with 400", async () => {
      const ns = await server().namespace();
      const refused = await server().wire.post(at(SECRET, ns), {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "a" },
        data: { x: "not base64!" },
      });
      expect(refused.status).toBe(400);
    });
  });

  describe("a ConfigMap", () => {
    test("that is immutable keeps its data", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      await wire.post(at(CONFIG_MAP, ns), { ...aConfigMap("a"), immutable: true });
      const refused = await wire.patch(at(CONFIG_MAP, ns, "a"), "merge", { data: { a: "2" } });
      expect(refused.status).toBe(422);
    });

    test("refuses keys that are not file names", async () => {
      const ns = await server().namespace();
      const refused = await server().wire.post(
        at(CONFIG_MAP, ns),
        aConfigMap("a", { "no/slash": "x" }),
      );
      expect(refused.status).toBe(422);
      expect(refused.error.details?.causes).toContainEqual(
        expect.objectContaining({ field: "data[no/slash]" }),
      );
    });
  });

  describe("a Lease", () => {
    test.each([
      ["no duration", { leaseDurationSeconds: 0 }, "spec.leaseDurationSeconds"],
      ["negative transitions", { leaseTransitions: -1 }, "spec.leaseTransitions"],
    ])("with %s is refused with 422", async (_case, spec, field) => {
      const ns = await server().namespace();
      const refused = await server().wire.post(at(LEASE, ns), {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name: "a" },
        spec,
      });
      expect(refused.status).toBe(422);
      expect(refused.error.details?.causes).toContainEqual(expect.objectContaining({ field }));
    });
  });

  describe("an Event", () => {
    const anEvent = (ns: string, namespace: string) => ({
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: "a.1", namespace: ns },
      involvedObject: { apiVersion: "v1", kind: "Service", name: "a", namespace },
      type: "Warning",
      reason: "PortConflict",
      message: "ports differ",
      count: 1,
      source: { component: "isthmus" },
    });

    test("is created about an object of its namespace and found by it", async () => {
      const ns = await server().namespace();
      const created = await server().wire.post(at(EVENT, ns), anEvent(ns, ns));
      expect(created.status).toBe(201);
      const { list } = await server().wire.get(at(EVENT, ns), {
        fieldSelector: "involvedObject.name=a,involvedObject.kind=Service,type=Warning",
      });
      expect(list.items.map((item) => item.reason)).toEqual(["PortConflict"]);
    });

    test("about an object of another namespace is refused with 422", async () => {
      const ns = await server().namespace();
      const refused = await server().wire.post(at(EVENT, ns), anEvent(ns, "default"));
      expect(refused.status).toBe(422);
      expect(refused.error.details?.causes).toContainEqual(
        expect.objectContaining({ field: "involvedObject.namespace" }),
      );
    });
  });
}
