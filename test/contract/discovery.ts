// Contract: what a client learns of a server, and how it answers what it does not serve.

import { describe, expect, test } from "vitest";
import { CONFIG_MAP, LEASE, NAMESPACE } from "../../src/api/builtin.ts";
import { aConfigMap } from "./objects.ts";
import type { Server } from "./server.ts";
import { at } from "./wire.ts";

interface ApiResource {
  readonly name: string;
  readonly verbs: readonly string[];
}

export function discoveryContract(server: Server): void {
  const resourcesOf = async (path: string) =>
    (await server().wire.get(path)).object.resources as readonly ApiResource[];

  describe("discovery", () => {
    test("names the core version", async () => {
      const { body } = await server().wire.get("/api");
      expect(body).toMatchObject({ kind: "APIVersions", versions: ["v1"] });
    });

    test("names the groups with their versions and the preferred one", async () => {
      const { body } = await server().wire.get("/apis");
      expect(body).toMatchObject({ kind: "APIGroupList", apiVersion: "v1" });
      const { groups } = body as { groups: readonly { readonly name: string }[] };
      for (const name of ["discovery.k8s.io", "coordination.k8s.io", "apiextensions.k8s.io"]) {
        expect(groups).toContainEqual(
          expect.objectContaining({
            name,
            preferredVersion: { groupVersion: `${name}/v1`, version: "v1" },
          }),
        );
      }
    });

    test("names one group", async () => {
      const { body } = await server().wire.get("/apis/discovery.k8s.io");
      expect(body).toEqual({
        kind: "APIGroup",
        apiVersion: "v1",
        name: "discovery.k8s.io",
        versions: [{ groupVersion: "discovery.k8s.io/v1", version: "v1" }],
        preferredVersion: { groupVersion: "discovery.k8s.io/v1", version: "v1" },
      });
    });

    test("names the resources of a version with verbs, scope and short names", async () => {
      const resources = await resourcesOf("/api/v1");
      expect(resources).toContainEqual(
        expect.objectContaining({
          name: "services",
          singularName: "service",
          namespaced: true,
          kind: "Service",
          shortNames: ["svc"],
          categories: ["all"],
          verbs: [
            "create",
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "update",
            "watch",
          ],
        }),
      );
      expect(resources).toContainEqual(
        expect.objectContaining({ name: "namespaces", namespaced: false, shortNames: ["ns"] }),
      );
      expect(resources).toContainEqual(
        expect.objectContaining({ name: "services/status", verbs: ["get", "patch", "update"] }),
      );
    });

    test.each([
      ["/api/v1", "pods", "po"],
      ["/api/v1", "configmaps", "cm"],
      ["/api/v1", "events", "ev"],
      ["/api/v1", "serviceaccounts", "sa"],
      ["/apis/apiextensions.k8s.io/v1", "customresourcedefinitions", "crd"],
    ])("of %s gives %s the short name %s", async (path, name, shortName) => {
      const found = (await resourcesOf(path)).find((resource) => resource.name === name);
      expect(found).toMatchObject({ shortNames: expect.arrayContaining([shortName]) });
    });

    test("tells the version of the server", async () => {
      const { object, status } = await server().wire.get("/version");
      expect(status).toBe(200);
      expect(object.gitVersion).toMatch(/^v1\.\d+\./);
      expect(object.major).toBe("1");
      expect(object.minor).toMatch(/^\d+\+?$/);
    });

    test.each(["/healthz", "/livez", "/readyz"])("answers %s with ok", async (path) => {
      const { status, body } = await server().wire.get(path);
      expect(status).toBe(200);
      expect(body).toBe("ok");
    });

    test("publishes OpenAPI v3", async () => {
      const { status, body } = await server().wire.get("/openapi/v3");
      expect(status).toBe(200);
      // Real servers send this JSON as text/plain.
      const document: unknown = typeof body === "string" ? JSON.parse(body) : body;
      expect(Object.keys((document as { paths: object }).paths)).toEqual(
        expect.arrayContaining(["api/v1", "apis/discovery.k8s.io/v1"]),
      );
    });
  });

  describe("what is not served", () => {
    test.each([
      ["an unknown path", "/nothing/here"],
      ["an unknown group", "/apis/none.example.org/v1/things"],
      ["an unknown version", "/apis/coordination.k8s.io/v9/leases"],
      ["an unknown resource", "/api/v1/namespaces/default/gadgets"],
      ["an unknown subresource", "/api/v1/namespaces/default/configmaps/a/status"],
    ])("%s is 404", async (_case, path) => {
      expect((await server().wire.get(path)).status).toBe(404);
    });

    test("the 404 of an unknown resource is a Status", async () => {
      const { error } = await server().wire.get("/api/v1/namespaces/default/gadgets");
      expect(error).toMatchObject({
        kind: "Status",
        status: "Failure",
        reason: "NotFound",
        code: 404,
        message: "the server could not find the requested resource",
      });
    });

    test.each([
      ["POST to an object", "POST", at(CONFIG_MAP, "default", "a")],
      ["PUT to a collection", "PUT", at(CONFIG_MAP, "default")],
      ["POST across namespaces", "POST", at(CONFIG_MAP, "")],
      ["DELETE of all namespaces", "DELETE", at(NAMESPACE, "")],
    ])("%s is 405", async (_case, method, path) => {
      const refused = await server().wire.send(method, path, { body: aConfigMap("a") });
      expect(refused.status).toBe(405);
      expect(refused.error).toMatchObject({ kind: "Status", reason: "MethodNotAllowed" });
    });

    test("a body of an unknown content type is 415", async () => {
      const refused = await server().wire.send("POST", at(CONFIG_MAP, "default"), {
        body: "<xml/>",
        headers: { "content-type": "application/xml" },
      });
      expect(refused.status).toBe(415);
    });

    test("an answer in an unknown format is 406", async () => {
      const refused = await server().wire.send("GET", at(LEASE, "default"), {
        headers: { accept: "application/xml" },
      });
      expect(refused.status).toBe(406);
    });

    test("a YAML body is read like a JSON one", async () => {
      const ns = await server().namespace();
      const created = await server().wire.send("POST", at(CONFIG_MAP, ns), {
        body: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n",
        headers: { "content-type": "application/yaml" },
      });
      expect(created.status).toBe(201);
    });
  });

  describe("credentials", () => {
    test("wrong ones are refused with 401 Unauthorized", async () => {
      const refused = await server().wire.send("GET", at(NAMESPACE, ""), {
        anonymous: true,
        headers: { authorization: "Bearer wrong" },
      });
      expect(refused.status).toBe(401);
      expect(refused.error).toMatchObject({
        kind: "Status",
        status: "Failure",
        reason: "Unauthorized",
        code: 401,
        message: "Unauthorized",
      });
    });

    test("none are refused, with 401 or 403", async () => {
      const refused = await server().wire.send("GET", at(NAMESPACE, ""), { anonymous: true });
      // A server may let nobody in, or let "anonymous" in with no rights.
      expect([401, 403]).toContain(refused.status);
      expect(refused.error.kind).toBe("Status");
    });
  });
}
