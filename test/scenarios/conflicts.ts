// Scenarios: exports that disagree, what comes of it in every cluster, and what the owners of the exports read.

import { expect } from "vitest";
import { SERVICE, type ServicePort } from "../../src/api/builtin.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT } from "../../src/api/mcs.ts";
import { HEADLESS } from "./objects.ts";
import { expectUsable, readVip, untilYounger, usableEverywhere } from "./outcome.ts";
import { eventually } from "./poll.ts";
import type { Site } from "./site.ts";
import type { DefineScenario } from "./suite.ts";

async function expectConflict(site: Site, reason: string, message: string): Promise<void> {
  const { Conflict } = await site.exportConditions("web");
  expect(Conflict).toMatchObject({ status: "True", reason, message });
}

export function conflictScenarios(scenario: DefineScenario): void {
  scenario(
    "when some of many clusters disagree on the type, all exports say who won, why, and how many disagree (R20 R23 R30 R43 R44)",
    async (world) => {
      world.start();
      const dissent = world.sites.length === 5 ? 2 : 1;
      for (const [index, site] of world.sites.entries()) {
        const isDissenting = index >= world.sites.length - dissent;
        await site.offer("web", [`10.${index + 1}.0.1`], isDissenting ? HEADLESS : {});
      }
      const [oldest] = world.sites;
      const count = `${dissent}/${world.sites.length} clusters disagree.`;
      await world.everywhere("the export reports the conflict", (site) =>
        expectConflict(
          site,
          "TypeConflict",
          `Conflicting type. Using "ClusterSetIP" from oldest service export in "${oldest.id}". ${count}`,
        ),
      );
      const addresses = world.sites.map((_, index) => `10.${index + 1}.0.1`);
      await usableEverywhere(world, "web", addresses);
      for (const site of world.sites) {
        expect((await site.serviceImport("web")).spec?.type).toBe("ClusterSetIP");
      }
    },
    { clusters: "all" },
  );

  scenario(
    "the older export wins over the lower cluster id, and a newcomer changes nothing that is in force (R20 R21 R23)",
    async (world) => {
      const [east, west] = world.sites;
      world.start();
      await west.offer("web", ["10.2.0.1"], { sessionAffinity: "ClientIP" });
      await usableEverywhere(world, "web", ["10.2.0.1"]);
      const before = await Promise.all(world.sites.map((site) => site.serviceImport("web")));
      await untilYounger(await west.require(SERVICE_EXPORT, "web"));
      await east.offer("web", ["10.1.0.1"]);
      await usableEverywhere(world, "web", ["10.1.0.1", "10.2.0.1"]);
      const message = `Conflicting session affinity. Using "ClientIP" from oldest service export in "${west.id}". 1/2 clusters disagree.`;
      for (const site of [east, west]) {
        await eventually("the export reports the conflict", () =>
          expectConflict(site, "SessionAffinityConflict", message),
        );
      }
      for (const [index, site] of world.sites.entries()) {
        expect((await site.serviceImport("web")).spec).toEqual(before[index]!.spec);
      }
    },
  );

  scenario(
    "un-exporting the oldest turns the import headless in place, and back to a virtual IP later (R15 R22 R30 R58 R63)",
    async (world) => {
      const [east, west] = world.sites;
      world.start();
      await east.offer("web", ["10.1.0.1"]);
      await west.offer("web", ["10.2.0.1"], HEADLESS);
      await usableEverywhere(world, "web", ["10.1.0.1", "10.2.0.1"]);
      const before = await Promise.all(world.sites.map((site) => site.serviceImport("web")));
      const recordings = await Promise.all(
        world.sites.map((site) => world.record(site, SERVICE_IMPORT, "web")),
      );
      await east.unexport("web");
      await world.everywhere("the import is headless and has no address", async (site) => {
        await expectUsable(site, "web", ["10.2.0.1"]);
        const { spec } = await site.serviceImport("web");
        expect(spec).toMatchObject({ type: "Headless", ipFamilies: ["IPv4"] });
        expect(spec).not.toHaveProperty("ips");
        expect(await site.get(SERVICE, site.derivedName("web"))).toBeUndefined();
        const [slice] = await site.slices("web");
        expect(slice?.metadata.labels).not.toHaveProperty("kubernetes.io/service-name");
      });
      await eventually("the conflict is over", async () => {
        expect(await west.exportConditions("web")).toMatchObject({
          Conflict: { status: "False", reason: "NoConflicts" },
        });
      });
      await east.export("web");
      await usableEverywhere(world, "web", ["10.1.0.1", "10.2.0.1"]);
      await west.unexport("web");
      await world.everywhere("the import has a virtual IP again", async (site) => {
        await expectUsable(site, "web", ["10.1.0.1"]);
        const [ip] = await readVip(site, "web");
        expect((await site.derived("web")).spec?.clusterIP).toBe(ip);
      });
      for (const [index, site] of world.sites.entries()) {
        expect((await site.serviceImport("web")).metadata.uid).toBe(before[index]!.metadata.uid);
        expect(recordings[index]!.events.map(({ type }) => type)).not.toContain("DELETED");
      }
    },
  );

  const tcp: ServicePort = { name: "tcp", protocol: "TCP", port: 42, targetPort: 8042 };
  const udp: ServicePort = { name: "udp", protocol: "UDP", port: 42, targetPort: 8042 };
  const cases: readonly {
    readonly sentence: string;
    readonly younger: readonly ServicePort[];
    readonly ports: readonly string[];
    readonly youngerSlice: readonly string[] | undefined;
  }[] = [
    {
      sentence: "ports that only some clusters have are added, and lead to those clusters only",
      younger: [tcp, { name: "stcp", protocol: "SCTP", port: 142, targetPort: 8142 }],
      ports: ["tcp 42/TCP", "udp 42/UDP", "stcp 142/SCTP"],
      youngerSlice: ["tcp 8042/TCP", "stcp 8142/SCTP"],
    },
    {
      sentence: "a port name with another number is left out, and the cluster gets no traffic",
      younger: [{ name: "tcp", protocol: "TCP", port: 43, targetPort: 8043 }],
      ports: ["tcp 42/TCP", "udp 42/UDP"],
      youngerSlice: undefined,
    },
    {
      sentence: "another name with another number is one more port",
      younger: [{ name: "tcp2", protocol: "TCP", port: 4242, targetPort: 42 }],
      ports: ["tcp 42/TCP", "udp 42/UDP", "tcp2 4242/TCP"],
      youngerSlice: ["tcp2 42/TCP"],
    },
    {
      sentence: "the same number under another name is left out",
      younger: [{ name: "other", protocol: "TCP", port: 42, targetPort: 8042 }, udp],
      ports: ["tcp 42/TCP", "udp 42/UDP"],
      youngerSlice: ["udp 8042/UDP"],
    },
  ];
  for (const { sentence, younger, ports, youngerSlice } of cases) {
    scenario(`${sentence} (R24 R26 R28 R29)`, async (world) => {
      const [east, west] = world.sites;
      world.start();
      await east.offer("web", ["10.1.0.1"], { ports: [tcp, udp] });
      await west.offer("web", ["10.2.0.1"], { ports: younger });
      await world.everywhere("the import has the merged ports", async (site) => {
        await expectUsable(
          site,
          "web",
          youngerSlice === undefined ? ["10.1.0.1"] : ["10.1.0.1", "10.2.0.1"],
        );
        const { spec } = await site.serviceImport("web");
        expect(spec?.ports.map(describePort)).toEqual(ports);
        expect((await site.derived("web")).spec?.ports?.map(describePort)).toEqual(ports);
        const [slice] = await site.slices("web", west.id);
        expect(slice?.ports?.map(describePort)).toEqual(youngerSlice);
      });
      for (const site of [east, west]) {
        await eventually(`${site.id} reports the conflict`, async () => {
          const { Conflict } = await site.exportConditions("web");
          expect(Conflict).toMatchObject({ status: "True", reason: "PortConflict" });
          expect(Conflict?.message).toContain(
            `Conflicting ports. Using "${ports.join(", ")}", all ports merged with precedence to oldest service export in "${east.id}". 1/2 clusters disagree.`,
          );
        });
      }
    });
  }

  scenario("several conflicts are all named, in a fixed order (R32 R33 R34 R45)", async (world) => {
    const [east, west] = world.sites;
    world.start();
    await east.serve("web", ["10.1.0.1"]);
    await east.export("web", { exportedLabels: { team: "a" } });
    await west.serve("web", ["10.2.0.1"], {
      sessionAffinity: "ClientIP",
      internalTrafficPolicy: "Local",
      trafficDistribution: "PreferClose",
    });
    await west.export("web", { exportedLabels: { team: "b" } });
    for (const site of [east, west]) {
      await eventually(`${site.id} names all of them`, async () => {
        const { Conflict } = await site.exportConditions("web");
        expect(Conflict?.reason).toBe(
          "SessionAffinityConflict,LabelsConflict,InternalTrafficPolicyConflict,TrafficDistributionConflict",
        );
        expect(Conflict?.message.split("\n")).toHaveLength(4);
      });
    }
  });
}

function describePort(port: {
  readonly name?: string;
  readonly port?: number;
  readonly protocol?: string;
}): string {
  return `${port.name} ${port.port}/${port.protocol}`;
}
