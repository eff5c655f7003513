import { describe, expect, onTestFinished, test } from "vitest";
import { CUSTOM_RESOURCE_DEFINITION, ENDPOINT_SLICE, SERVICE } from "../src/api/builtin.ts";
import { SERVICE_IMPORT, SERVICE_IMPORT_CRD } from "../src/api/mcs.ts";
import type { WhenLost } from "../src/api/share.ts";
import { CentralWorld, SHOP } from "./centralWorld.ts";
import type { Line } from "./scenarios/line.ts";
import { aService, anEndpoint, anImport } from "./scenarios/objects.ts";
import { expectAbsent, expectUsable } from "./scenarios/outcome.ts";
import { askWhenLost } from "./scenarios/silence.ts";

async function open(...ids: readonly string[]): Promise<CentralWorld> {
  const world = await CentralWorld.open(...ids);
  onTestFinished(() => world.during(world.stop()));
  return world;
}

describe("what central waits for is told to it, or it looks again", () => {
  test("a definition of imports that was deleted and came back: the imports come back too", async () => {
    const world = await open("east", "west");
    const [east, west] = world.sites;
    await east!.site.offer("web", ["10.1.0.1"]);
    world.start();
    await world.pass(10);
    await expectUsable(west!.site, "web", ["10.1.0.1"]);
    const { name = "" } = SERVICE_IMPORT_CRD.metadata;
    await west!.site.store.delete(CUSTOM_RESOURCE_DEFINITION, { name });
    await world.pass(120);
    await east!.site.offer("late", ["10.1.0.2"]);
    await world.pass(60);
    await west!.site.store.create(CUSTOM_RESOURCE_DEFINITION, SERVICE_IMPORT_CRD);
    await world.pass(120);
    expect(await west!.site.importConditions("web")).toMatchObject({ Ready: { status: "True" } });
    expect(await west!.site.importConditions("late")).toMatchObject({ Ready: { status: "True" } });
  });

  test("somebody else's Service under the derived name: told to delete it, who does gets the virtual IP", async () => {
    const world = await open("east", "west");
    const [east, west] = world.sites;
    const derivedName = west!.site.derivedName("web");
    await west!.site.create(SERVICE, aService(SHOP, derivedName));
    await east!.site.offer("web", ["10.1.0.1"]);
    world.start();
    await world.pass(10);
    const { Ready } = await west!.site.importConditions("web");
    expect(Ready?.message).toContain("Delete it");
    await west!.site.delete(SERVICE, derivedName);
    await world.pass(10);
    await expectUsable(west!.site, "web", ["10.1.0.1"]);
  });
});

test("an address that an import by hand asked for and another Service has: free again, it is given (R61)", async () => {
  const world = await open("east");
  const { site } = world.sites[0]!;
  const ip = (await site.serve("occupant")).spec!.clusterIP!;
  world.start();
  await site.create(SERVICE_IMPORT, anImport(SHOP, "legacy", { ips: [ip] }));
  await world.pass(10);
  const { Ready } = await site.importConditions("legacy");
  expect(Ready).toMatchObject({ status: "False", reason: "IPNotAvailable" });
  await site.delete(SERVICE, "occupant");
  await world.pass(40);
  expect((await site.derived("legacy")).spec?.clusterIP).toBe(ip);
  expect(await site.importConditions("legacy")).toMatchObject({ Ready: { status: "True" } });
});

describe("no more is written than is needed", () => {
  test("a namespace is made once, however late its informer is", async () => {
    const world = await open("east", "west");
    const [east, west] = world.sites;
    const there = east!.site.in("fresh");
    world.start("create");
    await world.pass(10);
    west!.cluster.faults.add({ match: { resource: "namespaces" }, watchDelayMs: 2_000 });
    await world.createNamespace(east!.site.store, "fresh");
    await there.offer("web", ["10.1.0.1"]);
    await world.pass(20);
    await expectUsable(west!.site.in("fresh"), "web", ["10.1.0.1"]);
    const made = west!.line.writes().filter((text) => text === "apply namespaces fresh");
    expect(made).toEqual(["apply namespaces fresh"]);
  });
});

