import { describe, expect, onTestFinished, test } from "vitest";
import { ENDPOINT_SLICE, type EndpointSlice, SERVICE } from "../src/api/builtin.ts";
import { type AgentSite, AgentWorld } from "./agentWorld.ts";
import { anEndpoint } from "./scenarios/objects.ts";
import { expectAbsent, expectUsable, readVip } from "./scenarios/outcome.ts";
import type { Site } from "./scenarios/site.ts";

async function open<const T extends readonly string[]>(...ids: T) {
  const world = await AgentWorld.open(...ids);
  onTestFinished(() => world.during(world.stop()));
  return { world, sites: world.sites as { readonly [K in keyof T]: AgentSite } };
}

async function moveTo(site: Site, name: string, addresses: readonly string[]): Promise<void> {
  const slice = await site.require(ENDPOINT_SLICE, site.sliceName(name));
  const endpoints = addresses.map((address) => anEndpoint(address));
  await site.store.replace<EndpointSlice>(ENDPOINT_SLICE, { ...slice, endpoints });
}

/** The most that fell into any one second. */
function busiestSecond(asked: AgentSite["asked"]): number {
  const timesMs = asked.map(({ atMs }) => atMs);
  return Math.max(
    0,
    ...timesMs.map((from) => timesMs.filter((ms) => ms >= from && ms < from + 1_000).length),
  );
}

const HOUR_S = 3_600;

describe("the hub is away for an hour", () => {
  test("agents restarted meanwhile write nothing anywhere, and what they imported stays", async () => {
    const { world, sites } = await open("east", "north", "west");
    const [east, north, west] = sites;
    await east.site.offer("web", ["10.1.0.1"]);
    await north.site.offer("web", ["10.2.0.1"]);
    await north.site.offer("db", ["10.2.0.2"]);
    world.start();
    await world.pass(30);
    const vip = await readVip(west.site, "web");
    world.cutHub();
    world.forgetWrites();
    await world.pass(HOUR_S / 3);
    for (const site of sites) await site.restart();
    await world.pass(HOUR_S / 3);
    await west.restart();
    await world.pass(HOUR_S / 3);
    expect(world.writes()).toEqual([]);
    world.healHub();
    await world.pass(60);
    expect(world.writes()).toEqual([]);
    await expectUsable(west.site, "web", ["10.1.0.1", "10.2.0.1"]);
    expect(await readVip(west.site, "web")).toEqual(vip);
    expect(sites.map(({ agent }) => agent.isSynced())).toEqual([true, true, true]);
  });

  test.each(["that runs on", "that was restarted meanwhile"])(
    "an agent %s leads its own imports to its own new endpoints",
    async (which) => {
      const { world, sites } = await open("east", "west");
      const [east, west] = sites;
      await east.site.offer("web", ["10.1.0.1"]);
      await west.site.offer("web", ["10.2.0.1"]);
      world.start();
      await world.pass(30);
      world.cutHub();
      await world.pass(HOUR_S / 2);
      if (which === "that was restarted meanwhile") await east.restart();
      await world.pass(60);
      await moveTo(east.site, "web", ["10.1.0.9"]);
      await world.pass(5);
      await expectUsable(east.site, "web", ["10.1.0.9", "10.2.0.1"]);
      await expectUsable(west.site, "web", ["10.1.0.1", "10.2.0.1"]);
      world.healHub();
      await world.pass(40);
      await expectUsable(west.site, "web", ["10.1.0.9", "10.2.0.1"]);
      expect(east.agent.isSynced()).toBe(true);
    },
  );

  test("all that changed meanwhile converges when it is back, and neither the outage nor the return is a storm", async () => {
    const { world, sites } = await open("east", "west");
    const [east, west] = sites;
    const names = Array.from({ length: 40 }, (_, index) => `web-${index}`);
    for (const name of names) await east.site.offer(name, ["10.1.0.1"]);
    world.start();
    await world.pass(60);
    expect(await west.site.addresses("web-39")).toEqual(["10.1.0.1"]);
    world.cutHub();
    await world.pass(60);
    for (const name of names) await moveTo(east.site, name, ["10.1.0.2"]);
    await east.site.unexport("web-0");
    await west.site.offer("late", ["10.2.0.1"]);
    east.asked.length = 0;
    await world.pass(HOUR_S);
    // Four informers, of which one asks more often, and nothing else: 40 services that cannot be told cost nothing.
    expect(east.asked.length).toBeLessThan((HOUR_S / 15) * 3 + HOUR_S / 4);
    expect(busiestSecond(east.asked)).toBeLessThan(10);
    expect(east.log.filter(({ message }) => message === "reconcile failed")).toEqual([]);
    east.asked.length = 0;
    world.healHub();
    await world.pass(60);
    expect(east.asked.length).toBeGreaterThanOrEqual(40);
    expect(east.asked.length).toBeLessThan(60);
    expect(busiestSecond(east.asked)).toBeLessThan(60);
    for (const name of names.slice(1)) {
      expect(await west.site.addresses(name)).toEqual(["10.1.0.2"]);
    }
    await expectAbsent(west.site, "web-0");
    await expectUsable(east.site, "late", ["10.2.0.1"]);
  });

  test("R57: a derived Service that its user deleted comes back, with its address if nobody has taken it", async () => {
    const { world, sites } = await open("east", "west");
    const [east, west] = sites;
    await east.site.offer("web", ["10.1.0.1"]);
    world.start();
    await world.pass(30);
    const vip = await readVip(west.site, "web");
    world.cutHub();
    await west.restart();
    await world.pass(60);
    await west.site.delete(SERVICE, west.site.derivedName("web"));
    await world.pass(10);
    expect((await west.site.derived("web")).spec?.clusterIPs).toEqual(vip);
    await expectUsable(west.site, "web", ["10.1.0.1"]);
  });

  test("an agent that starts for the first time waits for it, and then does all it should", async () => {
    const { world, sites } = await open("east", "west");
    const [east, west] = sites;
    world.cutHub();
    await east.site.offer("web", ["10.1.0.1"]);
    world.start();
    await world.pass(HOUR_S);
    expect(east.agent.isSynced()).toBe(false);
    world.healHub();
    await world.pass(60);
    await expectUsable(west.site, "web", ["10.1.0.1"]);
  });

  test("stop ends in bounded time and leaves nothing", async () => {
    const { world, sites } = await open("east", "west");
    await sites[0].site.offer("web", ["10.1.0.1"]);
    await world.pass(5);
    const before = world.clock.pendingTimers;
    world.cutHub();
    world.start();
    await world.pass(100);
    const beganMs = world.clock.monotonic();
    await world.during(world.stop());
    expect(world.clock.monotonic() - beganMs).toBeLessThan(1_000);
    expect(world.clock.pendingTimers).toBe(before);
  });
});

