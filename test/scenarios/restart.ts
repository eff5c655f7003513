// Scenarios: central stops and starts. Nobody notices, and what happened meanwhile is made up for.

import { expect } from "vitest";
import { ENDPOINT_SLICE, SERVICE } from "../../src/api/builtin.ts";
import { HEADLESS, anEndpoint } from "./objects.ts";
import { absentEverywhere, expectUsable, readVip, usableEverywhere } from "./outcome.ts";
import { eventually } from "./poll.ts";
import type { DefineScenario } from "./suite.ts";
import type { World } from "./world.ts";

const PACE = 4;

/** A bit of everything: families, types, conflicts, exported labels, a service of each cluster. */
async function populate(world: World): Promise<void> {
  const [east, west] = world.sites;
  await east.serve("labelled", ["10.1.0.1"]);
  await east.export("labelled", {
    exportedLabels: { team: "shop" },
    exportedAnnotations: { a: "b" },
  });
  await east.offer("dual", ["10.1.0.2", "fd00:1::2"], {
    ipFamilyPolicy: "RequireDualStack",
    ipFamilies: ["IPv6", "IPv4"],
    trafficDistribution: "PreferClose",
    sessionAffinity: "ClientIP",
  });
  await east.offer("disputed", ["10.1.0.3"]);
  await west.offer("disputed", ["10.2.0.3"], HEADLESS);
  await west.offer("headless", [anEndpoint("10.2.0.4", { hostname: "db-0", zone: "a" })], HEADLESS);
  await west.export("nothing");
  await usableEverywhere(world, "labelled", ["10.1.0.1"]);
  await usableEverywhere(world, "dual", ["10.1.0.2", "fd00:1::2"]);
  await usableEverywhere(world, "disputed", ["10.1.0.3", "10.2.0.3"]);
  await usableEverywhere(world, "headless", ["10.2.0.4"]);
  await world.settle();
}

export function restartScenarios(scenario: DefineScenario): void {
  scenario("a restart writes nothing at all when nothing has changed (R8)", async (world) => {
    world.start();
    await populate(world);
    world.forgetWrites();
    await world.restart();
    await world.settle();
    expect(world.writes()).toEqual([]);
  });

  scenario("what changed while central was away is made up for (R10 R15 R54)", async (world) => {
    const [east, west] = world.sites;
    world.start();
    await east.offer("kept", ["10.1.0.1"]);
    await west.offer("kept", ["10.2.0.1"]);
    await east.offer("gone", ["10.1.0.2"]);
    await east.offer("served", ["10.1.0.3"]);
    await usableEverywhere(world, "kept", ["10.1.0.1", "10.2.0.1"]);
    await usableEverywhere(world, "gone", ["10.1.0.2"]);
    await usableEverywhere(world, "served", ["10.1.0.3"]);
    await world.settle();
    const before = await Promise.all(world.sites.map((site) => site.serviceImport("kept")));
    await world.stop();
    await east.unexport("kept");
    await east.unexport("gone");
    await east.delete(SERVICE, "served");
    await west.offer("new", ["10.2.0.4"]);
    await west.edit(ENDPOINT_SLICE, west.sliceName("kept"), (slice) => ({
      ...slice,
      endpoints: [anEndpoint("10.2.0.9")],
    }));
    world.start();
    await usableEverywhere(world, "kept", ["10.2.0.9"]);
    await absentEverywhere(world, "gone");
    await absentEverywhere(world, "served");
    await usableEverywhere(world, "new", ["10.2.0.4"]);
    for (const [index, site] of world.sites.entries()) {
      const after = await site.serviceImport("kept");
      expect(after.metadata.uid).toBe(before[index]!.metadata.uid);
      expect(after.spec?.ips).toEqual(before[index]!.spec?.ips);
    }
  });

  scenario(
    "a service that moved while central was away keeps its IP, though its new home is heard last (R15 R57)",
    async (world) => {
      const [east, west] = world.sites;
      world.start();
      await east.offer("moved", ["10.1.0.1"]);
      await usableEverywhere(world, "moved", ["10.1.0.1"]);
      await world.settle();
      const vip = await readVip(east, "moved");
      await world.stop();
      await east.unexport("moved");
      await west.offer("moved", ["10.2.0.1"]);
      west.line.cut();
      world.start();
      await eventually("what east had is gone from east", async () =>
        expect(await east.slices("moved")).toEqual([]),
      );
      west.line.heal();
      await usableEverywhere(world, "moved", ["10.2.0.1"]);
      expect(await readVip(east, "moved")).toEqual(vip);
    },
  );

  scenario(
    "a restart while a cluster is away takes nothing of it away before the bound, and the others go on (R65 R66)",
    async (world) => {
      const [east, west, ...others] = world.sites;
      world.start({ pace: PACE });
      // East is the oldest, and away: what it decided stays in force.
      await east.offer("web", ["10.1.0.1"], { sessionAffinity: "ClientIP" });
      await west.offer("web", ["10.2.0.1"]);
      await east.offer("own", ["10.1.0.2"]);
      await usableEverywhere(world, "web", ["10.1.0.1", "10.2.0.1"]);
      await usableEverywhere(world, "own", ["10.1.0.2"]);
      await world.settle();
      const before = await west.serviceImport("web");
      const vip = await readVip(west, "own");
      await world.stop();
      east.line.cut();
      world.forgetWrites();
      await world.restart();
      await west.edit(ENDPOINT_SLICE, west.sliceName("web"), (slice) => ({
        ...slice,
        endpoints: [anEndpoint("10.2.0.9")],
      }));
      for (const site of [west, ...others]) {
        await eventually(`${site.id} goes on`, () =>
          expectUsable(site, "web", ["10.1.0.1", "10.2.0.9"]),
        );
        await expectUsable(site, "own", ["10.1.0.2"]);
      }
      const during = await west.serviceImport("web");
      expect(during.spec).toEqual(before.spec);
      expect(during.status?.clusters).toEqual(before.status?.clusters);
      expect(world.writes().filter((text) => text.includes("delete"))).toEqual([]);

      world.hasten(PACE);
      for (const site of [west, ...others]) {
        await eventually(`${site.id} lets go of its endpoints after the bound`, async () => {
          await expectUsable(site, "web", ["10.2.0.9"]);
          await expectUsable(site, "own", []);
        });
      }
      expect((await west.serviceImport("web")).spec).toEqual(before.spec);
      expect(await readVip(west, "own")).toEqual(vip);

      east.line.heal();
      await usableEverywhere(world, "web", ["10.1.0.1", "10.2.0.9"]);
      await usableEverywhere(world, "own", ["10.1.0.2"]);
      expect(await readVip(west, "own")).toEqual(vip);
    },
  );

  scenario(
    "a cluster that is no member any more takes its endpoints with it (R67)",
    async (world) => {
      const [east, west, ...others] = world.sites;
      world.start();
      await east.offer("web", ["10.1.0.1"]);
      await west.offer("web", ["10.2.0.1"]);
      await usableEverywhere(world, "web", ["10.1.0.1", "10.2.0.1"]);
      await world.settle();
      await world.restart({ sites: [west, ...others] });
      for (const site of [west, ...others]) {
        await eventually(`${site.id} knows only those that remain`, async () => {
          await expectUsable(site, "web", ["10.2.0.1"]);
          expect((await site.serviceImport("web")).status?.clusters).toEqual([
            { cluster: west.id },
          ]);
        });
      }
    },
  );
}
