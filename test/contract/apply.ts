// Contract: server-side apply: who owns which field, what a second apply changes, when it conflicts.

import { beforeAll, describe, expect, test } from "vitest";
import { CONFIG_MAP, ENDPOINT_SLICE, LEASE, SERVICE } from "../../src/api/builtin.ts";
import type { ManagedFieldsEntry } from "../../src/api/object.ts";
import { aConfigMap, aLease, aService, aSlice, unique } from "./objects.ts";
import type { Server } from "./server.ts";
import { type Answer, at, type Query, type WireObject } from "./wire.ts";
import { aWidget, type Widgets } from "./widgets.ts";

export function applyContract(server: Server): void {
  const apply = (path: string, fieldManager: string, body: unknown, query: Query = {}) =>
    server().wire.patch(path, "apply", body, { fieldManager, ...query });
  const entryOf = (object: WireObject, manager: string): ManagedFieldsEntry | undefined =>
    object.metadata.managedFields?.find((entry) => entry.manager === manager);
  async function aMapPath(): Promise<string> {
    return at(CONFIG_MAP, await server().namespace(), "a");
  }
  const causesOf = (answer: Answer) => answer.error.details?.causes;

  describe("apply", () => {
    test("creates what does not exist, with 201", async () => {
      const path = await aMapPath();
      const applied = await apply(path, "one", aConfigMap("a"));
      expect(applied.status).toBe(201);
      expect((await server().wire.get(path)).object).toEqual(applied.object);
    });

    test("does not create what is named by the uid of an object that is gone", async () => {
      const path = await aMapPath();
      const { metadata } = (await apply(path, "one", aConfigMap("a"))).object;
      await server().wire.delete(path);
      const applied = await apply(path, "one", aConfigMap("a", {}, { uid: metadata.uid ?? "" }));
      expect(applied.status).toBe(409);
      expect((await server().wire.get(path)).status).toBe(404);
    });

    test("records the fields that it set, and only those", async () => {
      const path = await aMapPath();
      const applied = await apply(
        path,
        "one",
        aConfigMap("a", { x: "1" }, { labels: { team: "red" } }),
      );
      expect(applied.object.metadata.managedFields).toEqual([
        {
          manager: "one",
          operation: "Apply",
          apiVersion: "v1",
          time: expect.stringMatching(/Z$/),
          fieldsType: "FieldsV1",
          fieldsV1: { "f:data": { "f:x": {} }, "f:metadata": { "f:labels": { "f:team": {} } } },
        },
      ]);
    });

    test("again, with the same content, writes nothing", async () => {
      const path = await aMapPath();
      const first = await apply(path, "one", aConfigMap("a"));
      const second = await apply(path, "one", aConfigMap("a"));
      expect(second.status).toBe(200);
      expect(second.object).toEqual(first.object);
    });

    test("merges with what others set", async () => {
      const path = await aMapPath();
      await apply(path, "one", aConfigMap("a", { x: "1" }));
      const applied = await apply(path, "two", aConfigMap("a", { y: "2" }));
      expect(applied.status).toBe(200);
      expect(applied.object.data).toEqual({ x: "1", y: "2" });
      expect(entryOf(applied.object, "one")?.fieldsV1).toEqual({ "f:data": { "f:x": {} } });
      expect(entryOf(applied.object, "two")?.fieldsV1).toEqual({ "f:data": { "f:y": {} } });
    });

    test("removes a field that it set before and sets no more", async () => {
      const path = await aMapPath();
      await apply(path, "one", aConfigMap("a", { x: "1", y: "2" }));
      const applied = await apply(path, "one", aConfigMap("a", { x: "1" }));
      expect(applied.object.data).toEqual({ x: "1" });
      expect(entryOf(applied.object, "one")?.fieldsV1).toEqual({ "f:data": { "f:x": {} } });
    });

    test("leaves a field that it sets no more while another manager owns it", async () => {
      const path = await aMapPath();
      await apply(path, "one", aConfigMap("a", { x: "1" }));
      await apply(path, "two", aConfigMap("a", { x: "1" }));
      const released = await apply(path, "one", aConfigMap("a", {}));
      expect(released.object.data).toEqual({ x: "1" });
      expect(entryOf(released.object, "one")?.fieldsV1 ?? {}).not.toHaveProperty("f:x");
      const gone = await apply(path, "two", aConfigMap("a", {}));
      expect(gone.object.data ?? {}).toEqual({});
    });

    test("of another value for a field that another owns is refused with 409 and its causes", async () => {
      const path = await aMapPath();
      await apply(path, "one", aConfigMap("a", { x: "1", y: "1" }));
      const refused = await apply(path, "two", aConfigMap("a", { x: "2", y: "2" }));
      expect(refused.status).toBe(409);
      expect(refused.error.reason).toBe("Conflict");
      expect(causesOf(refused)).toEqual([
        { reason: "FieldManagerConflict", message: 'conflict with "one"', field: ".data.x" },
        { reason: "FieldManagerConflict", message: 'conflict with "one"', field: ".data.y" },
      ]);
      expect((await server().wire.get(path)).object.data).toEqual({ x: "1", y: "1" });
    });

    test("with force takes the fields over", async () => {
      const path = await aMapPath();
      await apply(path, "one", aConfigMap("a", { x: "1", y: "1" }));
      const forced = await apply(path, "two", aConfigMap("a", { x: "2" }), { force: true });
      expect(forced.status).toBe(200);
      expect(forced.object.data).toEqual({ x: "2", y: "1" });
      expect(entryOf(forced.object, "one")?.fieldsV1).toEqual({ "f:data": { "f:y": {} } });
      expect(entryOf(forced.object, "two")?.fieldsV1).toEqual({ "f:data": { "f:x": {} } });
    });

    test("conflicts with a plain update of the same field, and names that writer", async () => {
      const path = await aMapPath();
      await apply(path, "one", aConfigMap("a", { x: "1" }));
      const updated = await server().wire.patch(
        path,
        "merge",
        { data: { x: "2" } },
        { fieldManager: "editor" },
      );
      expect(entryOf(updated.object, "editor")).toMatchObject({
        operation: "Update",
        fieldsV1: { "f:data": { "f:x": {} } },
      });
      expect(entryOf(updated.object, "one")?.fieldsV1 ?? {}).not.toHaveProperty("f:data");
      const refused = await apply(path, "one", aConfigMap("a", { x: "1" }));
      expect(refused.status).toBe(409);
      expect(causesOf(refused)).toEqual([
        expect.objectContaining({
          reason: "FieldManagerConflict",
          field: ".data.x",
          message: expect.stringMatching(/^conflict with "editor" using v1/),
        }),
      ]);
    });

    test("with a resourceVersion is a lock: a stale one is refused with 409", async () => {
      const path = await aMapPath();
      const { object } = await apply(path, "one", aConfigMap("a", { x: "1" }));
      await apply(path, "one", aConfigMap("a", { x: "2" }));
      const { resourceVersion } = object.metadata;
      const refused = await apply(
        path,
        "one",
        aConfigMap("a", { x: "3" }, { resourceVersion: resourceVersion! }),
      );
      expect(refused.status).toBe(409);
      expect(refused.error.reason).toBe("Conflict");
    });

    test("without a fieldManager is refused with 422", async () => {
      const path = await aMapPath();
      const refused = await server().wire.patch(path, "apply", aConfigMap("a"));
      expect(refused.status).toBe(422);
      expect(causesOf(refused)).toContainEqual(expect.objectContaining({ field: "fieldManager" }));
    });

    test("without apiVersion and kind is refused with 400", async () => {
      const path = await aMapPath();
      const refused = await apply(path, "one", { metadata: { name: "a" } });
      expect(refused.status).toBe(400);
    });

    test("with managedFields of its own is refused with 400", async () => {
      const path = await aMapPath();
      const { object } = await apply(path, "one", aConfigMap("a"));
      const refused = await apply(path, "one", object);
      expect(refused.status).toBe(400);
      expect(refused.error.message).toContain("managedFields must be nil");
    });

    test("of another name than the path's is refused with 400", async () => {
      const path = await aMapPath();
      expect((await apply(path, "one", aConfigMap("b"))).status).toBe(400);
    });

    test("in a namespace that does not exist is refused with 404", async () => {
      const path = at(CONFIG_MAP, unique("missing-"), "a");
      expect((await apply(path, "one", aConfigMap("a"))).status).toBe(404);
    });

    test("with dryRun tells what it would do and stores nothing", async () => {
      const path = await aMapPath();
      const dry = await apply(path, "one", aConfigMap("a"), { dryRun: "All" });
      expect(dry.status).toBe(201);
      expect((await server().wire.get(path)).status).toBe(404);
    });

    test("reads YAML", async () => {
      const path = await aMapPath();
      const text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: '1'\n";
      const applied = await apply(path, "one", text);
      expect(applied.status).toBe(201);
      expect(applied.object.data).toEqual({ x: "1" });
    });

    test("removes a label that it owned and leaves another's", async () => {
      const path = await aMapPath();
      await apply(path, "one", aConfigMap("a", { a: "1" }, { labels: { mine: "1" } }));
      await apply(path, "two", aConfigMap("a", { a: "1" }, { labels: { theirs: "1" } }));
      const applied = await apply(path, "one", aConfigMap("a"));
      expect(applied.object.metadata.labels).toEqual({ theirs: "1" });
    });
  });

  describe("apply to finalizers", () => {
    test("is a set: each manager adds and removes its own", async () => {
      const path = await aMapPath();
      const withFinalizer = (finalizer: string) =>
        aConfigMap("a", { a: "1" }, { finalizers: [`example.org/${finalizer}`] });
      await apply(path, "one", withFinalizer("one"));
      const both = await apply(path, "two", withFinalizer("two"));
      expect(both.object.metadata.finalizers?.toSorted()).toEqual([
        "example.org/one",
        "example.org/two",
      ]);
      expect(entryOf(both.object, "two")?.fieldsV1).toMatchObject({
        "f:metadata": { "f:finalizers": { 'v:"example.org/two"': {} } },
      });
      const one = await apply(path, "two", aConfigMap("a"));
      expect(one.object.metadata.finalizers).toEqual(["example.org/one"]);
      await apply(path, "one", aConfigMap("a"));
    });

    test("owner references are merged by uid", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      const owners = await Promise.all(
        ["p", "q"].map(async (name) => (await wire.post(at(LEASE, ns), aLease(name))).object),
      );
      const path = at(CONFIG_MAP, ns, "a");
      for (const [index, owner] of owners.entries()) {
        const { uid, name } = owner.metadata;
        const reference = {
          apiVersion: "coordination.k8s.io/v1",
          kind: "Lease",
          name: name!,
          uid: uid!,
        };
        await apply(
          path,
          `m${index}`,
          aConfigMap("a", { a: "1" }, { ownerReferences: [reference] }),
        );
      }
      const { object } = await wire.get(path);
      expect(object.metadata.ownerReferences?.map((owner) => owner.name)).toEqual(["p", "q"]);
    });
  });

  describe("apply to the ports of a Service", () => {
    test("merges them by port and protocol", async () => {
      const path = at(SERVICE, await server().namespace(), "a");
      const tcp = { name: "dns-tcp", port: 53, protocol: "TCP" };
      const udp = { name: "dns", port: 53, protocol: "UDP" };
      await apply(path, "one", aService("a", { ports: [tcp] }));
      const both = await apply(path, "two", aService("a", { ports: [udp] }));
      expect(both.status).toBe(200);
      expect(both.object.spec?.ports).toEqual([
        { ...tcp, targetPort: 53 },
        { ...udp, targetPort: 53 },
      ]);
      expect(entryOf(both.object, "two")?.fieldsV1).toEqual({
        "f:spec": {
          "f:ports": {
            'k:{"port":53,"protocol":"UDP"}': {
              ".": {},
              "f:name": {},
              "f:port": {},
              "f:protocol": {},
            },
          },
        },
      });
    });

    test("takes a port without a protocol as TCP", async () => {
      const path = at(SERVICE, await server().namespace(), "a");
      await apply(path, "one", aService("a", { ports: [{ port: 80, name: "x" }] }));
      const again = await apply(path, "one", aService("a", { ports: [{ port: 80, name: "y" }] }));
      expect(again.object.spec?.ports).toEqual([
        { name: "y", port: 80, protocol: "TCP", targetPort: 80 },
      ]);
    });

    test("removes the ports that it applied before and does no more", async () => {
      const path = at(SERVICE, await server().namespace(), "a");
      const a = { name: "a", port: 80 };
      const b = { name: "b", port: 81 };
      await apply(path, "one", aService("a", { ports: [a, b] }));
      const applied = await apply(path, "one", aService("a", { ports: [b] }));
      expect(applied.object.spec?.ports).toEqual([{ ...b, protocol: "TCP", targetPort: 81 }]);
    });

    test("does not touch the clusterIP that the server chose", async () => {
      const path = at(SERVICE, await server().namespace(), "a");
      const first = await apply(path, "one", aService("a"));
      const second = await apply(path, "one", aService("a", { sessionAffinity: "ClientIP" }));
      expect(second.object.spec?.clusterIP).toBe(first.object.spec?.clusterIP);
      const third = await apply(path, "one", aService("a", { sessionAffinity: "ClientIP" }));
      expect(third.object.metadata.resourceVersion).toBe(second.object.metadata.resourceVersion);
    });
  });

  describe("apply to the endpoints of an EndpointSlice", () => {
    test("replaces them whole: the list is atomic", async () => {
      const path = at(ENDPOINT_SLICE, await server().namespace(), "a");
      const endpoints = (...addresses: readonly string[]) => ({
        endpoints: addresses.map((address) => ({ addresses: [address] })),
      });
      await apply(path, "one", aSlice("a", endpoints("192.0.2.1", "192.0.2.2")));
      const refused = await apply(path, "two", aSlice("a", endpoints("192.0.2.3")));
      expect(refused.status).toBe(409);
      expect(causesOf(refused)).toEqual([expect.objectContaining({ field: ".endpoints" })]);
      const applied = await apply(path, "one", aSlice("a", endpoints("192.0.2.3")));
      expect(applied.object.endpoints).toEqual([{ addresses: ["192.0.2.3"], conditions: {} }]);
      expect(entryOf(applied.object, "one")?.fieldsV1).toMatchObject({ "f:endpoints": {} });
    });

    test("again, with the same content, writes nothing", async () => {
      const path = at(ENDPOINT_SLICE, await server().namespace(), "a");
      const first = await apply(path, "one", aSlice("a"));
      const second = await apply(path, "one", aSlice("a"));
      expect(second.object.metadata.resourceVersion).toBe(first.object.metadata.resourceVersion);
    });
  });

  describe("apply to a custom resource", () => {
    let widgets: Widgets;
    let ns: string;
    beforeAll(async () => {
      widgets = await server().widgets();
      ns = await server().namespace();
    });
    const applySpec = (name: string, manager: string, spec: Readonly<Record<string, unknown>>) =>
      apply(at(widgets.v1, ns, name), manager, aWidget(widgets, name, spec));

    test("merges list-maps by key, sets by value, and takes atomic lists whole", async () => {
      await applySpec("lists", "one", {
        parts: [{ name: "p", value: "1" }],
        tags: ["a"],
        sequence: ["x", "y"],
      });
      const applied = await applySpec("lists", "two", {
        parts: [{ name: "q", value: "2" }],
        tags: ["b"],
      });
      expect(applied.status).toBe(200);
      expect(applied.object.spec).toMatchObject({
        parts: [
          { name: "p", value: "1" },
          { name: "q", value: "2" },
        ],
        tags: ["a", "b"],
        sequence: ["x", "y"],
      });
      const refused = await applySpec("lists", "two", { sequence: ["z"] });
      expect(causesOf(refused)).toEqual([expect.objectContaining({ field: ".spec.sequence" })]);
    });

    test("does not own the defaults", async () => {
      const applied = await applySpec("defaults", "one", { color: "red" });
      expect(applied.object.spec).toEqual({ color: "red", size: 1 });
      expect(entryOf(applied.object, "one")?.fieldsV1).toEqual({ "f:spec": { "f:color": {} } });
    });

    test("again, with the same content, writes nothing and keeps the generation", async () => {
      const first = await applySpec("same", "one", { color: "red", parts: [{ name: "p" }] });
      const second = await applySpec("same", "one", { color: "red", parts: [{ name: "p" }] });
      expect(second.object).toEqual(first.object);
    });

    test("names the element in a conflict inside a list-map", async () => {
      await applySpec("conflict", "one", { parts: [{ name: "p", value: "1" }] });
      const refused = await applySpec("conflict", "two", { parts: [{ name: "p", value: "2" }] });
      expect(refused.status).toBe(409);
      expect(causesOf(refused)).toEqual([
        {
          reason: "FieldManagerConflict",
          message: 'conflict with "one"',
          field: '.spec.parts[name="p"].value',
        },
      ]);
    });

    test("on /status sets the status only, under an entry of its own", async () => {
      await applySpec("status", "one", { color: "red" });
      const applied = await apply(at(widgets.v1, ns, "status", "status"), "one", {
        ...aWidget(widgets, "status", { color: "green" }),
        status: { observed: 1, conditions: [{ type: "Ready", status: "True" }] },
      });
      expect(applied.status).toBe(200);
      expect(applied.object.spec).toMatchObject({ color: "red" });
      expect(applied.object.status).toEqual({
        observed: 1,
        conditions: [{ type: "Ready", status: "True" }],
      });
      const entries = applied.object.metadata.managedFields?.map((entry) => ({
        subresource: entry.subresource ?? "",
        fields: entry.fieldsV1,
      }));
      expect(entries).toEqual([
        { subresource: "", fields: { "f:spec": { "f:color": {} } } },
        {
          subresource: "status",
          fields: {
            "f:status": {
              "f:conditions": {
                'k:{"type":"Ready"}': { ".": {}, "f:status": {}, "f:type": {} },
              },
              "f:observed": {},
            },
          },
        },
      ]);
    });

    test("on /status merges conditions of several managers by type", async () => {
      await applySpec("conditions", "one", {});
      const applyCondition = (manager: string, type: string, status: string) =>
        apply(at(widgets.v1, ns, "conditions", "status"), manager, {
          ...aWidget(widgets, "conditions"),
          status: { conditions: [{ type, status }] },
        });
      await applyCondition("one", "Valid", "True");
      await applyCondition("two", "Ready", "False");
      const applied = await applyCondition("two", "Ready", "True");
      expect(applied.object.status?.conditions).toEqual([
        { type: "Valid", status: "True" },
        { type: "Ready", status: "True" },
      ]);
    });

    test("on /status of an object that does not exist answers 404", async () => {
      const refused = await apply(at(widgets.v1, ns, "none", "status"), "one", {
        ...aWidget(widgets, "none"),
        status: { observed: 1 },
      });
      expect(refused.status).toBe(404);
    });

    test("refuses what the schema does not allow with 422", async () => {
      expect((await applySpec("invalid", "one", { size: 99 })).status).toBe(422);
    });

    test("under another version than before still knows its own fields", async () => {
      await applySpec("versions", "one", { color: "red", code: "A" });
      const applied = await apply(at(widgets.v1beta1, ns, "versions"), "one", {
        ...aWidget(widgets, "versions", { color: "green" }),
        apiVersion: `${widgets.group}/v1beta1`,
      });
      expect(applied.status).toBe(200);
      expect(applied.object.spec).toEqual({ color: "green", size: 1 });
      expect(applied.object.metadata.managedFields).toHaveLength(1);
    });
  });
}