describe("a member falls silent", () => {
  const READY = { all: false };
  const addressesAre =
    (site: Site, options: { readonly all?: boolean }, ...addresses: readonly string[]) =>
    async () =>
      (await site.addresses("web", options)).join() === addresses.join();

  test.each(["its agent dies", "it is cut off from the hub", "its API server is gone"])(
    "R65: %s: its endpoints are not ready after 20 s and gone after 30 s, and back within seconds",
    async (cause) => {
      const { world, sites } = await open("east", "north", "west");
      const [east, , west] = sites;
      await east.site.offer("web", ["10.1.0.1"]);
      world.start();
      await world.pass(30);
      await expectUsable(west.site, "web", ["10.1.0.1"]);
      const vip = await readVip(west.site, "web");
      if (cause === "its agent dies") await world.during(east.stop());
      else if (cause === "it is cut off from the hub") east.hubLine.cut();
      else east.line.cut();
      const unready = await world.until("not ready", 30, addressesAre(west.site, READY));
      expect(await west.site.addresses("web", { all: true })).toEqual(["10.1.0.1"]);
      // From the last heartbeat, which was up to 5.5 s ago; and looked at once a second.
      expect(unready).toBeGreaterThanOrEqual(20 - 5.5);
      expect(unready).toBeLessThanOrEqual(20 + 1.5);
      const gone = await world.until("gone", 30, addressesAre(west.site, { all: true }));
      expect(unready + gone).toBeGreaterThanOrEqual(30 - 5.5);
      expect(unready + gone).toBeLessThanOrEqual(30 + 1.5);
      expect(await readVip(west.site, "web")).toEqual(vip);
      await world.pass(600);
      if (cause === "its agent dies") east.start();
      else if (cause === "it is cut off from the hub") east.hubLine.heal();
      else east.line.heal();
      const back = await world.until("back", 60, addressesAre(west.site, READY, "10.1.0.1"));
      expect(back).toBeLessThanOrEqual(12);
      expect(await readVip(west.site, "web")).toEqual(vip);
    },
  );

  test("R65: a cluster that is cut off from the hub itself keeps everything that it imports", async () => {
    const { world, sites } = await open("east", "north", "west");
    const [east, north, west] = sites;
    await east.site.offer("web", ["10.1.0.1"]);
    await north.site.offer("web", ["10.2.0.1"]);
    world.start();
    await world.pass(30);
    west.hubLine.cut();
    west.line.forgetWrites();
    await world.pass(HOUR_S);
    expect(west.line.writes()).toEqual([]);
    await expectUsable(west.site, "web", ["10.1.0.1", "10.2.0.1"]);
    await moveTo(east.site, "web", ["10.1.0.2"]);
    west.hubLine.heal();
    await world.pass(40);
    await expectUsable(west.site, "web", ["10.1.0.2", "10.2.0.1"]);
  });
});
