// Scenarios: an administrator writes a ServiceImport by hand, and its slices, and gets a virtual IP for it.

import { expect } from "vitest";
import { ENDPOINT_SLICE, SERVICE } from "../../src/api/builtin.ts";
import { SERVICE_IMPORT } from "../../src/api/mcs.ts";
import { anEndpoint, anImport, aSlice } from "./objects.ts";
import { expectAbsent, expectUsable, readVip, usableEverywhere } from "./outcome.ts";
import { eventually } from "./poll.ts";
import type { Site } from "./site.ts";
import type { DefineScenario } from "./suite.ts";
import type { World } from "./world.ts";

/** One that no Service of the cluster has now: other scenarios take addresses at the same time. */
async function pickIp(site: Site): Promise<string> {
  const [a, b] = site.serviceCidrs[0]!.split(".");
  const page = await site.store.list(SERVICE);
  const taken = new Set(page.items.flatMap((service) => service.spec?.clusterIPs ?? []));
  const part = () => 1 + Math.floor(Math.random() * 250);
  let ip: string;
  do ip = `${a}.${b}.${part()}.${part()}`;
  while (taken.has(ip));
  return ip;
}

async function writeImport(world: World, site: Site, ips?: readonly string[]): Promise<void> {
  const { namespace } = world;
  await site.create(
    SERVICE_IMPORT,
    anImport(namespace, "legacy", ips === undefined ? {} : { ips }),
  );
  await site.create(
    ENDPOINT_SLICE,
    aSlice(namespace, "legacy-1", {
      endpoints: [anEndpoint("192.0.2.1")],
      labels: {
        "multicluster.kubernetes.io/service-name": "legacy",
        "multicluster.kubernetes.io/source-cluster": "datacenter",
      },
    }),
  );
}

export function handmadeScenarios(scenario: DefineScenario): void {
  scenario(
    "an import written by hand gets its Service, a virtual IP, and its slices behind it (R60 R61)",
    async (world) => {
      const [east, west] = world.sites;
      world.start();
      await writeImport(world, east);
      await eventually("it can be used", () => expectUsable(east, "legacy", ["192.0.2.1"]));
      const [ip] = await readVip(east, "legacy");
      const derived = await east.derived("legacy");
      const { metadata, spec, status } = await east.serviceImport("legacy");
      expect(east.hasServiceIp(ip!)).toBe(true);
      expect(derived.spec).toMatchObject({
        clusterIP: ip,
        ports: [{ name: "http", protocol: "TCP", port: 80 }],
      });
      expect(derived.spec?.selector).toBeUndefined();
      expect(spec).toMatchObject({ type: "ClusterSetIP", ipFamilies: ["IPv4"] });
      expect(metadata.annotations).toMatchObject({
        "multicluster.kubernetes.io/derived-service": east.derivedName("legacy"),
      });
      expect(metadata.labels ?? {}).toEqual({});
      expect(status?.endpointSliceObjects).toBe("Present");
      const slice = await east.require(ENDPOINT_SLICE, "legacy-1");
      expect(slice.metadata.labels).toMatchObject({
        "kubernetes.io/service-name": east.derivedName("legacy"),
        "endpointslice.kubernetes.io/managed-by": "scenarios.example.com",
      });
      await world.settle();
      await expectAbsent(west, "legacy");
    },
  );

  scenario("an import written by hand may ask for its address (R61)", async (world) => {
    const [east] = world.sites;
    const ip = await pickIp(east);
    world.start();
    await writeImport(world, east, [ip]);
    await eventually("it has the address that was asked for", async () => {
      await expectUsable(east, "legacy", ["192.0.2.1"]);
      expect((await east.derived("legacy")).spec?.clusterIP).toBe(ip);
      expect(await readVip(east, "legacy")).toEqual([ip]);
    });
  });

  const refusals = [
    {
      sentence: "an address that the cluster does not give out",
      ask: async () => "192.0.2.99",
    },
    {
      sentence: "an address that another Service has",
      ask: async (site: Site) => (await site.serve("occupant")).spec!.clusterIP!,
    },
  ];
  for (const { sentence, ask } of refusals) {
    scenario(
      `${sentence} is refused in words, and left out is given freely (R18 R61)`,
      async (world) => {
        const [east] = world.sites;
        const ip = await ask(east);
        world.start();
        await writeImport(world, east, [ip]);
        await eventually("the import says why", async () => {
          const { Ready } = await east.importConditions("legacy");
          expect(Ready).toMatchObject({ status: "False", reason: "IPNotAvailable" });
          expect(Ready?.message).toContain(ip);
          expect(Ready?.message).toContain("Leave spec.ips out");
        });
        expect(await east.get(SERVICE, east.derivedName("legacy"))).toBeUndefined();
        // What the administrator wrote stays: we only report.
        expect((await east.serviceImport("legacy")).spec?.ips).toEqual([ip]);
        await east.edit(SERVICE_IMPORT, "legacy", ({ spec, ...object }) => {
          const { ips: _, ...rest } = spec!;
          return { ...object, spec: rest };
        });
        await eventually("it can be used", () => expectUsable(east, "legacy", ["192.0.2.1"]));
        expect(east.hasServiceIp((await readVip(east, "legacy"))[0]!)).toBe(true);
      },
    );
  }

  scenario(
    "deleting the import takes its Service along and leaves the slices (R60)",
    async (world) => {
      const [east] = world.sites;
      world.start();
      await writeImport(world, east);
      await eventually("it can be used", () => expectUsable(east, "legacy", ["192.0.2.1"]));
      await east.delete(SERVICE_IMPORT, "legacy");
      await eventually("its Service is gone", async () => {
        expect(await east.get(SERVICE, east.derivedName("legacy"))).toBeUndefined();
      });
      await world.settle();
      expect(await east.get(SERVICE_IMPORT, "legacy")).toBeUndefined();
      expect((await east.require(ENDPOINT_SLICE, "legacy-1")).endpoints).toEqual([
        anEndpoint("192.0.2.1"),
      ]);
    },
  );

  scenario("imports by hand and imports from exports live side by side (R19)", async (world) => {
    const [east] = world.sites;
    world.start();
    await writeImport(world, east);
    await east.offer("web", ["10.1.0.1"]);
    await usableEverywhere(world, "web", ["10.1.0.1"]);
    await eventually("both can be used", () => expectUsable(east, "legacy", ["192.0.2.1"]));
    await world.settle();
    await world.restart();
    world.forgetWrites();
    await world.settle();
    expect(world.writes()).toEqual([]);
  });
}
