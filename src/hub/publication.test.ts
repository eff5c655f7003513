import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { endpointShareName } from "../api/digest.ts";
import { ENDPOINT_SHARE, SERVICE_SHARE, SERVICE_SHARE_CRD } from "../api/hubshare.ts";
import { memberNamespace } from "../api/names.ts";
import { type HubAgent, HubWorld } from "../../test/hubWorld.ts";
import { aContribution, aShare, id, WEB } from "../../test/shares.ts";

const EAST = id("east");
const SHARE = { namespace: memberNamespace(EAST), name: "shop.web" };
const V4 = endpointShareName(WEB, "web-ipv4");
const V6 = endpointShareName(WEB, "web-ipv6");
const BOTH = ["10.0.0.1", "fd00::1"];
const web = (addresses?: readonly string[]) => aContribution(aShare("east"), addresses);

let world: HubWorld;
let east: HubAgent;
let west: HubAgent;

beforeEach(async () => {
  world = await HubWorld.open("east", "west");
  east = await world.start("east");
  west = await world.start("west");
});
afterEach(async () => {
  await world.stop();
});

/** What the exporter does when what the hub has of it is in doubt. */
function republish(agent: HubAgent): void {
  agent.hub.subscribe({
    onService: () => undefined,
    onDoubt: () => void agent.hub.publish(web()).catch(() => undefined),
    onMembers: () => undefined,
  });
}

describe("the order of writes", () => {
  test("R49: endpoints come before their service", async () => {
    await east.hub.publish(web(BOTH));
    expect(east.writes()).toEqual([
      `create endpointshares ${V4}`,
      `create endpointshares ${V6}`,
      "create serviceshares shop.web",
    ]);
  });

  test("a share is under way before the cluster is told of it: others wait for it longer", async () => {
    const sent: (readonly string[])[] = [];
    east.hub.subscribe({
      onService: () => sent.push(east.writes()),
      onDoubt: () => undefined,
      onMembers: () => undefined,
    });
    await east.hub.publish(web());
    expect(sent).toEqual([[`create endpointshares ${V4}`]]);
  });

  test("of a change: new endpoints, then the service, then old endpoints", async () => {
    await east.hub.publish(web(["10.0.0.1"]));
    east.line.forgetWrites();
    await east.hub.publish(aContribution(aShare("east", { ports: ["81/TCP"] }), ["fd00::1"]));
    expect(east.writes()).toEqual([
      `create endpointshares ${V6}`,
      "replace serviceshares shop.web",
      `delete endpointshares ${V4}`,
    ]);
  });

  test("R10: a service goes before its endpoints", async () => {
    await east.hub.publish(web(BOTH));
    east.line.forgetWrites();
    await east.hub.withdraw(EAST, WEB);
    expect(east.writes()).toEqual([
      "delete serviceshares shop.web",
      `delete endpointshares ${V4}`,
      `delete endpointshares ${V6}`,
    ]);
    expect(await world.serviceShares()).toEqual([]);
    expect(await world.endpointShares()).toEqual([]);
  });

  test("a change of one slice is one write", async () => {
    await east.hub.publish(web(BOTH));
    east.line.forgetWrites();
    await east.hub.publish(web(["10.0.0.2", "fd00::1"]));
    expect(east.writes()).toEqual([`replace endpointshares ${V4}`]);
  });
});

describe("what the hub has of a service", () => {
  test("is not in doubt when it is what was written, nor told of again", async () => {
    east.heard.length = 0;
    await east.hub.publish(web(BOTH));
    expect(east.heard).toEqual([WEB]);
    await world.pass(60);
    await east.hub.publish(web(["10.0.0.2"]));
    await world.pass(60);
    await east.hub.withdraw(EAST, WEB);
    await world.pass(60);
    expect(east.heard).toEqual([WEB, WEB, WEB]);
  });

  test("is in doubt when somebody else wrote it", async () => {
    await east.hub.publish(web());
    await world.pass(1);
    east.heard.length = 0;
    await world.admin.delete(SERVICE_SHARE, SHARE);
    await world.pass(1);
    expect(east.heard).toEqual([WEB, `doubt ${WEB}`]);
  });

  test("is in doubt when somebody else wrote it while we did", async () => {
    await east.hub.publish(web());
    await world.pass(1);
    east.heard.length = 0;
    const publishing = east.hub.publish(web(BOTH));
    await world.admin.delete(SERVICE_SHARE, SHARE);
    await publishing;
    await world.pass(1);
    expect(east.heard).toContain(`doubt ${WEB}`);
  });
});