describe("after a cluster was away", () => {
  test("its informers come back together: a Service is not written for an import that is gone", async () => {
    const world = await open("east", "north", "west");
    const [east, , west] = world.sites;
    await east!.site.offer("web", ["10.1.0.1"]);
    world.start();
    for (let round = 0; round < 5; round += 1) {
      await world.pass(20);
      west!.line.cut();
      await world.pass(120);
      await west!.site.delete(SERVICE_IMPORT, "web");
      west!.line.forgetWrites();
      west!.line.heal();
      await world.pass(60);
      await expectUsable(west!.site, "web", ["10.1.0.1"]);
      expect(west!.line.writes().length).toBeLessThan(20);
    }
  });
});

describe("one cluster's trouble stays its own", () => {
  test("writes of export status that hang do not keep the others from the endpoints", async () => {
    const world = await open("east", "west");
    const [east, west] = world.sites;
    const names = Array.from({ length: 40 }, (_, index) => `web-${index}`);
    for (const name of names) await east!.site.offer(name, ["10.1.0.1"]);
    east!.cluster.faults.add({
      match: { resource: "serviceexports", verb: "patch", userAgent: "isthmus-central" },
      delayMs: 55_000,
    });
    world.start();
    await world.pass(10);
    for (const name of names) {
      expect(await west!.site.addresses(name)).toEqual(["10.1.0.1"]);
    }
  });

  test("a slice that the API server refuses does not hold back the other slices of the service", async () => {
    const world = await open("east", "north", "west");
    const [east, north, west] = world.sites;
    west!.cluster.faults.add({
      match: {
        resource: "endpointslices",
        userAgent: "isthmus-central",
        where: ({ name }) => name?.startsWith("web-east-") === true,
      },
      fail: { status: 422, reason: "Invalid", message: "no such endpoint" },
    });
    await east!.site.offer("web", ["10.1.0.1"]);
    await north!.site.offer("web", ["10.2.0.1"]);
    world.start();
    await world.pass(10);
    expect(await west!.site.addresses("web")).toEqual(["10.2.0.1"]);
  });

  test.each([
    ["may no longer read the cluster's id", 403, "Forbidden"],
    ["is turned away for asking too often", 429, "TooManyRequests"],
  ])("a cluster that answers is heard, also when central %s", async (_, status, reason) => {
    const world = await open("east", "north", "west");
    const [east, , west] = world.sites;
    await east!.site.offer("web", ["10.1.0.1"]);
    world.start();
    await world.pass(10);
    east!.cluster.faults.add({
      match: { resource: "clusterproperties", userAgent: "isthmus-central" },
      fail: { status, reason },
    });
    await world.pass(120);
    expect(await west!.site.addresses("web")).toEqual(["10.1.0.1"]);
  });

  test("a cluster lost long ago does not hide that another is lost now (R65)", async () => {
    const world = await open("east", "north", "west");
    const [east, north, west] = world.sites;
    await east!.site.offer("web", ["10.1.0.1"]);
    world.start();
    await world.pass(10);
    north!.line.cut();
    await world.pass(120);
    await expectUsable(west!.site, "web", ["10.1.0.1"]);
    east!.line.cut();
    await world.pass(60);
    expect(await west!.site.addresses("web", { all: true })).toEqual([]);
  });
});

