// An agent that starts again, or ends, on virtual time: what it must not wait for, and what it knows without the hub.

import { expect, onTestFinished, test } from "vitest";
import { ENDPOINT_SLICE, type EndpointSlice, LEASE } from "../src/api/builtin.ts";
import { HUB_NAMESPACE } from "../src/api/names.ts";
import { type AgentSite, AgentWorld } from "./agentWorld.ts";
import { anEndpoint } from "./scenarios/objects.ts";
import type { Site } from "./scenarios/site.ts";

async function open<const T extends readonly string[]>(...ids: T) {
  const world = await AgentWorld.open(...ids);
  onTestFinished(() => world.during(world.stop()));
  return { world, sites: world.sites as { readonly [K in keyof T]: AgentSite } };
}

/** As the controller of the cluster does when it packs endpoints anew. */
async function renameSlice(site: Site, name: string, addresses: readonly string[]): Promise<void> {
  const slice = await site.require(ENDPOINT_SLICE, site.sliceName(name));
  const { namespace = "", labels = {} } = slice.metadata;
  await site.delete(ENDPOINT_SLICE, site.sliceName(name));
  const metadata = { namespace, name: `${name}-again`, labels };
  const endpoints = addresses.map((address) => anEndpoint(address));
  await site.store.create<EndpointSlice>(ENDPOINT_SLICE, { ...slice, metadata, endpoints });
}

test("its first heartbeat does not wait for the second turn because the hub was not read at the first", async () => {
  const { world, sites } = await open("east", "west");
  const [east] = sites;
  world.start();
  await world.pass(30);
  await world.during(east.stop());
  const renewTime = async () => {
    const lease = await world.hubStore.get(LEASE, { namespace: HUB_NAMESPACE, name: east.id });
    return lease?.spec?.renewTime;
  };
  const before = await renewTime();
  world.hub.faults.add({ match: { verb: "list" }, delayMs: 200 });
  east.start();
  const waited = await world.until("heard", 10, async () => (await renewTime()) !== before);
  expect(waited).toBeLessThan(1);
});

test("a heartbeat that was lost on its way is made up for before the next would be due", async () => {
  const { world, sites } = await open("east", "west");
  const [east] = sites;
  world.start();
  await world.pass(30);
  const ref = { namespace: HUB_NAMESPACE, name: east.id };
  const renewTime = async () => (await world.hubStore.get(LEASE, ref))?.spec?.renewTime;
  const lost = world.hub.faults.add({
    match: { verb: "patch", resource: "leases", name: east.id },
    disconnect: true,
    times: 1,
  });
  await world.until("lost", 10, async () => lost.hits === 1);
  const before = await renewTime();
  const waited = await world.until("heard", 10, async () => (await renewTime()) !== before);
  expect(waited).toBeLessThanOrEqual(2);
});

test.each([
  ["lost", 120, []],
  ["silent", 22, ["10.1.0.1"]],
] as const)(
  "R65: a source that was %s before stays so until it is heard, and is back within seconds then",
  async (_, seconds, left) => {
    const { world, sites } = await open("east", "north", "west");
    const [east, , west] = sites;
    await east.site.offer("web", ["10.1.0.1"]);
    world.start();
    await world.pass(30);
    await world.during(east.stop());
    await world.pass(seconds);
    expect(await west.site.addresses("web")).toEqual([]);
    west.line.forgetWrites();
    await west.restart();
    await world.pass(15);
    expect(await west.site.addresses("web", { all: true })).toEqual(left);
    expect(west.line.writes()).toEqual([]);
    east.start();
    await world.pass(8);
    expect(await west.site.addresses("web")).toEqual(["10.1.0.1"]);
  },
);

test("what was never imported is imported at once, though its source was not heard yet", async () => {
  const { world, sites } = await open("east", "west");
  const [east, west] = sites;
  await east.site.offer("web", ["10.1.0.1"]);
  east.start();
  await world.pass(7);
  west.start();
  await world.pass(1);
  expect(await west.site.addresses("web")).toEqual(["10.1.0.1"]);
});

test("while the hub is away it takes its own endpoints away when they are gone, also after a restart", async () => {
  const { world, sites } = await open("east", "west");
  const [east] = sites;
  for (const name of ["web", "db"]) await east.site.offer(name, ["10.1.0.1"]);
  await sites[1].site.offer("web", ["10.2.0.1"]);
  world.start();
  await world.pass(30);
  world.cutHub();
  await east.restart();
  await world.pass(60);
  await renameSlice(east.site, "web", ["10.1.0.9"]);
  await east.site.unexport("db");
  await world.pass(5);
  expect(await east.site.addresses("web")).toEqual(["10.1.0.9", "10.2.0.1"]);
  expect(await east.site.addresses("db", { all: true })).toEqual([]);
});

test("it ends at once, though the hub does not answer what it is being told", async () => {
  const { world, sites } = await open("east", "west");
  const [east] = sites;
  world.start();
  await world.pass(30);
  world.hub.faults.add({ match: { resource: "serviceshares", verb: "create" }, delayMs: 60_000 });
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(1);
  const beganMs = world.clock.monotonic();
  await world.during(east.stop());
  expect(world.clock.monotonic() - beganMs).toBeLessThan(100);
});
