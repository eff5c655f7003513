import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LEASE } from "../api/builtin.ts";
import { ENDPOINT_SHARE, SERVICE_SHARE } from "../api/hubshare.ts";
import { CLUSTER_MEMBER } from "../api/isthmus.ts";
import type { KubeObject, Resource } from "../api/object.ts";
import { type HubAgent, HubWorld } from "../../test/hubWorld.ts";
import { aContribution, aShare, id, WEB } from "../../test/shares.ts";

const web = (cluster: string, addresses?: readonly string[]) =>
  aContribution(aShare(cluster), addresses);

let world: HubWorld;
let east: HubAgent;
let west: HubAgent;

beforeEach(async () => {
  world = await HubWorld.open("east", "west");
  east = await world.start("east");
  west = await world.start("west");
  for (const [name, { hub }] of [["east", east] as const, ["west", west] as const]) {
    await hub.publish(web(name));
    await hub.completeSync(id(name));
  }
  await world.pass(10);
  east.heard.length = 0;
  west.heard.length = 0;
});
afterEach(async () => {
  await world.stop();
});

describe("a hub that is away", () => {
  test("leaves what is known as it is, and tells nothing when nothing has changed meanwhile", async () => {
    west.line.cut();
    await world.pass(3_600);
    expect(west.hub.contributions(WEB)).toEqual([web("east"), web("west")]);
    expect(west.hub.hasStrangers()).toBe(false);
    expect(west.hub.hubSilentMs()).toBeGreaterThan(3_500_000);
    west.line.heal();
    await world.pass(60);
    expect(west.heard).toEqual([]);
    expect(west.writes().filter((write) => !write.startsWith("create"))).toHaveLength(1);
    expect(west.hub.hubSilentMs()).toBeLessThan(60_000);
  });

  test("tells what has changed meanwhile when it is back, though it has forgotten the past", async () => {
    west.line.cut();
    await east.hub.publish(web("east", ["10.0.0.2"]));
    await world.pass(600);
    world.cluster.compact();
    west.line.heal();
    await world.pass(60);
    expect(west.hub.contributions(WEB)).toEqual([web("east", ["10.0.0.2"]), web("west")]);
    expect(new Set(west.heard)).toEqual(new Set([WEB]));
  });

  test("is asked again by all informers as soon as one of them has an answer", async () => {
    west.line.cut();
    await world.pass(3_600);
    west.line.heal();
    await east.hub.publish(web("east", ["10.0.0.2"]));
    await east.hub.heartbeat(id("east"));
    for (let seconds = 0; seconds < 31; seconds += 1) {
      await world.pass(1);
      const [first] = west.hub.contributions(WEB);
      const member = west.hub.members().find(({ cluster }) => cluster === id("east"));
      const isChanged = first?.endpoints[0]?.endpoints[0]?.addresses[0] === "10.0.0.2";
      expect(isChanged).toBe((member?.silentMs ?? 0) < 60_000);
      if (isChanged) return;
    }
    throw new Error("nobody asked again");
  });
});

describe("a hub that has lost its data", () => {
  beforeEach(async () => {
    for (const { line } of [east, west]) line.cut();
    await deleteAll(SERVICE_SHARE);
    await deleteAll(ENDPOINT_SHARE);
    await deleteAll(CLUSTER_MEMBER);
    await deleteAll(LEASE);
    world.cluster.compact();
  });

  test("takes nothing away, however long", async () => {
    west.line.heal();
    await world.pass(1);
    expect(west.hub.contributions(WEB)).toEqual([web("east"), web("west")]);
    await world.pass(300);
    expect(west.hub.hasStrangers()).toBe(true);
    expect(west.hub.contributions(WEB)).toEqual([web("east"), web("west")]);
    expect(west.hub.members().every(({ isComplete }) => !isComplete)).toBe(true);
    await world.pass(3_600);
    expect(west.hub.hasStrangers()).toBe(true);
  });

  test("awaits the others when this cluster has joined again before them", async () => {
    for (const { line } of [east, west]) line.heal();
    await world.pass(10);
    await world.register("west");
    await world.pass(60);
    expect(west.hub.hasStrangers()).toBe(false);
    const other = west.hub.members().find(({ cluster }) => cluster === id("east"));
    expect(other).toMatchObject({ isComplete: false });
  });

  test("awaits them also when its shares are read before its members", async () => {
    await world.register("west");
    const late = { verb: "list", resource: "clustermembers" } as const;
    world.cluster.faults.add({ match: late, delayMs: 5_000, times: 1 });
    west.line.heal();
    await world.pass(20);
    expect(west.hub.hasStrangers()).toBe(false);
    const other = west.hub.members().find(({ cluster }) => cluster === id("east"));
    expect(other).toMatchObject({ isComplete: false });
    expect(west.hub.published(id("east")).size).toBe(0);
  });

  test("is as it was when everybody has joined again", async () => {
    for (const { line } of [east, west]) line.heal();
    await world.pass(60);
    for (const name of ["east", "west"]) await world.register(name);
    await world.pass(60);
    for (const [name, { hub }] of [["east", east] as const, ["west", west] as const]) {
      expect(hub.published(id(name)).has(WEB)).toBe(false);
      await hub.publish(web(name));
    }
    await world.pass(5);
    for (const { hub } of [east, west]) {
      expect(hub.contributions(WEB)).toEqual([web("east"), web("west")]);
      expect(hub.members().map(({ isComplete }) => isComplete)).toEqual([true, true]);
    }
  });
});

async function deleteAll<T extends KubeObject>(resource: Resource<T>): Promise<void> {
  const { items } = await world.admin.list(resource);
  for (const { metadata } of items) {
    const { namespace = "", name = "" } = metadata;
    await world.admin.delete(resource, { namespace, name });
  }
}
