// Contract: create, get, replace and delete one object, and each way in which a server refuses.

import { describe, expect, test } from "vitest";
import { CONFIG_MAP, LEASE, NAMESPACE, SERVICE } from "../../src/api/builtin.ts";
import { aConfigMap, aLease, aService, unique } from "./objects.ts";
import type { Server } from "./server.ts";
import { at } from "./wire.ts";

const UID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const SECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

export function crudContract(server: Server): void {
  describe("create", () => {
    test("answers 201 with the object and the metadata that the server sets", async () => {
      const ns = await server().namespace();
      const created = await server().wire.post(at(CONFIG_MAP, ns), aConfigMap("a"));
      expect(created.status).toBe(201);
      expect(created.object).toMatchObject({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "a", namespace: ns },
        data: { a: "1" },
      });
      expect(created.object.metadata.uid).toMatch(UID);
      expect(created.object.metadata.creationTimestamp).toMatch(SECONDS);
      expect(created.object.metadata.resourceVersion).toMatch(/^\d+$/);
    });

    test("ignores the uid and the times that the client sends", async () => {
      const ns = await server().namespace();
      const created = await server().wire.post(
        at(SERVICE, ns),
        aService(
          "a",
          {},
          {
            uid: "11111111-1111-1111-1111-111111111111",
            creationTimestamp: "2001-01-01T00:00:00Z",
            deletionTimestamp: "2001-01-01T00:00:00Z",
          },
        ),
      );
      expect(created.status).toBe(201);
      expect(created.object.metadata.uid).not.toMatch(/^1111/);
      expect(created.object.metadata.creationTimestamp).not.toMatch(/^2001/);
      expect(created.object.metadata).not.toHaveProperty("deletionTimestamp");
    });

    test("refuses a resourceVersion", async () => {
      const ns = await server().namespace();
      const refused = await server().wire.post(
        at(CONFIG_MAP, ns),
        aConfigMap("a", {}, { resourceVersion: "1" }),
      );
      expect(refused.status).toBe(500);
      expect(refused.error.message).toContain("resourceVersion should not be set");
    });

    test("refuses a name that is taken with 409 AlreadyExists and says which", async () => {
      const ns = await server().namespace();
      await server().wire.post(at(LEASE, ns), aLease("a"));
      const refused = await server().wire.post(at(LEASE, ns), aLease("a"));
      expect(refused.status).toBe(409);
      expect(refused.error).toEqual({
        apiVersion: "v1",
        kind: "Status",
        metadata: {},
        status: "Failure",
        code: 409,
        reason: "AlreadyExists",
        message: 'leases.coordination.k8s.io "a" already exists',
        details: { name: "a", group: "coordination.k8s.io", kind: "leases" },
      });
    });

    test("refuses a namespace that does not exist with 404", async () => {
      const missing = unique("missing-");
      const refused = await server().wire.post(at(CONFIG_MAP, missing), aConfigMap("a"));
      expect(refused.status).toBe(404);
      expect(refused.error).toMatchObject({
        reason: "NotFound",
        message: `namespaces "${missing}" not found`,
        details: { name: missing, kind: "namespaces" },
      });
    });

    test("refuses a namespace in the body that is not the one of the path", async () => {
      const ns = await server().namespace();
      const refused = await server().wire.post(
        at(CONFIG_MAP, ns),
        aConfigMap("a", {}, { namespace: "other" }),
      );
      expect(refused.status).toBe(400);
      expect(refused.error.reason).toBe("BadRequest");
      expect(refused.error.message).toContain("namespace");
    });

    test.each([
      ["another kind", { kind: "Secret" }],
      ["another group", { apiVersion: "apps/v1" }],
      ["another version", { apiVersion: "v2" }],
    ])("refuses a body of %s with 400", async (_case, change) => {
      const ns = await server().namespace();
      const refused = await server().wire.post(at(CONFIG_MAP, ns), {
        ...aConfigMap("a"),
        ...change,
      });
      expect(refused.status).toBe(400);
      expect(refused.error.reason).toBe("BadRequest");
    });

    test("refuses a body that is not JSON with 400", async () => {
      const ns = await server().namespace();
      const refused = await server().wire.post(at(CONFIG_MAP, ns), "{ not json");
      expect(refused.status).toBe(400);
      expect(refused.error).toMatchObject({ kind: "Status", reason: "BadRequest" });
    });

    test.each([
      ["upper case", "Abc"],
      ["an underscore", "a_b"],
      ["254 characters", "a".repeat(254)],
    ])("refuses a name with %s with 422 and the cause", async (_case, name) => {
      const ns = await server().namespace();
      const refused = await server().wire.post(at(CONFIG_MAP, ns), aConfigMap(name));
      expect(refused.status).toBe(422);
      expect(refused.error).toMatchObject({
        reason: "Invalid",
        details: { name, kind: "ConfigMap" },
      });
      expect(refused.error.details?.causes).toContainEqual(
        expect.objectContaining({ reason: "FieldValueInvalid", field: "metadata.name" }),
      );
    });

    test("refuses an object without a name with 422", async () => {
      const ns = await server().namespace();
      const refused = await server().wire.post(at(CONFIG_MAP, ns), aConfigMap(""));
      expect(refused.status).toBe(422);
      expect(refused.error.details?.causes).toEqual([
        {
          reason: "FieldValueRequired",
          field: "metadata.name",
          message: "Required value: name or generateName is required",
        },
      ]);
    });

    test("refuses labels that are not labels with 422", async () => {
      const ns = await server().namespace();
      const refused = await server().wire.post(
        at(CONFIG_MAP, ns),
        aConfigMap("a", {}, { labels: { "a b": "x", ok: "no spaces" } }),
      );
      expect(refused.status).toBe(422);
      expect(refused.error.details?.causes).toEqual([
        expect.objectContaining({ field: "metadata.labels", reason: "FieldValueInvalid" }),
        expect.objectContaining({ field: "metadata.labels", reason: "FieldValueInvalid" }),
      ]);
    });

    test("makes a name from generateName that no other object has", async () => {
      const ns = await server().namespace();
      const body = { ...aConfigMap(""), metadata: { generateName: "made-" } };
      const first = await server().wire.post(at(CONFIG_MAP, ns), body);
      const second = await server().wire.post(at(CONFIG_MAP, ns), body);
      expect(first.object.metadata.name).toMatch(/^made-[a-z0-9]{5}$/);
      expect(first.object.metadata.generateName).toBe("made-");
      expect(second.object.metadata.name).not.toBe(first.object.metadata.name);
    });

    test("with dryRun answers like a create and stores nothing", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      const dry = await wire.post(at(CONFIG_MAP, ns), aConfigMap("a"), { dryRun: "All" });
      expect(dry.status).toBe(201);
      expect(dry.object.metadata.uid).toMatch(UID);
      expect((await wire.get(at(CONFIG_MAP, ns, "a"))).status).toBe(404);
    });

    test("refuses a dryRun value that it does not know", async () => {
      const ns = await server().namespace();
      const refused = await server().wire.post(at(CONFIG_MAP, ns), aConfigMap("a"), {
        dryRun: "Some",
      });
      expect(refused.status).toBe(422);
      expect(refused.error.reason).toBe("Invalid");
    });
  });

  describe("get", () => {
    test("answers 404 with a Status that names the object", async () => {
      const ns = await server().namespace();
      const missing = await server().wire.get(at(LEASE, ns, "none"));
      expect(missing.status).toBe(404);
      expect(missing.error).toEqual({
        apiVersion: "v1",
        kind: "Status",
        metadata: {},
        status: "Failure",
        code: 404,
        reason: "NotFound",
        message: 'leases.coordination.k8s.io "none" not found',
        details: { name: "none", group: "coordination.k8s.io", kind: "leases" },
      });
    });

    test("answers 404, not an error of its own, in a namespace that does not exist", async () => {
      const missing = await server().wire.get(at(LEASE, unique("missing-"), "none"));
      expect(missing.status).toBe(404);
      expect(missing.error.details).toMatchObject({ name: "none", kind: "leases" });
    });

    test("reads a write at once", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      const created = await wire.post(at(LEASE, ns), aLease("a", "me"));
      expect((await wire.get(at(LEASE, ns, "a"))).object).toEqual(created.object);
    });
  });

  describe("replace", () => {
    test("puts the new content under a new version and keeps uid and creation time", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      const { object } = await wire.post(at(CONFIG_MAP, ns), aConfigMap("a", { a: "1", b: "2" }));
      const replaced = await wire.put(at(CONFIG_MAP, ns, "a"), aConfigMap("a", { c: "3" }));
      expect(replaced.status).toBe(200);
      expect(replaced.object.data).toEqual({ c: "3" });
      expect(replaced.object.metadata.resourceVersion).not.toBe(object.metadata.resourceVersion);
      expect(replaced.object.metadata).toMatchObject({
        uid: object.metadata.uid,
        creationTimestamp: object.metadata.creationTimestamp,
      });
    });

    test("with nothing changed keeps the version", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      const { object } = await wire.post(at(CONFIG_MAP, ns), aConfigMap("a"));
      const replaced = await wire.put(at(CONFIG_MAP, ns, "a"), object);
      expect(replaced.status).toBe(200);
      expect(replaced.object.metadata.resourceVersion).toBe(object.metadata.resourceVersion);
    });

    test("refuses a version that is not the newest with 409 Conflict", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      const { object } = await wire.post(at(LEASE, ns), aLease("a"));
      await wire.put(at(LEASE, ns, "a"), { ...object, spec: { holderIdentity: "first" } });
      const refused = await wire.put(at(LEASE, ns, "a"), {
        ...object,
        spec: { leaseTransitions: 1 },
      });
      expect(refused.status).toBe(409);
      expect(refused.error).toMatchObject({
        reason: "Conflict",
        details: { name: "a", group: "coordination.k8s.io", kind: "leases" },
      });
      expect(refused.error.message).toContain("the object has been modified");
    });

    test("of a Lease without a version is refused: a Lease is a lock", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      await wire.post(at(LEASE, ns), aLease("a", "first"));
      const refused = await wire.put(at(LEASE, ns, "a"), aLease("a", "second"));
      expect(refused.status).toBe(422);
      expect(refused.error.details?.causes).toEqual([
        expect.objectContaining({ field: "metadata.resourceVersion" }),
      ]);
    });

    test("by several writers from one version lets exactly one win", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      const { object } = await wire.post(at(LEASE, ns), aLease("a", "nobody"));
      const answers = await Promise.all(
        ["p", "q", "r"].map((holderIdentity) =>
          wire.put(at(LEASE, ns, "a"), { ...object, spec: { holderIdentity } }),
        ),
      );
      expect(answers.filter(({ status }) => status === 409)).toHaveLength(2);
      const winner = answers.find((answer) => answer.status === 200);
      expect((await wire.get(at(LEASE, ns, "a"))).object.spec).toEqual(winner?.object.spec);
    });

    test("refuses another uid with 409 Conflict", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      await wire.post(at(CONFIG_MAP, ns), aConfigMap("a"));
      const refused = await wire.put(
        at(CONFIG_MAP, ns, "a"),
        aConfigMap("a", { b: "2" }, { uid: "11111111-1111-1111-1111-111111111111" }),
      );
      expect(refused.status).toBe(409);
      expect(refused.error.reason).toBe("Conflict");
    });

    test("of a Lease that is gone is refused with 409 when it names the uid: it makes no new one", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      const { object } = await wire.post(at(LEASE, ns), aLease("a"));
      await wire.delete(at(LEASE, ns, "a"));
      const refused = await wire.put(at(LEASE, ns, "a"), object);
      expect(refused.status).toBe(409);
      expect(refused.error.reason).toBe("Conflict");
    });

    test("refuses another name in the body with 400", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      await wire.post(at(CONFIG_MAP, ns), aConfigMap("a"));
      const refused = await wire.put(at(CONFIG_MAP, ns, "a"), aConfigMap("b"));
      expect(refused.status).toBe(400);
      expect(refused.error.reason).toBe("BadRequest");
    });

    test("of an object that does not exist answers 404", async () => {
      const ns = await server().namespace();
      const refused = await server().wire.put(at(CONFIG_MAP, ns, "a"), aConfigMap("a"));
      expect(refused.status).toBe(404);
      expect(refused.error.reason).toBe("NotFound");
    });

    test("with dryRun changes nothing", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      const { object } = await wire.post(at(CONFIG_MAP, ns), aConfigMap("a"));
      const dry = await wire.put(at(CONFIG_MAP, ns, "a"), aConfigMap("a", { b: "2" }), {
        dryRun: "All",
      });
      expect(dry.object.data).toEqual({ b: "2" });
      expect((await wire.get(at(CONFIG_MAP, ns, "a"))).object).toEqual(object);
    });
  });

  describe("delete", () => {
    test("answers 200 with a Status that names what went", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      const { object } = await wire.post(at(LEASE, ns), aLease("a"));
      const deleted = await wire.delete(at(LEASE, ns, "a"));
      expect(deleted.status).toBe(200);
      expect(deleted.body).toEqual({
        apiVersion: "v1",
        kind: "Status",
        metadata: {},
        status: "Success",
        details: {
          name: "a",
          group: "coordination.k8s.io",
          kind: "leases",
          uid: object.metadata.uid,
        },
      });
      expect((await wire.get(at(LEASE, ns, "a"))).status).toBe(404);
    });

    test("of an object that does not exist answers 404", async () => {
      const ns = await server().namespace();
      expect((await server().wire.delete(at(LEASE, ns, "a"))).status).toBe(404);
    });

    test("honours a uid precondition", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      const { object } = await wire.post(at(LEASE, ns), aLease("a"));
      const refused = await wire.delete(at(LEASE, ns, "a"), {
        preconditions: { uid: "11111111-1111-1111-1111-111111111111" },
      });
      expect(refused.status).toBe(409);
      expect(refused.error.reason).toBe("Conflict");
      const deleted = await wire.delete(at(LEASE, ns, "a"), {
        preconditions: { uid: object.metadata.uid },
      });
      expect(deleted.status).toBe(200);
    });

    test("honours a resourceVersion precondition", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      const { object } = await wire.post(at(LEASE, ns), aLease("a"));
      const { object: newer } = await wire.put(at(LEASE, ns, "a"), {
        ...object,
        spec: { holderIdentity: "someone" },
      });
      const { resourceVersion } = object.metadata;
      const refused = await wire.delete(at(LEASE, ns, "a"), { preconditions: { resourceVersion } });
      expect(refused.status).toBe(409);
      const deleted = await wire.delete(at(LEASE, ns, "a"), {
        preconditions: { resourceVersion: newer.metadata.resourceVersion },
      });
      expect(deleted.status).toBe(200);
    });

    test("with dryRun deletes nothing", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      await wire.post(at(LEASE, ns), aLease("a"));
      expect((await wire.delete(at(LEASE, ns, "a"), undefined, { dryRun: "All" })).status).toBe(
        200,
      );
      expect((await wire.get(at(LEASE, ns, "a"))).status).toBe(200);
    });

    test("frees the name: the next object under it has another uid", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      const { object: first } = await wire.post(at(LEASE, ns), aLease("a"));
      await wire.delete(at(LEASE, ns, "a"));
      const { object: second } = await wire.post(at(LEASE, ns), aLease("a"));
      expect(second.metadata.uid).not.toBe(first.metadata.uid);
    });
  });

  describe("generation", () => {
    test("starts at 1 on a custom or workload object and is absent on a ConfigMap", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      const slice = await wire.post(`/apis/discovery.k8s.io/v1/namespaces/${ns}/endpointslices`, {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { name: "a" },
        addressType: "IPv4",
        endpoints: [],
      });
      expect(slice.object.metadata.generation).toBe(1);
      const map = await wire.post(at(CONFIG_MAP, ns), aConfigMap("a"));
      expect(map.object.metadata).not.toHaveProperty("generation");
    });

    test("of an EndpointSlice grows with its content, not with its annotations", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      const path = `/apis/discovery.k8s.io/v1/namespaces/${ns}/endpointslices`;
      const { object } = await wire.post(path, {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { name: "a" },
        addressType: "IPv4",
        endpoints: [{ addresses: ["192.0.2.1"] }],
      });
      const grown = await wire.put(`${path}/a`, {
        ...object,
        endpoints: [{ addresses: ["192.0.2.2"] }],
      });
      expect(grown.object.metadata.generation).toBe(2);
      const annotated = await wire.put(`${path}/a`, {
        ...grown.object,
        metadata: { ...grown.object.metadata, annotations: { a: "1" } },
      });
      expect(annotated.status).toBe(200);
      expect(annotated.object.metadata.annotations).toEqual({ a: "1" });
      expect(annotated.object.metadata.generation).toBe(2);
    });
  });

  describe("the namespace object", () => {
    test("is labelled with its own name and has phase Active", async () => {
      const ns = await server().namespace();
      const { object } = await server().wire.get(at(NAMESPACE, "", ns));
      expect(object.metadata.labels).toEqual({ "kubernetes.io/metadata.name": ns });
      expect(object.spec).toEqual({ finalizers: ["kubernetes"] });
      expect(object.status).toEqual({ phase: "Active" });
    });
  });
}
