// Scenarios: agents and their hub: it goes away, for all or for one, and comes back.

import { expect } from "vitest";
import { ENDPOINT_SLICE, SERVICE } from "../../src/api/builtin.ts";
import { anEndpoint } from "./objects.ts";
import { expectUsable, readVip, usableEverywhere } from "./outcome.ts";
import { eventually } from "./poll.ts";
import type { DefineScenario } from "./suite.ts";
import type { World } from "./world.ts";

const PACE = 4;
/** Well past the thirty seconds after which a silent cluster is lost. */
const PAST_THE_BOUND_SECONDS = 45;

function cutHub(world: World): void {
  for (const site of world.sites) world.hubLine(site).cut();
}
function healHub(world: World): void {
  for (const site of world.sites) world.hubLine(site).heal();
}

/** One service of two clusters, used in all. */
async function startServing(world: World): Promise<void> {
  const [east, west] = world.sites;
  world.start({ pace: PACE });
  await east.offer("web", ["10.1.0.1"]);
  await west.offer("web", ["10.2.0.1"]);
  await usableEverywhere(world, "web", ["10.1.0.1", "10.2.0.1"]);
  await world.settle();
}

export function hubScenarios(scenario: DefineScenario): void {
  scenario(
    "the hub goes away: nothing is withdrawn or written; it returns: what changed meanwhile arrives (R65)",
    async (world) => {
      const [east, west] = world.sites;
      await startServing(world);
      const vip = await readVip(west, "web");
      cutHub(world);
      world.forgetWrites();
      await world.outlast(PAST_THE_BOUND_SECONDS);
      expect(world.writes()).toEqual([]);
      await usableEverywhere(world, "web", ["10.1.0.1", "10.2.0.1"]);

      await east.edit(ENDPOINT_SLICE, east.sliceName("web"), (slice) => ({
        ...slice,
        endpoints: [anEndpoint("10.1.0.9")],
      }));
      await eventually("its own endpoints are current at home", () =>
        expectUsable(east, "web", ["10.1.0.9", "10.2.0.1"]),
      );
      await expectUsable(west, "web", ["10.1.0.1", "10.2.0.1"]);
      healHub(world);
      await usableEverywhere(world, "web", ["10.1.0.9", "10.2.0.1"]);
      expect(await readVip(west, "web")).toEqual(vip);
    },
    { mode: "agents" },
  );

  scenario(
    "agents that start while the hub is away write nothing, and still repair what is theirs (R57)",
    async (world) => {
      const [, west] = world.sites;
      await startServing(world);
      const vip = await readVip(west, "web");
      await world.stop();
      cutHub(world);
      world.forgetWrites();
      world.start({ pace: PACE });
      await world.settle();
      await world.outlast(PAST_THE_BOUND_SECONDS);
      expect(world.writes()).toEqual([]);
      await usableEverywhere(world, "web", ["10.1.0.1", "10.2.0.1"]);

      await west.delete(SERVICE, west.derivedName("web"));
      await eventually("the virtual IP is back", async () => {
        expect((await west.derived("web")).spec?.clusterIPs).toEqual(vip);
      });
      await west.offer("late", ["10.2.0.2"]);
      await eventually("what it exports it can use itself", () =>
        expectUsable(west, "late", ["10.2.0.2"]),
      );
      expect(await west.exportConditions("late")).not.toMatchObject({ Ready: { status: "True" } });
      healHub(world);
      await usableEverywhere(world, "late", ["10.2.0.2"]);
      await eventually("the others have been told", async () => {
        expect(await west.exportConditions("late")).toMatchObject({ Ready: { status: "True" } });
      });
      expect(await readVip(west, "web")).toEqual(vip);
    },
    { mode: "agents" },
  );

  scenario(
    "one cluster is cut off from the hub: it keeps what it has, the others let go of it, and all is back when it returns (R65 R66)",
    async (world) => {
      const [east, west, ...others] = world.sites;
      await startServing(world);
      const vip = await readVip(east, "web");
      const before = await east.slices("web");
      world.hubLine(east).cut();
      for (const site of [west, ...others]) {
        await eventually(`${site.id} has let go of it`, () =>
          expectUsable(site, "web", ["10.2.0.1"]),
        );
      }
      await world.outlast(PAST_THE_BOUND_SECONDS);
      expect(await east.slices("web")).toEqual(before);
      world.hubLine(east).heal();
      await usableEverywhere(world, "web", ["10.1.0.1", "10.2.0.1"]);
      expect(await east.slices("web")).toEqual(before);
      expect(await readVip(east, "web")).toEqual(vip);
    },
    { mode: "agents" },
  );
}