describe("what becomes of the endpoints of a lost cluster", () => {
  /** East, which is going to be lost, exports one service for each answer; the others are there. */
  async function openAsking(...answers: readonly WhenLost[]) {
    const world = await open("east", "north", "west");
    const [east, north, west] = world.sites;
    for (const whenLost of answers) {
      await east!.site.offer(whenLost, ["10.1.0.1"]);
      await askWhenLost(east!.site, whenLost, whenLost);
    }
    world.start();
    await world.pass(10);
    return { world, east: east!, north: north!, west: west! };
  }
  const all = { all: true };

  test("withdraw: not ready first, then gone, and back within seconds of its return (R65 R66)", async () => {
    const { world, east, west } = await openAsking("withdraw");
    east.line.cut();
    // Its last heartbeat was up to five seconds and a half before.
    await world.pass(22);
    expect(await west.site.addresses("withdraw", all)).toEqual(["10.1.0.1"]);
    expect(await west.site.addresses("withdraw")).toEqual([]);
    await world.pass(10);
    expect(await west.site.addresses("withdraw", all)).toEqual([]);
    const { line } = east;
    const beats = line.beats();
    line.heal();
    for (let second = 0; line.beats() === beats && second < 10; second += 1) await world.pass(1);
    await world.pass(2);
    await expectUsable(west.site, "withdraw", ["10.1.0.1"]);
  });

  test("unready: they stay, not ready, until it returns, through a restart of central (R65 R66)", async () => {
    const { world, east, west } = await openAsking("unready");
    east.line.cut();
    for (const next of ["lost", "restarted"]) {
      await world.pass(600);
      expect(await west.site.addresses("unready", all)).toEqual(["10.1.0.1"]);
      expect(await west.site.addresses("unready")).toEqual([]);
      if (next === "lost") await world.restart();
    }
    east.line.heal();
    await world.pass(60);
    await expectUsable(west.site, "unready", ["10.1.0.1"]);
  });

  test("keep: they stay as they are, through a restart of central, and nothing is written (R65 R66)", async () => {
    const { world, east, west } = await openAsking("keep");
    west.line.forgetWrites();
    east.line.cut();
    await world.pass(600);
    await expectUsable(west.site, "keep", ["10.1.0.1"]);
    await world.restart();
    await world.pass(600);
    await expectUsable(west.site, "keep", ["10.1.0.1"]);
    east.line.heal();
    await world.pass(60);
    expect(west.line.writes()).toEqual([]);
  });

  test("keep: they change when it has returned, and go with their export (R54)", async () => {
    const { world, east, west } = await openAsking("keep");
    east.line.cut();
    await world.pass(60);
    await east.site.edit(ENDPOINT_SLICE, east.site.sliceName("keep"), (slice) => ({
      ...slice,
      endpoints: [anEndpoint("10.1.0.9")],
    }));
    east.line.heal();
    await world.pass(60);
    expect(await west.site.addresses("keep")).toEqual(["10.1.0.9"]);
    await east.site.unexport("keep");
    await world.pass(10);
    await expectAbsent(west.site, "keep");
  });

  test("the answer can be changed while it is there to hear it (R65)", async () => {
    const { world, east, west } = await openAsking("keep");
    await askWhenLost(east.site, "keep", "withdraw");
    await world.pass(10);
    east.line.cut();
    await world.pass(60);
    expect(await west.site.addresses("keep", all)).toEqual([]);
  });

  test("an answer that means nothing is the default, and the export says so (R5)", async () => {
    const { world, east, west } = await openAsking("keep");
    await askWhenLost(east.site, "keep", "forever");
    await world.pass(10);
    const { Valid } = await east.site.exportConditions("keep");
    expect(Valid).toMatchObject({ status: "True", reason: "Valid" });
    expect(Valid?.message).toContain('"forever"');
    east.line.cut();
    await world.pass(60);
    expect(await west.site.addresses("keep", all)).toEqual([]);
  });

  test("not heard since the start: not ready first, then gone (R65)", async () => {
    const { world, east, west } = await openAsking("withdraw");
    east.line.cut();
    await world.restart();
    await world.pass(18);
    await expectUsable(west.site, "withdraw", ["10.1.0.1"]);
    await world.pass(7);
    expect(await west.site.addresses("withdraw", all)).toEqual(["10.1.0.1"]);
    expect(await west.site.addresses("withdraw")).toEqual([]);
    await world.pass(10);
    expect(await west.site.addresses("withdraw", all)).toEqual([]);
  });
});

