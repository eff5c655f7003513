// Scenarios: from a ServiceExport to the import in every cluster, and what of the service travels.

import { expect } from "vitest";
import { SERVICE } from "../../src/api/builtin.ts";
import { SERVICE_EXPORT } from "../../src/api/mcs.ts";
import { anEndpoint, anExport } from "./objects.ts";
import { absentEverywhere, usableEverywhere } from "./outcome.ts";
import { eventually } from "./poll.ts";
import type { DefineScenario } from "./suite.ts";

export function exportScenarios(scenario: DefineScenario): void {
  scenario(
    "an exported service gets an import with a virtual IP in every cluster, the exporting one included (R1 R4 R13 R16 R17 R41 R57 R60)",
    async (world) => {
      const [east] = world.sites;
      await east.offer("web", ["10.1.0.1"], { type: "NodePort", sessionAffinity: "ClientIP" });
      world.start();
      await usableEverywhere(world, "web", ["10.1.0.1"]);
      for (const site of world.sites) {
        const { metadata, spec, status } = await site.serviceImport("web");
        const derived = await site.derived("web");
        expect(spec).toEqual({
          type: "ClusterSetIP",
          ports: [{ name: "http", protocol: "TCP", port: 80 }],
          ips: [derived.spec?.clusterIP],
          ipFamilies: ["IPv4"],
          sessionAffinity: "ClientIP",
          sessionAffinityConfig: { clientIP: { timeoutSeconds: 10_800 } },
          internalTrafficPolicy: "Cluster",
        });
        expect(site.hasServiceIp(derived.spec!.clusterIP!)).toBe(true);
        expect(derived.spec).toMatchObject({ type: "ClusterIP", sessionAffinity: "ClientIP" });
        expect(derived.spec?.selector).toBeUndefined();
        expect(derived.metadata.ownerReferences).toMatchObject([{ uid: metadata.uid }]);
        expect(metadata.annotations).toMatchObject({
          "multicluster.kubernetes.io/derived-service": site.derivedName("web"),
        });
        expect(status).toMatchObject({
          clusters: [{ cluster: east.id }],
          endpointSliceObjects: "Present",
          conditions: [
            {
              type: "Ready",
              status: "True",
              reason: "Ready",
              observedGeneration: metadata.generation,
            },
          ],
        });
      }
    },
  );

  scenario(
    "imported slices carry the source's endpoints under our labels, in every cluster (R46 R47 R48 R49 R50 R51)",
    async (world) => {
      const [east] = world.sites;
      await east.offer("web", [
        anEndpoint("10.1.0.1", { zone: "east-1a", nodeName: "node-1" }),
        anEndpoint("10.1.0.2", {
          conditions: { ready: false, serving: true, terminating: true },
        }),
      ]);
      world.start();
      await usableEverywhere(world, "web", ["10.1.0.1"]);
      for (const site of world.sites) {
        const [slice, ...others] = await site.slices("web");
        expect(others).toEqual([]);
        expect(slice?.metadata.labels).toEqual({
          "multicluster.kubernetes.io/service-name": "web",
          "multicluster.kubernetes.io/source-cluster": east.id,
          "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.isthmus.dev",
          "kubernetes.io/service-name": site.derivedName("web"),
        });
        expect(slice).toMatchObject({
          addressType: "IPv4",
          ports: [{ name: "http", protocol: "TCP", port: 8080 }],
        });
        expect(slice?.endpoints).toEqual([
          {
            addresses: ["10.1.0.1"],
            conditions: { ready: true, serving: true, terminating: false },
            zone: "east-1a",
            ...(site === east ? { nodeName: "node-1" } : {}),
          },
          {
            addresses: ["10.1.0.2"],
            conditions: { ready: false, serving: true, terminating: true },
          },
        ]);
      }
    },
  );

  scenario(
    "the export says that it is valid, ready and without conflict (R5 R6 R8 R45)",
    async (world) => {
      const [east] = world.sites;
      await east.offer("web");
      world.start();
      await eventually("the export has its conditions", async () => {
        const { metadata } = await east.require(SERVICE_EXPORT, "web");
        const observedGeneration = metadata.generation;
        expect(await east.exportConditions("web")).toMatchObject({
          Valid: { status: "True", reason: "Valid", observedGeneration },
          Ready: { status: "True", reason: "Exported", observedGeneration },
          Conflict: { status: "False", reason: "NoConflicts", observedGeneration },
        });
      });
    },
  );

  scenario(
    "what is not exported stays at home, even under the name of something exported elsewhere (R1)",
    async (world) => {
      const [east, west] = world.sites;
      await east.serve("private", ["10.1.0.9"]);
      await west.serve("web", ["10.2.0.1"]);
      await east.offer("web", ["10.1.0.1"]);
      world.start();
      await usableEverywhere(world, "web", ["10.1.0.1"]);
      await world.settle();
      await absentEverywhere(world, "private");
      await usableEverywhere(world, "web", ["10.1.0.1"]);
      expect((await west.serviceImport("web")).status?.clusters).toEqual([{ cluster: east.id }]);
    },
  );

  scenario(
    "exports of several clusters make one import with all endpoints (R13 R16 R47)",
    async (world) => {
      // Started first and exported in reverse, so that the list of clusters is sorted by us and not by chance.
      world.start();
      for (const [index, site] of [...world.sites.entries()].toReversed()) {
        await site.offer("web", [`10.${index + 1}.0.1`]);
      }
      const addresses = world.sites.map((_, index) => `10.${index + 1}.0.1`);
      await usableEverywhere(world, "web", addresses);
      const clusters = world.sites.map(({ id }) => ({ cluster: id }));
      await world.everywhere("the import names all sources, sorted", async (site) => {
        expect((await site.serviceImport("web")).status?.clusters).toEqual(clusters);
        const sources = (await site.slices("web")).map(
          ({ metadata }) => metadata.labels?.["multicluster.kubernetes.io/source-cluster"],
        );
        expect(sources).toEqual(world.sites.map(({ id }) => id));
      });
    },
  );

  scenario(
    "only exported labels and annotations travel, and those that are no longer exported go (R9 R35 R36)",
    async (world) => {
      const [east, west] = world.sites;
      await east.serve("web");
      await east.edit(SERVICE, "web", (service) => ({
        ...service,
        metadata: { ...service.metadata, labels: { secret: "a" }, annotations: { secret: "b" } },
      }));
      const own = anExport(world.namespace, "web", {
        exportedLabels: { team: "shop", tier: "front", "isthmus.dev/managed": "no" },
        exportedAnnotations: {
          "example.com/doc": "page",
          "multicluster.kubernetes.io/derived-service": "mine",
        },
      });
      await east.create(SERVICE_EXPORT, {
        ...own,
        metadata: { ...own.metadata, labels: { secret: "c" }, annotations: { secret: "d" } },
      });
      world.start();
      await world.everywhere("the import carries what is exported, and ours", async (site) => {
        const { metadata } = await site.serviceImport("web");
        expect(metadata.labels).toEqual({
          team: "shop",
          tier: "front",
          "isthmus.dev/managed": "true",
        });
        expect(metadata.annotations).toMatchObject({
          "example.com/doc": "page",
          "multicluster.kubernetes.io/derived-service": site.derivedName("web"),
        });
        expect(metadata.annotations).not.toHaveProperty("secret");
      });
      await east.edit(SERVICE_EXPORT, "web", (object) => ({
        ...object,
        spec: { exportedLabels: { team: "shop" } },
      }));
      await world.everywhere("the import lost what is not exported any more", async (site) => {
        const { metadata } = await site.serviceImport("web");
        expect(metadata.labels).toEqual({ team: "shop", "isthmus.dev/managed": "true" });
        expect(metadata.annotations).not.toHaveProperty("example.com/doc");
      });
      await eventually("the export is judged anew", async () => {
        const { Valid } = await east.exportConditions("web");
        expect(Valid?.observedGeneration).toBe(2);
      });
      expect(await west.get(SERVICE_EXPORT, "web")).toBeUndefined();
    },
  );
}