describe("nothing is written", () => {
  test("when the same is published again, before or after the watch has shown it", async () => {
    await east.hub.publish(web(BOTH));
    east.line.forgetWrites();
    await east.hub.publish(web(BOTH));
    await world.pass(60);
    await east.hub.publish(web(BOTH));
    expect(east.writes()).toEqual([]);
  });

  test("when an agent is restarted and publishes what the hub has", async () => {
    await east.hub.publish(web(BOTH));
    await east.hub.completeSync(EAST);
    await world.pass(1);
    await east.hub.stop();
    const again = await world.start("east");
    await again.hub.publish(web(BOTH));
    await again.hub.completeSync(EAST);
    await world.pass(60);
    expect(again.writes()).toEqual([]);
  });

  test("again and again when the hub's older schema does not know a field of ours", async () => {
    await world.alterSchema(SERVICE_SHARE_CRD, ({ properties }) => {
      delete (properties as Record<string, unknown>)["trafficDistribution"];
    });
    const share = aContribution(aShare("east", { trafficDistribution: "PreferClose" }));
    await east.hub.publish(share);
    await world.pass(1);
    east.line.forgetWrites();
    await east.hub.publish(share);
    expect(east.writes()).toEqual([]);
    expect((await world.serviceShares())[0]?.spec.trafficDistribution).toBeUndefined();
    await east.hub.publish(aContribution(aShare("east", { trafficDistribution: "PreferSame" })));
    expect(east.writes()).toEqual(["replace serviceshares shop.web"]);
  });
});

test("nodes do not travel", async () => {
  const share = web();
  const [slice] = share.endpoints;
  const endpoints = slice!.endpoints.map((endpoint) => ({ ...endpoint, nodeName: "node-1" }));
  await east.hub.publish({ ...share, endpoints: [{ ...slice!, endpoints }] });
  await world.pass(1);
  expect(JSON.stringify(await world.endpointShares())).not.toContain("node-1");
  expect(east.hub.contributions(WEB)[0]?.endpoints[0]?.endpoints[0]?.nodeName).toBe("node-1");
});

test("what was written counts before the watch has shown it", async () => {
  world.cluster.faults.add({ match: { userAgent: "east" }, watchDelayMs: 3_000 });
  await east.hub.publish(web(BOTH));
  await east.hub.publish(web(BOTH));
  await east.hub.publish(web(["10.0.0.2"]));
  await east.hub.withdraw(EAST, WEB);
  await east.hub.withdraw(EAST, WEB);
  await east.hub.publish(web());
  expect(east.writes()).toEqual([
    `create endpointshares ${V4}`,
    `create endpointshares ${V6}`,
    "create serviceshares shop.web",
    `replace endpointshares ${V4}`,
    `delete endpointshares ${V6}`,
    "delete serviceshares shop.web",
    `delete endpointshares ${V4}`,
    `create endpointshares ${V4}`,
    "create serviceshares shop.web",
  ]);
  await world.pass(10);
  expect(west.hub.contributions(WEB)).toEqual([web()]);
  expect(east.hub.contributions(WEB)).toEqual([web()]);
});

describe("what somebody else does to our shares", () => {
  beforeEach(async () => {
    await east.hub.publish(web());
    await world.pass(1);
    republish(east);
  });

  test("is undone when a share is deleted", async () => {
    await world.admin.delete(SERVICE_SHARE, SHARE);
    await world.admin.delete(ENDPOINT_SHARE, { ...SHARE, name: V4 });
    await world.pass(1);
    expect(west.hub.contributions(WEB)).toEqual([web()]);
  });

  test("is undone when a share is altered", async () => {
    const [share] = await world.endpointShares();
    await world.admin.replace(ENDPOINT_SHARE, {
      ...share!,
      spec: { ...share!.spec, endpoints: [{ addresses: ["10.0.6.6"] }] },
    });
    await world.pass(1);
    expect(west.hub.contributions(WEB)).toEqual([web()]);
  });

  test("is undone when a slice is added that is not ours", async () => {
    const spec = { slice: "other", addressType: "IPv4", ports: [], endpoints: [] };
    await world.putEndpoints("east", endpointShareName(WEB, "other"), spec);
    await world.pass(1);
    expect(await world.endpointShares()).toHaveLength(1);
  });

  test("is undone also when a relist passed over our write and its undoing", async () => {
    const behind = world.cluster.faults.add({
      match: { userAgent: "east" },
      watchDelayMs: 3_000,
    });
    await east.hub.withdraw(EAST, WEB).catch(() => undefined);
    await east.hub.publish(web());
    east.heard.length = 0;
    await world.admin.delete(SERVICE_SHARE, SHARE);
    behind.remove();
    world.cluster.compact();
    world.cluster.faults.add({ match: { userAgent: "east" }, dropWatches: true });
    await world.pass(10);
    expect(west.hub.contributions(WEB)).toEqual([web()]);
  });
});

