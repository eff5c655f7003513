// Contract: the three patch types and what each may not do. Server-side apply is apply.ts.

import { describe, expect, test } from "vitest";
import { CONFIG_MAP, LEASE, SERVICE } from "../../src/api/builtin.ts";
import { aConfigMap, aLease, aService } from "./objects.ts";
import type { Server } from "./server.ts";
import { at } from "./wire.ts";

export function patchContract(server: Server): void {
  async function aMap(data: Readonly<Record<string, string>>): Promise<string> {
    const ns = await server().namespace();
    await server().wire.post(at(CONFIG_MAP, ns), aConfigMap("a", data, { labels: { old: "1" } }));
    return at(CONFIG_MAP, ns, "a");
  }

  describe("merge patch", () => {
    test("sets fields, removes those that are null and leaves the others", async () => {
      const path = await aMap({ keep: "1", drop: "2", change: "3" });
      const patched = await server().wire.patch(path, "merge", {
        data: { drop: null, change: "4", add: "5" },
      });
      expect(patched.status).toBe(200);
      expect(patched.object.data).toEqual({ keep: "1", change: "4", add: "5" });
      expect(patched.object.metadata.labels).toEqual({ old: "1" });
    });

    test("replaces arrays whole", async () => {
      const path = await aMap({});
      await server().wire.patch(path, "merge", {
        metadata: { finalizers: ["example.org/a", "example.org/b"] },
      });
      const patched = await server().wire.patch(path, "merge", {
        metadata: { finalizers: ["example.org/c"] },
      });
      expect(patched.object.metadata.finalizers).toEqual(["example.org/c"]);
      await server().wire.patch(path, "merge", { metadata: { finalizers: null } });
    });

    test("that changes nothing keeps the version", async () => {
      const path = await aMap({ a: "1" });
      const before = await server().wire.get(path);
      const patched = await server().wire.patch(path, "merge", { data: { a: "1" } });
      expect(patched.object.metadata.resourceVersion).toBe(before.object.metadata.resourceVersion);
    });

    test("with a stale resourceVersion is refused with 409", async () => {
      const path = await aMap({ a: "1" });
      const { object } = await server().wire.get(path);
      await server().wire.patch(path, "merge", { data: { a: "2" } });
      const refused = await server().wire.patch(path, "merge", {
        metadata: { resourceVersion: object.metadata.resourceVersion },
        data: { a: "3" },
      });
      expect(refused.status).toBe(409);
      expect(refused.error.reason).toBe("Conflict");
    });

    test("of an object that does not exist answers 404", async () => {
      const ns = await server().namespace();
      const refused = await server().wire.patch(at(LEASE, ns, "a"), "merge", { spec: {} });
      expect(refused.status).toBe(404);
    });

    test.each([
      ["name", { name: "other" }, 400],
      ["namespace", { namespace: "other" }, 400],
      ["uid", { uid: "11111111-1111-1111-1111-111111111111" }, 422],
    ])("cannot change the %s", async (_field, metadata, status) => {
      const path = await aMap({});
      expect((await server().wire.patch(path, "merge", { metadata })).status).toBe(status);
    });

    test("cannot change when it was created", async () => {
      const path = await aMap({});
      const before = await server().wire.get(path);
      const patched = await server().wire.patch(path, "merge", {
        metadata: { creationTimestamp: "2001-01-01T00:00:00Z" },
      });
      expect(patched.object.metadata.creationTimestamp).toBe(
        before.object.metadata.creationTimestamp,
      );
    });

    test("of the wrong type for a field is refused", async () => {
      const path = await aMap({});
      const refused = await server().wire.patch(path, "merge", { data: "text" });
      expect(refused.status).toBe(422);
      expect(refused.error.kind).toBe("Status");
    });

    test("with dryRun stores nothing", async () => {
      const path = await aMap({ a: "1" });
      const dry = await server().wire.patch(path, "merge", { data: { a: "2" } }, { dryRun: "All" });
      expect(dry.object.data).toEqual({ a: "2" });
      expect((await server().wire.get(path)).object.data).toEqual({ a: "1" });
    });
  });

  describe("JSON patch", () => {
    test("adds, replaces, removes, copies and moves", async () => {
      const path = await aMap({ a: "1", b: "2", c: "3" });
      const patched = await server().wire.patch(path, "json", [
        { op: "test", path: "/data/a", value: "1" },
        { op: "replace", path: "/data/a", value: "9" },
        { op: "remove", path: "/data/b" },
        { op: "copy", from: "/data/a", path: "/data/d" },
        { op: "move", from: "/data/c", path: "/data/e" },
      ]);
      expect(patched.status).toBe(200);
      expect(patched.object.data).toEqual({ a: "9", d: "9", e: "3" });
    });

    test("reads ~1 in a path as a slash", async () => {
      const path = await aMap({});
      const patched = await server().wire.patch(path, "json", [
        { op: "add", path: "/metadata/labels/example.org~1x", value: "yes" },
      ]);
      expect(patched.object.metadata.labels).toEqual({ old: "1", "example.org/x": "yes" });
    });

    test("whose test fails is refused with 422 and changes nothing", async () => {
      const path = await aMap({ a: "1" });
      const refused = await server().wire.patch(path, "json", [
        { op: "replace", path: "/data/a", value: "2" },
        { op: "test", path: "/data/a", value: "1" },
      ]);
      expect(refused.status).toBe(422);
      expect(refused.error.reason).toBe("Invalid");
      expect((await server().wire.get(path)).object.data).toEqual({ a: "1" });
    });

    test("that removes what is not there is refused with 422", async () => {
      const path = await aMap({ a: "1" });
      const refused = await server().wire.patch(path, "json", [
        { op: "remove", path: "/data/none" },
      ]);
      expect(refused.status).toBe(422);
    });

    test("that is not an array is refused with 400", async () => {
      const path = await aMap({});
      const refused = await server().wire.patch(path, "json", { data: {} });
      expect(refused.status).toBe(400);
    });
  });

  describe("strategic merge patch", () => {
    test("merges the ports of a Service by port number", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      const ports = [
        { name: "http", port: 80 },
        { name: "https", port: 443 },
      ];
      await wire.post(at(SERVICE, ns), aService("a", { ports }));
      const patched = await wire.patch(at(SERVICE, ns, "a"), "strategic", {
        spec: { ports: [{ port: 443, targetPort: 8443 }] },
      });
      expect(patched.status).toBe(200);
      expect(patched.object.spec?.ports).toEqual([
        { name: "http", port: 80, protocol: "TCP", targetPort: 80 },
        { name: "https", port: 443, protocol: "TCP", targetPort: 8443 },
      ]);
    });

    test("deletes an element of a merged list by its key", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      const ports = [
        { name: "http", port: 80 },
        { name: "https", port: 443 },
      ];
      await wire.post(at(SERVICE, ns), aService("a", { ports }));
      const patched = await wire.patch(at(SERVICE, ns, "a"), "strategic", {
        spec: { ports: [{ $patch: "delete", port: 443 }] },
      });
      expect(patched.object.spec?.ports).toEqual([
        { name: "http", port: 80, protocol: "TCP", targetPort: 80 },
      ]);
    });

    test("merges maps and removes what is null, like a merge patch", async () => {
      const path = await aMap({ keep: "1", drop: "2" });
      const patched = await server().wire.patch(path, "strategic", {
        data: { drop: null, add: "3" },
      });
      expect(patched.object.data).toEqual({ keep: "1", add: "3" });
    });

    test("adds to finalizers as to a set", async () => {
      const path = await aMap({});
      await server().wire.patch(path, "strategic", { metadata: { finalizers: ["example.org/a"] } });
      const patched = await server().wire.patch(path, "strategic", {
        metadata: { finalizers: ["example.org/b"] },
      });
      expect(patched.object.metadata.finalizers?.toSorted()).toEqual([
        "example.org/a",
        "example.org/b",
      ]);
      await server().wire.patch(path, "merge", { metadata: { finalizers: null } });
    });
  });

  test("a patch of an unknown content type is refused with 415", async () => {
    const path = await aMap({});
    const refused = await server().wire.send("PATCH", path, {
      headers: { "content-type": "application/json" },
      body: { data: {} },
    });
    expect(refused.status).toBe(415);
    expect(refused.error.reason).toBe("UnsupportedMediaType");
  });

  test("a Lease written by a merge patch keeps its microseconds", async () => {
    const ns = await server().namespace();
    await server().wire.post(at(LEASE, ns), aLease("a"));
    const patched = await server().wire.patch(at(LEASE, ns, "a"), "merge", {
      spec: { renewTime: "2026-01-02T03:04:05.678901Z", leaseDurationSeconds: 15 },
    });
    expect(patched.object.spec).toEqual({
      holderIdentity: "nobody",
      renewTime: "2026-01-02T03:04:05.678901Z",
      leaseDurationSeconds: 15,
    });
  });
}
