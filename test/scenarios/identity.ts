// Scenarios: who a cluster is: given, read from the cluster, missing, taken, or changed. An agent learns it when its cluster
// joins the hub, which is another story.

import { expect } from "vitest";
import { CLUSTER_PROPERTY } from "../../src/api/about.ts";
import { CLUSTER_ID_PROPERTY } from "../../src/api/names.ts";
import { expectUsable, usableEverywhere } from "./outcome.ts";
import { eventually } from "./poll.ts";
import type { Site } from "./site.ts";
import type { DefineScenario } from "./suite.ts";
import type { World } from "./world.ts";

async function nameCluster(site: Site, value: string): Promise<void> {
  await site.create(CLUSTER_PROPERTY, {
    apiVersion: "about.k8s.io/v1beta1",
    kind: "ClusterProperty",
    metadata: { name: CLUSTER_ID_PROPERTY },
    spec: { value },
  });
}

/** Clusters have one property of this name, whoever asks: nothing else may run meanwhile. */
async function withProperties(world: World, tell: () => Promise<void>): Promise<void> {
  try {
    await tell();
  } finally {
    await world.stop();
    for (const { store } of world.sites) {
      await store.delete(CLUSTER_PROPERTY, { name: CLUSTER_ID_PROPERTY });
    }
  }
}

function problems(world: World): string[] {
  return world.log
    .filter(({ message }) => message === "cluster is refused")
    .map(({ fields }) => `${String(fields["cluster"])}: ${String(fields["problem"])}`);
}

export function identityScenarios(scenario: DefineScenario): void {
  scenario(
    "of two clusters with one id the second is refused, in words, and the first goes on",
    async (world) => {
      const [east, west, ...others] = world.sites;
      await east.offer("web", ["10.1.0.1"]);
      await west.offer("web", ["10.2.0.1"]);
      west.line.cut();
      const ids = Object.fromEntries(others.map(({ id }) => [id, id]));
      world.start({ ids: { ...ids, [east.id]: "twin", [west.id]: "twin" } });
      await eventually("the first is at work", () => expectUsable(east, "web", ["10.1.0.1"]));
      west.line.heal();
      await eventually("the second is refused", () => {
        expect(problems(world)).toContain(
          `${west.id}: The cluster id "twin" is taken by another member. Give one of the two another id.`,
        );
      });
      await east.offer("more", ["10.1.0.2"]);
      for (const site of [east, ...others]) {
        await eventually(`${site.id} goes on`, async () => {
          await expectUsable(site, "web", ["10.1.0.1"]);
          await expectUsable(site, "more", ["10.1.0.2"]);
        });
      }
      expect(west.line.writes()).toEqual([]);
    },
    { mode: "central" },
  );

  scenario(
    "an id that is no DNS label is refused, in words",
    async (world) => {
      const [east, west] = world.sites;
      world.start({ ids: { [east.id]: east.id, [west.id]: "West.1" }, sites: [east, west] });
      await eventually("it is refused", () => {
        expect(problems(world)[0]).toContain(
          `${west.id}: The cluster id "West.1" has a dot; it must be a single DNS label, such as west-1.`,
        );
      });
      await east.offer("web", ["10.1.0.1"]);
      await eventually("the others go on", () => expectUsable(east, "web", ["10.1.0.1"]));
    },
    { mode: "central" },
  );

  scenario(
    "a cluster is who its ClusterProperty says it is, and joins once it says so",
    (world) =>
      withProperties(world, async () => {
        const [east, west] = world.sites;
        await east.offer("web", ["10.1.0.1"]);
        await west.offer("web", ["10.2.0.1"]);
        const later = world.sites.slice(1);
        await nameCluster(east, "sunrise");
        world.start({ ids: {} });
        await eventually("the one with an id works", () => expectUsable(east, "web", ["10.1.0.1"]));
        await eventually("the others are refused", () => {
          expect(problems(world).join("\n")).toContain(`Cluster ${west.id} has no id.`);
        });
        for (const site of later) await nameCluster(site, `${site.id}-by-property`);
        await usableEverywhere(world, "web", ["10.1.0.1", "10.2.0.1"]);
        await world.everywhere("the import names the sources by their ids", async (site) => {
          expect((await site.serviceImport("web")).status?.clusters).toEqual(
            ["sunrise", `${west.id}-by-property`].toSorted().map((cluster) => ({ cluster })),
          );
        });
      }),
    { mode: "central", alone: true },
  );

  scenario(
    "a cluster that changes its id leaves under the old one and joins under the new (R67)",
    (world) =>
      withProperties(world, async () => {
        const [east, west] = world.sites;
        for (const site of world.sites) await nameCluster(site, site.id);
        await east.offer("web", ["10.1.0.1"]);
        await west.offer("web", ["10.2.0.1"]);
        await east.offer("own", ["10.1.0.2"]);
        world.start({ ids: {} });
        await usableEverywhere(world, "web", ["10.1.0.1", "10.2.0.1"]);
        const before = await west.serviceImport("web");
        await eventually("the property is changed", async () => {
          const name = CLUSTER_ID_PROPERTY;
          const property = await east.store.get(CLUSTER_PROPERTY, { name });
          await east.store.replace(CLUSTER_PROPERTY, { ...property!, spec: { value: "sunrise" } });
        });
        await world.everywhere("only the new id is left", async (site) => {
          await expectUsable(site, "web", ["10.1.0.1", "10.2.0.1"]);
          await expectUsable(site, "own", ["10.1.0.2"]);
          expect(await site.slices("web", east.id)).toEqual([]);
          expect(await site.slices("web", "sunrise")).toHaveLength(1);
          expect(await site.slices("own", "sunrise")).toHaveLength(1);
          expect((await site.serviceImport("web")).status?.clusters).toEqual(
            ["sunrise", west.id].toSorted().map((cluster) => ({ cluster })),
          );
        });
        const after = await west.serviceImport("web");
        expect(after.metadata.uid).toBe(before.metadata.uid);
        expect(after.spec?.ips).toEqual(before.spec?.ips);
      }),
    { mode: "central", alone: true },
  );
}