describe("a cluster that comes and goes", () => {
  /** Three outages of less than a minute. */
  async function flap(world: CentralWorld, line: Line): Promise<void> {
    for (let round = 0; round < 3; round += 1) {
      line.cut();
      await world.pass(45);
      line.heal();
      await world.pass(15);
    }
  }

  test("its endpoints are not ready while others have some, and are never the last to go (R65)", async () => {
    const world = await open("east", "north", "west");
    const [east, north, west] = world.sites;
    await east!.site.offer("both", ["10.1.0.1"]);
    await north!.site.offer("both", ["10.2.0.1"]);
    await east!.site.offer("sole", ["10.1.0.2"]);
    world.start();
    await world.pass(10);
    await flap(world, east!.line);
    expect(await west!.site.addresses("both", { all: true })).toEqual(["10.1.0.1", "10.2.0.1"]);
    await expectUsable(west!.site, "both", ["10.2.0.1"]);
    await expectUsable(west!.site, "sole", ["10.1.0.2"]);
    // The last one that was to be relied upon goes.
    await north!.site.unexport("both");
    await world.pass(5);
    await expectUsable(west!.site, "both", ["10.1.0.1"]);
  });

  test("is trusted again after it has been quiet for four minutes at most", async () => {
    const world = await open("east", "north", "west");
    const [east, north, west] = world.sites;
    await east!.site.offer("web", ["10.1.0.1"]);
    await north!.site.offer("web", ["10.2.0.1"]);
    world.start();
    await world.pass(10);
    for (let round = 0; round < 5; round += 1) await flap(world, east!.line);
    await expectUsable(west!.site, "web", ["10.2.0.1"]);
    const told = world.warnings.filter(({ message }) => message === "liveness changed");
    expect(told.at(-1)?.fields).toEqual({ source: "east", liveness: "flapping" });
    await world.pass(240);
    await expectUsable(west!.site, "web", ["10.1.0.1", "10.2.0.1"]);
  });

  test("is not written to the others each time, while others stand in for it", async () => {
    const world = await open("east", "north", "west");
    const [east, north, west] = world.sites;
    await east!.site.offer("web", ["10.1.0.1"]);
    await north!.site.offer("web", ["10.2.0.1"]);
    world.start();
    await world.pass(10);
    await flap(world, east!.line);
    west!.line.forgetWrites();
    for (let round = 0; round < 10; round += 1) {
      // Long enough to be silent, too short to be lost.
      east!.line.cut();
      await world.pass(18);
      east!.line.heal();
      await world.pass(12);
    }
    const told = world.warnings.filter(({ fields }) => fields["liveness"] === "silent");
    expect(told.length).toBeGreaterThan(8);
    expect(west!.line.writes()).toEqual([]);
  });
});

describe("stop ends in bounded time and leaves nothing", () => {
  test("in the middle of work", async () => {
    const world = await open("east", "west");
    await world.sites[0]!.site.offer("web", ["10.1.0.1"]);
    await world.pass(5);
    const before = world.clock.pendingTimers;
    world.start();
    await world.pass(12);
    const stopped = world.stop();
    await world.pass(0);
    await stopped;
    expect(world.clock.pendingTimers).toBe(before);
  });

  test("while no cluster answers at all", async () => {
    const world = await open("east", "west");
    for (const { cluster } of world.sites) {
      cluster.faults.add({ match: { userAgent: "isthmus-central" }, delayMs: 3_600_000 });
    }
    world.start();
    await world.pass(30);
    const beganMs = world.clock.monotonic();
    await world.during(world.stop());
    expect(world.clock.monotonic() - beganMs).toBeLessThan(1_000);
  });
});
