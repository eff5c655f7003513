import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LEASE } from "../api/builtin.ts";
import { CLUSTER_MEMBER } from "../api/isthmus.ts";
import { HUB_NAMESPACE, memberNamespace } from "../api/names.ts";
import { VERSION } from "../api/version.ts";
import { formatMicroTime } from "../ports/clock.ts";
import type { Hub } from "../ports/hub.ts";
import { type HubAgent, HubWorld, POD_RANGES } from "../../test/hubWorld.ts";
import { aContribution, aShare, id, WEB } from "../../test/shares.ts";
import { renderHolder } from "./heard.ts";

const EAST = id("east");
const WEST = id("west");
const LEASE_OF_EAST = { namespace: HUB_NAMESPACE, name: "east" };
const JOIN_AGAIN = 'Run "isthmus join" again';

let world: HubWorld;
let east: HubAgent;
let west: HubAgent;

beforeEach(async () => {
  world = await HubWorld.open("east", "west", "north");
  east = await world.start("east");
  west = await world.start("west");
});
afterEach(async () => {
  await world.stop();
});

const web = (cluster: string) => aContribution(aShare(cluster));
const memberRef = (name: string) => ({ namespace: memberNamespace(id(name)), name });
const namesOf = (hub: Hub) => hub.members().map(({ cluster }) => cluster);
const memberOf = (hub: Hub, name: string) =>
  hub.members().find(({ cluster }) => cluster === id(name));

async function saySynced(name: string, isSynced: boolean): Promise<void> {
  const member = await world.admin.get(CLUSTER_MEMBER, memberRef(name));
  const [condition] = member?.status?.conditions ?? [];
  const conditions = [{ ...condition!, status: isSynced ? "True" : "False" } as const];
  const status = { ...member!.status, conditions };
  await world.admin.replace(CLUSTER_MEMBER, { ...member!, status }, { subresource: "status" });
}

async function renew(name: string, isPublishing: boolean): Promise<void> {
  const lease = await world.admin.get(LEASE, { namespace: HUB_NAMESPACE, name });
  const renewTime = formatMicroTime(world.clock.now());
  const holderIdentity = renderHolder(id(name), isPublishing);
  await world.admin.replace(LEASE, {
    ...lease!,
    spec: { ...lease!.spec, renewTime, holderIdentity },
  });
}

async function publishAll(): Promise<void> {
  await east.hub.publish(web("east"));
  await east.hub.completeSync(EAST);
  await west.hub.publish(web("west"));
  await west.hub.completeSync(WEST);
  await world.pass(1);
}

