// Contract: the kinds that Isthmus itself installs, as an API server sees them. They get a group of their own:
// other suites run controllers on the real ones, on the same server and at the same time.

import { readdir, readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parse } from "yaml";
import {
  CUSTOM_RESOURCE_DEFINITION as CRD,
  type CustomResourceDefinition,
} from "../../src/api/builtin.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT } from "../../src/api/mcs.ts";
import type { Resource } from "../../src/api/object.ts";
import { unique } from "./objects.ts";
import { type Server, SOON } from "./server.ts";
import { at } from "./wire.ts";

const FOLDER = new URL("../../crds/", import.meta.url);
type Fields = Readonly<Record<string, unknown>>;

export function mcsContract(server: Server): void {
  const GROUP = `${unique("g")}.example.org`;
  const IMPORT: Resource = { ...SERVICE_IMPORT, group: GROUP };
  const EXPORT: Resource = { ...SERVICE_EXPORT, group: GROUP };

  function regroup(definition: CustomResourceDefinition): CustomResourceDefinition {
    // Short names belong to whoever asks first, whatever the group.
    const { shortNames: _taken, ...names } = definition.spec.names;
    return {
      ...definition,
      metadata: { ...definition.metadata, name: `${names.plural}.${GROUP}` },
      spec: { ...definition.spec, group: GROUP, names },
    };
  }
  async function install(definition: CustomResourceDefinition): Promise<void> {
    const { wire } = server();
    await wire.patch(at(CRD, "", definition.metadata.name!), "apply", definition, {
      fieldManager: "contract",
      force: true,
      fieldValidation: "Strict",
    });
  }
  const isEstablished = async (name: string) => {
    const { object } = await server().wire.get(at(CRD, "", name));
    const conditions = (object.status?.conditions ?? []) as readonly Fields[];
    return conditions.some(({ type, status }) => type === "Established" && status === "True");
  };
  const anImport = (spec: Fields = {}) => ({
    apiVersion: `${GROUP}/v1beta1`,
    kind: "ServiceImport",
    metadata: { name: "a" },
    spec: { type: "ClusterSetIP", ports: [{ port: 80, protocol: "TCP" }], ...spec },
  });
  const anExport = {
    apiVersion: `${GROUP}/v1beta1`,
    kind: "ServiceExport",
    metadata: { name: "a" },
  };

  describe("our own kinds", () => {
    let definitions: readonly CustomResourceDefinition[];
    beforeAll(async () => {
      const files = (await readdir(FOLDER)).filter((file) => file.endsWith(".yaml"));
      definitions = await Promise.all(
        files.map(async (file) => regroup(parse(await readFile(new URL(file, FOLDER), "utf8")))),
      );
      await Promise.all(definitions.map(install));
      await vi.waitFor(async () => {
        for (const { metadata } of definitions) {
          expect(await isEstablished(metadata.name!)).toBe(true);
        }
        for (const resource of [IMPORT, EXPORT]) {
          expect((await server().wire.get(at(resource, ""))).status).toBe(200);
        }
      }, SOON);
    });

    afterAll(async () => {
      await Promise.all(
        definitions.map(({ metadata }) => server().wire.delete(at(CRD, "", metadata.name!))),
      );
    });

    test("are accepted as they are in crds/, with nothing unknown in them", async () => {
      expect(definitions.length).toBeGreaterThan(0);
      for (const definition of definitions) {
        const answer = await server().wire.patch(
          at(CRD, "", definition.metadata.name!),
          "apply",
          definition,
          { fieldManager: "contract", force: true, fieldValidation: "Strict" },
        );
        expect(answer.status).toBe(200);
        expect(answer.headers).not.toHaveProperty("warning");
      }
    });

    test("applied again change nothing", async () => {
      for (const definition of definitions) {
        const path = at(CRD, "", definition.metadata.name!);
        const before = await server().wire.get(path);
        await install(definition);
        const after = await server().wire.get(path);
        expect(after.object.metadata.resourceVersion).toBe(before.object.metadata.resourceVersion);
      }
    });

    test("a ServiceImport keeps every field of the specification", async () => {
      const ns = await server().namespace();
      const spec = {
        type: "ClusterSetIP",
        ports: [{ name: "web", port: 80, protocol: "TCP", appProtocol: "kubernetes.io/h2c" }],
        ips: ["10.0.0.1", "fd00::1"],
        ipFamilies: ["IPv4", "IPv6"],
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
        internalTrafficPolicy: "Cluster",
        trafficDistribution: "PreferClose",
      };
      const created = await server().wire.post(at(IMPORT, ns), anImport(spec), {
        fieldValidation: "Strict",
      });
      expect(created.status).toBe(201);
      expect(created.object.spec).toEqual(spec);
    });

    test.each<[string, Fields]>([
      ["an unknown type", { type: "Magic" }],
      ["no type", { type: undefined }],
      ["no ports at all", { ports: undefined }],
      ["three addresses", { ips: ["10.0.0.1", "10.0.0.2", "10.0.0.3"] }],
    ])("a ServiceImport with %s is refused with 422", async (_case, spec) => {
      const ns = await server().namespace();
      expect((await server().wire.post(at(IMPORT, ns), anImport(spec))).status).toBe(422);
    });

    test("a ServiceImport takes an empty list of ports", async () => {
      const ns = await server().namespace();
      const created = await server().wire.post(
        at(IMPORT, ns),
        anImport({ type: "Headless", ports: [] }),
      );
      expect(created.status).toBe(201);
      expect(created.object.spec?.ports).toEqual([]);
    });

    test("a ServiceImport's ports belong to one manager: the list is atomic", async () => {
      const ns = await server().namespace();
      const path = at(IMPORT, ns, "a");
      await server().wire.patch(path, "apply", anImport(), { fieldManager: "one" });
      const refused = await server().wire.patch(
        path,
        "apply",
        anImport({ ports: [{ port: 81, protocol: "TCP" }] }),
        { fieldManager: "two" },
      );
      expect(refused.status).toBe(409);
      expect(refused.error.details?.causes).toEqual([
        expect.objectContaining({ field: ".spec.ports" }),
      ]);
    });

    test("a ServiceImport's status lists clusters once each, and says where endpoints are", async () => {
      const ns = await server().namespace();
      const path = at(IMPORT, ns, "a", "status");
      await server().wire.post(at(IMPORT, ns), anImport());
      const status = {
        clusters: [{ cluster: "east" }, { cluster: "west" }],
        endpointSliceObjects: "Present",
      };
      const written = await server().wire.patch(path, "merge", { status });
      expect(written.status).toBe(200);
      expect(written.object.status).toEqual(status);
      const twice = { clusters: [{ cluster: "east" }, { cluster: "east" }] };
      expect((await server().wire.patch(path, "merge", { status: twice })).status).toBe(422);
      const other = { endpointSliceObjects: "Maybe" };
      expect((await server().wire.patch(path, "merge", { status: other })).status).toBe(422);
    });

    test("a ServiceExport needs no spec, and takes conditions through /status", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      expect((await wire.post(at(EXPORT, ns), anExport)).status).toBe(201);
      const condition = {
        type: "Valid",
        status: "True",
        reason: "Valid",
        message: "",
        lastTransitionTime: "2026-01-02T03:04:05Z",
        observedGeneration: 1,
      };
      const path = at(EXPORT, ns, "a", "status");
      const written = await wire.patch(
        path,
        "apply",
        { ...anExport, status: { conditions: [condition] } },
        { fieldManager: "one" },
      );
      expect(written.status).toBe(200);
      expect(written.object.status).toEqual({ conditions: [condition] });
      const empty = { ...condition, reason: "" };
      const refused = await wire.patch(path, "merge", { status: { conditions: [empty] } });
      expect(refused.status).toBe(422);
    });

    test("a ServiceExport is the same under v1alpha1 and v1beta1", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      const created = await wire.post(at({ ...EXPORT, version: "v1alpha1" }, ns), {
        ...anExport,
        apiVersion: `${GROUP}/v1alpha1`,
        spec: { exportedLabels: { team: "red" } },
      });
      expect(created.status).toBe(201);
      const { object } = await wire.get(at({ ...EXPORT, version: "v1beta1" }, ns, "a"));
      expect(object.spec).toEqual({ exportedLabels: { team: "red" } });
      expect(object.metadata.uid).toBe(created.object.metadata.uid);
    });
  });
}