describe("a write that fails", () => {
  test("is made up for when it is tried again, though the first had been carried out", async () => {
    const lost = { match: { userAgent: "east", verb: "create" }, disconnect: true } as const;
    world.cluster.faults.add({ ...lost, afterWrite: true, times: 1 });
    await expect(east.hub.publish(web())).rejects.toMatchObject({ code: "Unreachable" });
    await world.pass(1);
    await east.hub.publish(web());
    await world.pass(1);
    expect(west.hub.contributions(WEB)).toEqual([web()]);
    expect(await world.endpointShares()).toHaveLength(1);
  });

  test("because the cache is behind is refused, and goes through once that has caught up", async () => {
    await east.hub.publish(web());
    await world.pass(1);
    world.cluster.faults.add({ match: { userAgent: "east" }, watchDelayMs: 2_000, times: 1 });
    const [share] = await world.serviceShares();
    await world.admin.replace(SERVICE_SHARE, {
      ...share!,
      spec: { ...share!.spec, type: "Headless" },
    });
    const changed = aContribution(aShare("east", { ports: ["81/TCP"] }));
    await expect(east.hub.publish(changed)).rejects.toMatchObject({ code: "Conflict" });
    await world.pass(3);
    await east.hub.publish(changed);
    await world.pass(1);
    expect(west.hub.contributions(WEB)).toEqual([changed]);
  });

  test("for one slice does not hold back the others, nor the service", async () => {
    world.cluster.faults.add({
      match: { verb: "create", resource: "endpointshares" },
      fail: { status: 422, reason: "Invalid" },
      times: 1,
    });
    await expect(east.hub.publish(web(BOTH))).rejects.toMatchObject({ code: "Invalid" });
    await world.pass(1);
    expect(west.hub.contributions(WEB)).toEqual([web(["fd00::1"])]);
  });

  test("does not take from this cluster what it knows of itself", async () => {
    east.line.cut();
    await expect(east.hub.publish(web())).rejects.toMatchObject({ code: "Unreachable" });
    expect(east.hub.contributions(WEB)).toEqual([web()]);
    expect(east.hub.published(EAST).has(WEB)).toBe(false);
  });
});

describe("before the hub has been read", () => {
  test("nothing is written, the caller is told so, and called when it can be made up for", async () => {
    const line = east.line;
    await east.hub.stop();
    line.cut();
    const agent = world.connect("east", line);
    await expect(agent.hub.publish(web())).rejects.toMatchObject({ code: "Unavailable" });
    await expect(agent.hub.withdraw(EAST, WEB)).rejects.toMatchObject({ code: "Unavailable" });
    await expect(agent.hub.publish(web())).rejects.toMatchObject({ code: "Unavailable" });
    await expect(agent.hub.heartbeat(EAST)).rejects.toMatchObject({ code: "Unavailable" });
    expect(agent.hub.contributions(WEB)).toEqual([web()]);
    expect(agent.writes()).toEqual([]);
    await world.pass(3_600);
    agent.heard.length = 0;
    line.heal();
    await world.pass(60);
    expect(agent.heard).toContain("members");
    await agent.hub.publish(web());
    await world.pass(1);
    expect(west.hub.contributions(WEB)).toEqual([web()]);
  });

  test("whoever waits for it hears of the end", async () => {
    const line = east.line;
    line.cut();
    const agent = world.connect("east", line);
    const waiting = agent.hub.whenSynced().catch((error: unknown) => error);
    await agent.hub.stop();
    expect(String(await waiting)).toContain("stopped");
  });
});

describe("R10: what a withdrawal that was cut short left behind is swept once everything is published", () => {
  async function cutShort(): Promise<void> {
    await east.hub.publish(web());
    await world.pass(1);
    world.cluster.faults.add({
      match: { verb: "delete", resource: "endpointshares" },
      disconnect: true,
      times: 1,
    });
    await expect(east.hub.withdraw(EAST, WEB)).rejects.toMatchObject({ code: "Unreachable" });
    expect(await world.endpointShares()).toHaveLength(1);
  }

  test("by who did it, though it counts as withdrawn already", async () => {
    await cutShort();
    await east.hub.completeSync(EAST);
    expect(await world.endpointShares()).toEqual([]);
  });

  test("by the next one, who never heard of it", async () => {
    await cutShort();
    await east.hub.stop();
    const again = await world.start("east");
    expect(again.hub.published(EAST).size).toBe(0);
    await again.hub.completeSync(EAST);
    expect(await world.endpointShares()).toEqual([]);
  });
});