describe("members", () => {
  test("have a ClusterMember by their own name in their own namespace", async () => {
    await publishAll();
    await world.admin.create(CLUSTER_MEMBER, {
      apiVersion: "isthmus.dev/v1alpha1",
      kind: "ClusterMember",
      metadata: { namespace: memberNamespace(EAST), name: "south" },
      spec: { podCIDRs: ["192.168.0.0/16"] },
    });
    await world.admin.create(CLUSTER_MEMBER, {
      apiVersion: "isthmus.dev/v1alpha1",
      kind: "ClusterMember",
      metadata: { namespace: "default", name: "default" },
      spec: POD_RANGES,
    });
    await world.pass(1);
    expect(namesOf(west.hub).toSorted()).toEqual(["east", "north", "west"]);
    expect(west.hub.contributions(WEB)).toEqual([web("east"), web("west")]);
  });

  test("whose shares were read first are told of once they are known", async () => {
    await publishAll();
    await world.admin.delete(CLUSTER_MEMBER, memberRef("east"));
    await world.pass(100);
    expect(west.hub.contributions(WEB)).toEqual([web("west")]);
    west.heard.length = 0;
    await world.admin.create(CLUSTER_MEMBER, {
      apiVersion: "isthmus.dev/v1alpha1",
      kind: "ClusterMember",
      metadata: memberRef("east"),
      spec: POD_RANGES,
    });
    await world.pass(1);
    expect(west.heard).toContain(WEB);
    expect(west.hub.contributions(WEB)).toEqual([web("east"), web("west")]);
  });

  test("that never get ready hold up nobody for more than ten minutes, which is told", async () => {
    await world.pass(500);
    expect(memberOf(west.hub, "north")?.isComplete).toBe(false);
    west.heard.length = 0;
    await world.pass(100);
    expect(memberOf(west.hub, "north")?.isComplete).toBe(true);
    expect(west.heard).toContain("members");
  });

  test("that are in order by turns, here and there, hold up nobody for more than twenty minutes in an hour", async () => {
    await publishAll();
    let completeSeconds = 0;
    for (let at = 0; at < 360; at += 1) {
      await saySynced("east", at % 2 === 0);
      await renew("east", at % 2 === 0);
      await world.pass(9);
      const member = memberOf(west.hub, "east");
      if (member?.isComplete === true && member.isCurrent) completeSeconds += 10;
      await world.pass(1);
    }
    expect(completeSeconds).toBeGreaterThanOrEqual(40 * 60);
  });

  test("that change their mind at every moment soon have nothing looked at again", async () => {
    await publishAll();
    west.heard.length = 0;
    for (let at = 0; at < 300; at += 1) {
      await saySynced("east", at % 2 === 1);
      await world.pass(1);
    }
    expect(west.heard.filter((what) => what === "members").length).toBeLessThanOrEqual(121);
    expect(memberOf(west.hub, "east")?.isComplete).toBe(true);
  });

  test("of whom something else is declared are told of, and believed at once", async () => {
    await publishAll();
    const member = await world.admin.get(CLUSTER_MEMBER, memberRef("east"));
    west.heard.length = 0;
    await world.admin.replace(CLUSTER_MEMBER, { ...member!, spec: { podCIDRs: ["10.7.0.0/16"] } });
    await world.pass(1);
    expect(west.heard).toEqual([WEB, "members"]);
    expect(west.hub.contributions(WEB)[0]?.endpoints).toEqual([]);
  });

  test("whose status says something that nobody here reads are not told of", async () => {
    await publishAll();
    const member = await world.admin.get(CLUSTER_MEMBER, memberRef("east"));
    west.heard.length = 0;
    const status = { ...member!.status, agentVersion: "9.9.9" };
    const options = { subresource: "status" } as const;
    await world.admin.replace(CLUSTER_MEMBER, { ...member!, status }, options);
    await world.pass(1);
    expect(west.heard).toEqual([]);
  });
});

describe("silence", () => {
  const silence = () => memberOf(west.hub, "east")?.silentMs;

  test("R66: ends with a heartbeat, not with somebody's label on the Lease", async () => {
    await world.pass(9);
    const lease = await world.admin.get(LEASE, LEASE_OF_EAST);
    const metadata = { ...lease!.metadata, labels: { team: "ops" } };
    await world.admin.replace(LEASE, { ...lease!, metadata });
    await world.pass(1);
    expect(silence()).toBeGreaterThanOrEqual(10_000);
    await east.hub.heartbeat(EAST);
    await world.pass(1);
    expect(silence()).toBe(1_000);
  });

  test("R66: does not depend on anybody's wall clock", async () => {
    await east.hub.heartbeat(EAST);
    world.clock.stepWall(-3_600_000);
    await world.pass(5);
    expect(silence()).toBe(5_000);
    await east.hub.heartbeat(EAST);
    await world.pass(1);
    expect(silence()).toBe(1_000);
  });

  test("begins at first sight, however old the Lease is", async () => {
    await east.hub.heartbeat(EAST);
    await world.pass(3_600);
    const again = await world.start("west");
    expect(memberOf(again.hub, "east")?.silentMs).toBeLessThanOrEqual(1_000);
  });

  test("of this cluster itself is seen, too: its own heartbeats come back to it", async () => {
    await world.pass(10);
    expect(memberOf(east.hub, "east")?.silentMs).toBeGreaterThan(9_000);
    await east.hub.heartbeat(EAST);
    await world.pass(1);
    expect(memberOf(east.hub, "east")?.silentMs).toBe(1_000);
  });

  test("goes on while the hub is away, and ends with what is heard afterwards", async () => {
    west.line.cut();
    await world.pass(60);
    await east.hub.heartbeat(EAST);
    expect(silence()).toBeGreaterThan(60_000);
    west.line.heal();
    await world.pass(40);
    expect(silence()).toBeLessThan(41_000);
    expect(memberOf(west.hub, "north")?.silentMs).toBeGreaterThan(100_000);
  });
});

