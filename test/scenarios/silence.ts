// Scenarios: clusters that cannot be reached, at the start or later, one or most of them, for a while or for good.

import { expect } from "vitest";
import { ENDPOINT_SLICE } from "../../src/api/builtin.ts";
import { SERVICE_EXPORT } from "../../src/api/mcs.ts";
import { WHEN_LOST_ANNOTATION } from "../../src/api/names.ts";
import { expectUsable, readVip, usableEverywhere } from "./outcome.ts";
import { eventually } from "./poll.ts";
import type { Site } from "./site.ts";
import type { DefineScenario } from "./suite.ts";

/** Half a minute, which is the bound, takes seven seconds. */
const PACE = 4;
/** Well past the thirty seconds after which a silent cluster is lost. */
const PAST_THE_BOUND_SECONDS = 45;

/** Says on the export what is to become of its endpoints elsewhere once the cluster is lost. */
export async function askWhenLost(site: Site, name: string, whenLost: string): Promise<void> {
  await site.edit(SERVICE_EXPORT, name, (serviceExport) => {
    const { metadata } = serviceExport;
    const annotations = { ...metadata.annotations, [WHEN_LOST_ANNOTATION]: whenLost };
    return { ...serviceExport, metadata: { ...metadata, annotations } };
  });
}

export function silenceScenarios(scenario: DefineScenario): void {
  scenario(
    "a cluster that is away at the start keeps nobody waiting, and joins when it comes (R13)",
    async (world) => {
      const [east, west, ...others] = world.sites;
      await east.offer("web", ["10.1.0.1"]);
      await west.offer("web", ["10.2.0.1"]);
      west.line.cut();
      world.start({ pace: PACE });
      for (const site of [east, ...others]) {
        await eventually(`${site.id} is at work`, () => expectUsable(site, "web", ["10.1.0.1"]));
      }
      west.line.heal();
      await usableEverywhere(world, "web", ["10.1.0.1", "10.2.0.1"]);
    },
  );

  scenario(
    "endpoints of a lost cluster turn not ready, then go; its say in the merge stays; all is back when it returns (R65 R66)",
    async (world) => {
      const [east, west, ...others] = world.sites;
      // The one that gets lost is the oldest, so its affinity is in force.
      world.start({ pace: PACE });
      await east.offer("web", ["10.1.0.1"], { sessionAffinity: "ClientIP" });
      await west.offer("web", ["10.2.0.1"]);
      await usableEverywhere(world, "web", ["10.1.0.1", "10.2.0.1"]);
      await world.settle();
      const before = await west.serviceImport("web");
      const rest = [west, ...others];
      const recording = await world.record(
        west,
        ENDPOINT_SLICE,
        (await west.slices("web", east.id))[0]!.metadata.name!,
      );
      east.line.cut();
      for (const site of rest) {
        await eventually(`${site.id} has let go of its endpoints`, async () => {
          expect(await site.slices("web", east.id)).toEqual([]);
          await expectUsable(site, "web", ["10.2.0.1"]);
        });
      }
      await eventually("they were not ready before they were gone", () => {
        expect(recording.events.map(({ type }) => type)).toEqual(["MODIFIED", "DELETED"]);
        expect(recording.events[0]).toMatchObject({
          object: { endpoints: [{ conditions: { ready: false } }] },
        });
      });
      const during = await west.serviceImport("web");
      expect(during.spec).toEqual(before.spec);
      expect(during.status?.clusters).toEqual(before.status?.clusters);
      east.line.heal();
      await usableEverywhere(world, "web", ["10.1.0.1", "10.2.0.1"]);
      expect((await west.serviceImport("web")).spec).toEqual(before.spec);
      expect(await readVip(west, "web")).toEqual(before.spec?.ips);
    },
  );

  scenario(
    "most clusters silent at once: nothing is withdrawn, neither then nor when they return (R65)",
    async (world) => {
      world.start({ pace: PACE });
      for (const [index, site] of world.sites.entries()) {
        await site.offer("web", [`10.${index + 1}.0.1`]);
      }
      const addresses = world.sites.map((_, index) => `10.${index + 1}.0.1`);
      await usableEverywhere(world, "web", addresses);
      await world.settle();
      world.forgetWrites();
      // All of two, two of three.
      const lost = world.sites.slice(-2);
      for (const { line } of lost) line.cut();
      await world.outlast(PAST_THE_BOUND_SECONDS);
      expect(world.writes()).toEqual([]);
      // One returns before the other: for a moment it looks as if a minority were lost.
      const [first, second] = lost as [Site, Site];
      const beats = first.line.beats();
      first.line.heal();
      await eventually("the first has been heard", () => {
        expect(first.line.beats()).toBeGreaterThan(beats);
      });
      // A heartbeat comes every five seconds: the second has missed at least one more.
      await world.outlast(6);
      second.line.heal();
      await usableEverywhere(world, "web", addresses);
      await world.settle();
      expect(world.writes()).toEqual([]);
    },
  );

  scenario(
    "each export says what becomes of its endpoints when its cluster is lost: they go, stay not ready, or stay (R65)",
    async (world) => {
      const [east, west, ...others] = world.sites;
      world.start({ pace: PACE });
      const words = ["withdraw", "unready", "keep", "surprise"];
      for (const [index, name] of words.entries()) {
        await east.offer(name, [`10.1.0.${index + 1}`]);
        await askWhenLost(east, name, name);
      }
      for (const [index, name] of words.entries()) {
        await usableEverywhere(world, name, [`10.1.0.${index + 1}`]);
      }
      for (const site of [west, ...others]) {
        await eventually(`${site.id} knows what is asked for`, async () => {
          for (const name of ["unready", "keep"]) {
            const [slice] = await site.slices(name, east.id);
            expect(slice?.metadata.annotations).toMatchObject({ [WHEN_LOST_ANNOTATION]: name });
          }
        });
      }
      await eventually("the owner is told of a word that means nothing", async () => {
        const { Valid } = await east.exportConditions("surprise");
        expect(Valid).toMatchObject({ status: "True" });
        expect(Valid?.message).toContain('"surprise"');
      });
      await world.settle();
      const vip = await readVip(west, "withdraw");
      const kept = await west.slices("keep", east.id);

      east.line.cut();
      for (const site of [west, ...others]) {
        await eventually(`in ${site.id} the bound has passed`, async () => {
          expect(await site.addresses("withdraw", { all: true })).toEqual([]);
          expect(await site.addresses("surprise", { all: true })).toEqual([]);
          expect(await site.addresses("unready", { all: true })).toEqual(["10.1.0.2"]);
          expect(await site.addresses("unready")).toEqual([]);
          await expectUsable(site, "keep", ["10.1.0.3"]);
        });
      }
      expect(await west.slices("keep", east.id)).toEqual(kept);
      expect(await readVip(west, "withdraw")).toEqual(vip);

      east.line.heal();
      for (const [index, name] of words.entries()) {
        await usableEverywhere(world, name, [`10.1.0.${index + 1}`]);
      }
    },
  );
}
