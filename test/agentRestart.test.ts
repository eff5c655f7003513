// An agent that ended before the hub had all that it shares, on virtual time: what it finds in its own cluster when it is
// started again is newer than what the hub says of it.

import { expect, onTestFinished, test } from "vitest";
import { ENDPOINT_SLICE } from "../src/api/builtin.ts";
import { AgentWorld } from "./agentWorld.ts";
import { anEndpoint } from "./scenarios/objects.ts";
import { expectUsable } from "./scenarios/outcome.ts";

/** More than are published at a time: most wait for their turn while imports are looked at. */
const NAMES = Array.from({ length: 60 }, (_, index) => `web-${index}`);

async function openCut() {
  const world = await AgentWorld.open("east", "west");
  onTestFinished(() => world.during(world.stop()));
  const [east, west] = world.sites;
  world.start();
  return { world, east: east!, west: west! };
}

/** To what is imported into its own cluster. */
function writesAtHome(world: AgentWorld): readonly string[] {
  return world
    .writes()
    .filter((text) => /^east: .*(serviceimports|endpointslices|services)/u.test(text));
}

test("what it exports and the hub has never heard of stays imported at home", async () => {
  const { world, east, west } = await openCut();
  await world.pass(30);
  world.cutHub();
  for (const name of NAMES) await east.site.offer(name, ["10.1.0.1"]);
  await world.pass(30);
  for (const name of NAMES) await expectUsable(east.site, name, ["10.1.0.1"]);
  await world.during(east.stop());
  world.healHub();
  world.forgetWrites();
  east.start();
  await world.pass(60);
  expect(writesAtHome(world)).toEqual([]);
  for (const name of NAMES) await expectUsable(west.site, name, ["10.1.0.1"]);
});

test("its own endpoints do not go back at home to those that the hub knows", async () => {
  const { world, east, west } = await openCut();
  for (const name of NAMES) await east.site.offer(name, ["10.1.0.1"]);
  await world.pass(60);
  world.cutHub();
  for (const name of NAMES) {
    await east.site.edit(ENDPOINT_SLICE, east.site.sliceName(name), (slice) => ({
      ...slice,
      endpoints: [anEndpoint("10.1.0.9")],
    }));
  }
  await world.pass(60);
  for (const name of NAMES) await expectUsable(east.site, name, ["10.1.0.9"]);
  await world.during(east.stop());
  world.healHub();
  world.forgetWrites();
  east.start();
  await world.pass(60);
  expect(writesAtHome(world)).toEqual([]);
  for (const name of NAMES) await expectUsable(west.site, name, ["10.1.0.9"]);
});