describe("heartbeats", () => {
  test("are one write each, and renew the Lease", async () => {
    east.line.forgetWrites();
    await east.hub.heartbeat(EAST);
    expect(east.line.writes()).toEqual(["apply leases east"]);
    const lease = await world.admin.get(LEASE, LEASE_OF_EAST);
    expect(lease?.spec).toEqual({
      // Whoever reads it knows that there may be more to come.
      holderIdentity: "east (publishing)",
      leaseDurationSeconds: 30,
      renewTime: new Date(world.clock.now()).toISOString().replace("Z", "000Z"),
    });
    await east.hub.completeSync(EAST);
    await east.hub.heartbeat(EAST);
    const later = await world.admin.get(LEASE, LEASE_OF_EAST);
    expect(later?.spec?.holderIdentity).toBe("east");
  });

  test("without a Lease say what to do, and make none, though nobody has told us yet", async () => {
    world.cluster.faults.add({ match: { userAgent: "east" }, watchDelayMs: 500 });
    await world.admin.delete(LEASE, LEASE_OF_EAST);
    await expect(east.hub.heartbeat(EAST)).rejects.toThrow(JOIN_AGAIN);
    await world.pass(1);
    await expect(east.hub.heartbeat(EAST)).rejects.toThrow(JOIN_AGAIN);
    expect(await world.admin.get(LEASE, LEASE_OF_EAST)).toBeUndefined();
  });

  test("end within four seconds, and when the caller says so", async () => {
    world.cluster.faults.add({ match: { resource: "leases" }, delayMs: 60_000 });
    const late = east.hub.heartbeat(EAST).catch((error: unknown) => error);
    await world.pass(4);
    expect(await late).toMatchObject({ code: "Timeout" });
    const caller = new AbortController();
    const left = east.hub.heartbeat(EAST, caller.signal).catch((error: unknown) => error);
    caller.abort(new Error("enough"));
    expect(await left).toMatchObject({ message: "enough" });
    await world.pass(120);
  });
});

