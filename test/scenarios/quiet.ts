// Scenarios: what is said and written once, and never again while nothing changes.

import { expect } from "vitest";
import { ENDPOINT_SLICE, SERVICE } from "../../src/api/builtin.ts";
import { SERVICE_EXPORT } from "../../src/api/mcs.ts";
import type { KubeObject } from "../../src/api/object.ts";
import { HEADLESS } from "./objects.ts";
import { untilYounger, usableEverywhere } from "./outcome.ts";
import { eventually } from "./poll.ts";
import type { DefineScenario } from "./suite.ts";

function annotate<T extends KubeObject>(object: T): T {
  const { metadata } = object;
  const annotations = { ...metadata.annotations, "example.com/seen": "yes" };
  return { ...object, metadata: { ...metadata, annotations } };
}

export function quietScenarios(scenario: DefineScenario): void {
  scenario(
    "a conflict and its end are told by one Event each, on every export (R12)",
    async (world) => {
      const [east, west] = world.sites;
      world.start();
      await east.offer("web", ["10.1.0.1"]);
      await west.offer("web", ["10.2.0.1"], HEADLESS);
      for (const site of [east, west]) {
        await eventually(`${site.id} tells of the conflict`, async () => {
          const told = await site.events("web");
          expect(told).toMatchObject([{ type: "Warning", reason: "Conflict", count: 1 }]);
          expect(told[0]?.message).toContain("Conflicting type.");
        });
      }
      await west.unexport("web");
      await eventually("the end is told", async () => {
        expect(await east.events("web")).toMatchObject([
          { type: "Warning", reason: "Conflict" },
          { type: "Normal", reason: "NoConflicts" },
        ]);
      });
    },
  );

  scenario("an export that becomes invalid says so in one Event (R12)", async (world) => {
    const [east] = world.sites;
    world.start();
    await east.offer("web", ["10.1.0.1"]);
    await usableEverywhere(world, "web", ["10.1.0.1"]);
    await world.settle();
    expect(await east.events("web")).toEqual([]);
    await east.delete(SERVICE, "web");
    await eventually("the Event is there", async () => {
      expect(await east.events("web")).toMatchObject([{ type: "Warning", reason: "NoService" }]);
    });
    await east.edit(SERVICE_EXPORT, "web", (object) => ({
      ...object,
      spec: { exportedLabels: { a: "b" } },
    }));
    await eventually("the export is judged anew", async () => {
      expect((await east.exportConditions("web"))["Valid"]?.observedGeneration).toBe(2);
    });
    await world.settle();
    expect(await east.events("web")).toHaveLength(1);
  });

  scenario("what does not matter to anyone is written nowhere (R8)", async (world) => {
    const [east, west] = world.sites;
    world.start();
    await east.offer("web", ["10.1.0.1"]);
    await west.offer("web", ["10.2.0.1"], HEADLESS);
    await usableEverywhere(world, "web", ["10.1.0.1", "10.2.0.1"]);
    await world.settle();
    world.forgetWrites();
    await east.edit(SERVICE, "web", annotate);
    await east.edit(ENDPOINT_SLICE, east.sliceName("web"), annotate);
    await west.edit(SERVICE_EXPORT, "web", annotate);
    await east.serve("marker");
    await east.export("marker");
    await usableEverywhere(world, "marker", []);
    await world.settle();
    const derived = east.derivedName("marker");
    const ours = world
      .writes()
      .filter((text) => !/[ .]marker$/.test(text) && !text.endsWith(derived));
    expect(ours).toEqual([]);
  });

  scenario("transition times move with the status of the condition only (R8)", async (world) => {
    const [east, west] = world.sites;
    world.start();
    await east.offer("web", ["10.1.0.1"]);
    await usableEverywhere(world, "web", ["10.1.0.1"]);
    const before = await eventually("the export is without conflict", async () => {
      const conditions = await east.exportConditions("web");
      expect(conditions).toMatchObject({ Conflict: { status: "False" } });
      return conditions;
    });
    const imported = await west.importConditions("web");
    await world.settle();
    await east.serve("clock");
    await untilYounger(await east.require(SERVICE, "clock"));
    await east.edit(SERVICE_EXPORT, "web", (object) => ({
      ...object,
      spec: { exportedLabels: { team: "shop" } },
    }));
    await eventually("the export is judged anew", async () => {
      expect(await east.exportConditions("web")).toMatchObject({
        Valid: { observedGeneration: 2, lastTransitionTime: before["Valid"]?.lastTransitionTime },
        Ready: { observedGeneration: 2, lastTransitionTime: before["Ready"]?.lastTransitionTime },
        Conflict: {
          observedGeneration: 2,
          lastTransitionTime: before["Conflict"]?.lastTransitionTime,
        },
      });
    });
    await west.offer("web", ["10.2.0.1"], HEADLESS);
    await eventually("only the conflict has moved", async () => {
      const after = await east.exportConditions("web");
      expect(after["Conflict"]?.status).toBe("True");
      expect(after["Conflict"]?.lastTransitionTime).not.toBe(
        before["Conflict"]?.lastTransitionTime,
      );
      expect(after["Valid"]?.lastTransitionTime).toBe(before["Valid"]?.lastTransitionTime);
    });
    expect((await west.importConditions("web"))["Ready"]?.lastTransitionTime).toBe(
      imported["Ready"]?.lastTransitionTime,
    );
  });
}
