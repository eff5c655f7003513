// Scenarios: an exported service changes, breaks, heals, moves and leaves; the imports follow.

import { expect } from "vitest";
import { ENDPOINT_SLICE, SERVICE, type Service, type ServiceSpec } from "../../src/api/builtin.ts";
import { SERVICE_IMPORT } from "../../src/api/mcs.ts";
import { absentEverywhere, expectUsable, usableEverywhere } from "./outcome.ts";
import { eventually } from "./poll.ts";
import type { Site } from "./site.ts";
import type { DefineScenario } from "./suite.ts";

export function changeScenarios(scenario: DefineScenario): void {
  scenario(
    "ports, affinity and policies of the import and its virtual IP follow the service (R31 R33 R34 R62)",
    async (world) => {
      const [east] = world.sites;
      await east.offer("web", ["10.1.0.1"]);
      world.start();
      await usableEverywhere(world, "web", ["10.1.0.1"]);
      const before = await Promise.all(world.sites.map((site) => site.serviceImport("web")));
      const changed: ServiceSpec = {
        ports: [
          { name: "http", protocol: "TCP", port: 80, appProtocol: "kubernetes.io/h2c" },
          { name: "dns", protocol: "UDP", port: 53 },
        ],
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
        internalTrafficPolicy: "Local",
        trafficDistribution: "PreferClose",
      };
      await east.edit(SERVICE, "web", (service) => ({
        ...service,
        spec: { ...service.spec, ...changed },
      }));
      await world.everywhere("import and derived Service have changed alike", async (site) => {
        expect((await site.serviceImport("web")).spec).toMatchObject(changed);
        expect((await site.derived("web")).spec).toMatchObject(changed);
      });
      const back: ServiceSpec = { ports: [{ name: "http", protocol: "TCP", port: 80 }] };
      await east.edit(SERVICE, "web", ({ spec = {}, ...service }): Service => {
        const { sessionAffinityConfig: _, trafficDistribution: __, ...rest } = spec;
        return {
          ...service,
          spec: { ...rest, ...back, sessionAffinity: "None", internalTrafficPolicy: "Cluster" },
        };
      });
      await world.everywhere("and back", async (site) => {
        const { spec } = await site.serviceImport("web");
        const derived = await site.derived("web");
        expect(spec?.ports).toEqual(back.ports);
        expect(spec).not.toHaveProperty("sessionAffinityConfig");
        expect(spec).not.toHaveProperty("trafficDistribution");
        expect(derived.spec?.ports).toMatchObject(back.ports!);
        expect(derived.spec?.ports).toHaveLength(1);
        expect(derived.spec).toMatchObject({ sessionAffinity: "None" });
        expect(derived.spec?.trafficDistribution).toBeUndefined();
      });
      for (const [index, site] of world.sites.entries()) {
        const now = await site.serviceImport("web");
        expect(now.spec?.ips).toEqual(before[index]!.spec?.ips);
        expect(now.metadata.uid).toBe(before[index]!.metadata.uid);
      }
    },
  );

  scenario(
    "an export without a Service waits for it, an ExternalName Service is refused, and both heal by themselves (R2 R3 R7 R10 R11)",
    async (world) => {
      const [east] = world.sites;
      await east.export("web");
      world.start();
      await eventually("the export says that there is no service", async () => {
        expect(await east.exportConditions("web")).toMatchObject({
          Valid: { status: "False", reason: "NoService" },
          Ready: { status: "False", reason: "Failed" },
        });
      });
      await east.serve("web", ["10.1.0.1"]);
      await usableEverywhere(world, "web", ["10.1.0.1"]);

      await east.edit(
        SERVICE,
        "web",
        (service): Service => ({
          ...service,
          spec: { type: "ExternalName", externalName: "web.example.com" },
        }),
      );
      await absentEverywhere(world, "web");
      await eventually("the export says that the type cannot be exported", async () => {
        const conditions = await east.exportConditions("web");
        expect(conditions).toMatchObject({
          Valid: { status: "False", reason: "InvalidServiceType" },
          Ready: { status: "False", reason: "Failed" },
        });
        expect(conditions).not.toHaveProperty("Conflict");
      });

      await east.edit(
        SERVICE,
        "web",
        (service): Service => ({
          ...service,
          spec: { type: "ClusterIP", ports: [{ name: "http", port: 80, targetPort: 8080 }] },
        }),
      );
      await usableEverywhere(world, "web", ["10.1.0.1"]);

      await east.delete(SERVICE, "web");
      await absentEverywhere(world, "web");
      await eventually("the export says that there is no service again", async () => {
        const { Valid } = await east.exportConditions("web");
        expect(Valid).toMatchObject({ status: "False", reason: "NoService" });
      });
    },
  );

  scenario(
    "the last export takes everything of ours with it and nothing of the user's (R10 R15 R51 R54)",
    async (world) => {
      const [east, west] = world.sites;
      for (const [index, site] of world.sites.entries()) {
        await site.serve("web", [`10.${index + 1}.0.1`]);
      }
      const readOwn = () =>
        Promise.all(
          world.sites.map(async (site) => [
            await site.versions(SERVICE, ({ name }) => name === "web"),
            await site.versions(ENDPOINT_SLICE, ({ name }) => name === site.sliceName("web")),
          ]),
        );
      const before = await readOwn();
      world.start();
      await east.export("web");
      await west.export("web");
      await usableEverywhere(world, "web", ["10.1.0.1", "10.2.0.1"]);
      await east.unexport("web");
      await usableEverywhere(world, "web", ["10.2.0.1"]);
      await west.unexport("web");
      await absentEverywhere(world, "web");
      expect(await readOwn()).toEqual(before);
    },
  );

  scenario(
    "a service moves to another cluster while its consumers keep name, virtual IP and the import itself (R15 R57)",
    async (world) => {
      const [a, b, c] = world.sites as [Site, Site, Site];
      await a.offer("web", ["10.1.0.1"]);
      world.start();
      await usableEverywhere(world, "web", ["10.1.0.1"]);
      const before = await b.serviceImport("web");
      const recording = await world.record(b, SERVICE_IMPORT, "web");
      await c.offer("web", ["10.3.0.1"]);
      await usableEverywhere(world, "web", ["10.1.0.1", "10.3.0.1"]);
      await a.unexport("web");
      await a.delete(SERVICE, "web");
      await usableEverywhere(world, "web", ["10.3.0.1"]);
      const after = await b.serviceImport("web");
      expect(after.metadata.uid).toBe(before.metadata.uid);
      expect(after.spec).toEqual(before.spec);
      expect(after.status?.clusters).toEqual([{ cluster: c.id }]);
      expect(recording.events.map(({ type }) => type)).not.toContain("DELETED");
      await expectUsable(b, "web", ["10.3.0.1"]);
    },
    { clusters: 3 },
  );
}