describe("who has published everything", () => {
  const status = async () => (await world.admin.get(CLUSTER_MEMBER, memberRef("east")))?.status;

  test("says so with the version of its agent, and once", async () => {
    world.cluster.faults.add({ match: { userAgent: "east" }, watchDelayMs: 2_000 });
    await east.hub.completeSync(EAST);
    await east.hub.completeSync(EAST);
    await world.pass(60);
    await east.hub.completeSync(EAST);
    expect(east.writes()).toEqual(["apply clustermembers/status east"]);
    expect(await status()).toMatchObject({
      agentVersion: VERSION,
      conditions: [{ type: "Synced", status: "True", reason: "Published" }],
    });
  });

  test("R8: keeps the time of the transition when only the version is another", async () => {
    await east.hub.completeSync(EAST);
    const before = await status();
    await world.pass(100);
    const member = await world.admin.get(CLUSTER_MEMBER, memberRef("east"));
    const older = { ...member!, status: { ...member!.status, agentVersion: "0.0.1" } };
    await world.admin.replace(CLUSTER_MEMBER, older, { subresource: "status" });
    await world.pass(1);
    await east.hub.completeSync(EAST);
    expect(await status()).toEqual(before);
  });

  test("leaves conditions of others alone", async () => {
    const member = await world.admin.get(CLUSTER_MEMBER, memberRef("east"));
    const foreign = {
      type: "Ready",
      status: "True",
      reason: "Fine",
      message: "",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    } as const;
    const written = { ...member!, status: { conditions: [foreign] } };
    await world.admin.replace(CLUSTER_MEMBER, written, { subresource: "status" });
    await east.hub.completeSync(EAST);
    await east.hub.completeSync(EAST);
    const types = (await status())?.conditions?.map(({ type }) => type);
    expect(types?.toSorted()).toEqual(["Ready", "Synced"]);
    expect(east.writes()).toHaveLength(1);
  });

  test("says it by itself when it could not be said at first", async () => {
    east.line.cut();
    await expect(east.hub.completeSync(EAST)).rejects.toMatchObject({ code: "Unreachable" });
    east.line.heal();
    await world.pass(60);
    expect(memberOf(west.hub, "east")?.isComplete).toBe(true);
  });

  test("neither asks nor complains every second when the hub does not let it say so", async () => {
    const refusal = world.cluster.faults.add({
      match: { resource: "clustermembers", verb: "patch" },
      fail: { status: 403, reason: "Forbidden" },
    });
    await expect(east.hub.completeSync(EAST)).rejects.toMatchObject({ code: "Forbidden" });
    await world.pass(3_600);
    expect(refusal.hits).toBeLessThan(150);
    const complaints = world.said.filter(({ message }) => message.startsWith("hub was not told"));
    expect(complaints).toHaveLength(1);
    refusal.remove();
    await world.pass(60);
    expect(memberOf(west.hub, "east")?.isComplete).toBe(true);
  });

  test("is told to join again when the hub does not know it", async () => {
    await world.evict("east");
    await world.pass(1);
    await expect(east.hub.completeSync(EAST)).rejects.toThrow(JOIN_AGAIN);
  });
});

describe("a member whose ClusterMember is gone", () => {
  beforeEach(publishAll);

  test("is silent and awaited, but still a source, until it would be lost; then it is forgotten", async () => {
    await world.admin.delete(CLUSTER_MEMBER, memberRef("east"));
    await world.pass(1);
    await east.hub.heartbeat(EAST);
    await world.pass(28);
    expect(memberOf(west.hub, "east")).toMatchObject({ isComplete: false });
    expect(memberOf(west.hub, "east")?.silentMs).toBeGreaterThanOrEqual(29_000);
    expect(west.hub.contributions(WEB)).toEqual([web("east"), web("west")]);
    west.heard.length = 0;
    await world.pass(1);
    expect(namesOf(west.hub)).not.toContain("east");
    expect(west.hub.contributions(WEB)).toEqual([web("west")]);
    expect(west.heard).toContain("members");
  });

  test("does not become less silent than it was", async () => {
    await world.pass(100);
    await world.admin.delete(CLUSTER_MEMBER, memberRef("east"));
    await world.pass(1);
    expect(memberOf(west.hub, "east")?.silentMs).toBeGreaterThan(100_000);
  });

  test("is a member like before when it is back in time", async () => {
    await world.admin.delete(CLUSTER_MEMBER, memberRef("east"));
    await world.pass(20);
    await world.register("east");
    await world.pass(60);
    expect(memberOf(west.hub, "east")?.isComplete).toBe(true);
    expect(west.hub.contributions(WEB)).toEqual([web("east"), web("west")]);
  });

  test("has left when it had withdrawn everything before", async () => {
    await east.hub.withdraw(EAST, WEB);
    await world.pass(1);
    await world.admin.delete(CLUSTER_MEMBER, memberRef("east"));
    await world.pass(1);
    expect(namesOf(west.hub)).not.toContain("east");
  });

  test("has left when its shares are seen to be deleted after it, though most left at once", async () => {
    await world.admin.delete(CLUSTER_MEMBER, memberRef("north"));
    world.cluster.faults.add({ match: { resource: "serviceshares" }, watchDelayMs: 3_000 });
    await east.hub.withdraw(EAST, WEB);
    await world.admin.delete(CLUSTER_MEMBER, memberRef("east"));
    await world.pass(1);
    expect(memberOf(west.hub, "east")).toMatchObject({ isComplete: false });
    await world.pass(3);
    expect(namesOf(west.hub)).toEqual(["west"]);
    expect(west.hub.contributions(WEB)).toEqual([web("west")]);
  });

  test("is awaited when its shares are merely absent from a list", async () => {
    west.line.cut();
    await world.evict("east");
    world.cluster.compact();
    const members = { userAgent: "west", verb: "list", resource: "clustermembers" } as const;
    world.cluster.faults.add({ match: { ...members, resource: "serviceshares" }, delayMs: 3_000 });
    world.cluster.faults.add({ match: { ...members, resource: "endpointshares" }, delayMs: 3_000 });
    west.line.heal();
    await world.pass(20);
    expect(memberOf(west.hub, "east")).toMatchObject({ isComplete: false });
  });

  test("is awaited when this cluster is unknown, too, whatever is deleted of it", async () => {
    await world.admin.delete(CLUSTER_MEMBER, memberRef("east"));
    await world.admin.delete(CLUSTER_MEMBER, memberRef("west"));
    await world.pass(1);
    await east.hub.withdraw(EAST, WEB);
    await world.pass(1);
    expect(memberOf(west.hub, "east")).toMatchObject({ isComplete: false });
  });

  test("is remembered for longer when most of them are gone at once: that is the hub's loss, not theirs", async () => {
    await world.admin.delete(CLUSTER_MEMBER, memberRef("east"));
    await world.admin.delete(CLUSTER_MEMBER, memberRef("west"));
    await world.pass(500);
    expect(west.hub.contributions(WEB)).toEqual([web("east"), web("west")]);
    expect(west.hub.hasStrangers()).toBe(true);
    await world.pass(120);
    expect(namesOf(west.hub)).toEqual(["north"]);
    expect(west.hub.hasStrangers()).toBe(true);
  });
});

describe("this cluster's own membership", () => {
  test("is in doubt until the hub has been read", async () => {
    const { line } = west;
    line.cut();
    const agent = world.connect("west", line);
    await world.pass(100);
    expect(agent.hub.hasStrangers()).toBe(true);
    line.heal();
    await world.pass(60);
    expect(agent.hub.hasStrangers()).toBe(false);
  });

  test("is told when all of the hub has been read, its shares last", async () => {
    const shares = { verb: "list", resource: "serviceshares" } as const;
    world.cluster.faults.add({ match: shares, delayMs: 5_000 });
    const agent = await world.start("north");
    expect(agent.hub.hasStrangers()).toBe(true);
    await world.pass(10);
    expect(agent.hub.hasStrangers()).toBe(false);
    expect(agent.heard).toContain("members");
  });

  test("is missed when it was evicted, and is back with it; then everything is said again", async () => {
    await publishAll();
    expect(east.hub.hasStrangers()).toBe(false);
    await world.evict("east");
    await world.pass(1);
    expect(east.hub.hasStrangers()).toBe(true);
    await world.pass(60);
    await world.register("east");
    await world.pass(1);
    expect(east.hub.hasStrangers()).toBe(false);
    expect(memberOf(west.hub, "east")?.isComplete).toBe(false);
    await world.pass(60);
    expect(memberOf(west.hub, "east")?.isComplete).toBe(false);
    await east.hub.publish(web("east"));
    await world.pass(2);
    expect(memberOf(west.hub, "east")?.isComplete).toBe(true);
  });
});
