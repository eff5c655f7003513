// What the dashboard's page is told where agents keep clusters in step through a hub: by Leases, and by what members share. On a
// virtual clock.

import { expect, test } from "vitest";
import { ENDPOINT_SLICE } from "../src/api/builtin.ts";
import { refuse, watchAgents, watchAgentsThrough } from "./dashboardWorld.ts";
import { createLine } from "./scenarios/line.ts";
import { anEndpoint } from "./scenarios/objects.ts";
import { openAgents } from "./sightings.ts";

test("one joined cluster shows all of them: of the others, what the hub has", async () => {
  const { world, east, west } = await openAgents("east", "west");
  await east.site.offer("web", ["10.1.0.1", "10.1.0.2"]);
  await west.site.offer("web", ["10.2.0.1"]);
  await west.site.offer("db", ["10.2.0.9"]);
  await world.pass(10);
  const { page, cluster, part, service } = await watchAgents(world, "east");
  expect(page().hub).toEqual({ server: "https://hub.example.org" });
  await world.pass(10);
  expect(cluster("west")).toMatchObject({
    liveness: "live",
    why: "Its agent renews its lease.",
    exports: 2,
    problems: [],
  });
  expect(cluster("west").imports).toBeUndefined();
  expect(cluster("west").leaseAgeSeconds).toBeLessThan(10);
  expect(cluster("east")).toMatchObject({ liveness: "live", exports: 1, imports: 2 });
  expect(part("shop/web", "west")).toEqual({
    cluster: "west",
    exported: true,
    offered: { ready: 1, total: 1 },
    ips: [],
    sources: [],
  });
  expect(part("shop/db", "east").sources).toEqual([{ cluster: "west", ready: 1, total: 1 }]);
  expect(service("shop/db")).toMatchObject({ verdict: "well", why: "" });
});

test("each renewal of a Lease is told, because the page counts its age on", async () => {
  const { world } = await openAgents("east", "west");
  const { changes } = await watchAgents(world, "east");
  await world.pass(30);
  const renewals = changes.filter(({ clusters }) => clusters.some(({ id }) => id === "west"));
  expect(renewals.length).toBeGreaterThanOrEqual(5);
  for (const { clusters } of renewals) {
    const west = clusters.find(({ id }) => id === "west")!;
    expect(west.leaseAgeSeconds).toBe(0);
  }
});

test("a member whose agent stops is silent, then lost, by its Lease, although its API server answers; then it is back", async () => {
  const { world, east, west } = await openAgents("east", "west", "edge");
  await east.site.offer("web", ["10.1.0.1"]);
  await west.site.offer("web", ["10.2.0.1"]);
  await world.pass(10);
  const { cluster, page, part } = await watchAgents(world, "east", "west");
  await world.pass(10);
  await world.during(west.stop());
  await world.pass(22);
  expect(cluster("west").liveness).toBe("silent");
  await world.pass(12);
  expect(cluster("west")).toMatchObject({ liveness: "lost" });
  expect(cluster("west").why).toContain("Its lease has not been renewed since 20");
  expect(cluster("west").next).toContain("Start the agent of west");
  expect(part("shop/web", "east").sources).toEqual([{ cluster: "east", ready: 1, total: 1 }]);
  west.start();
  await world.pass(30);
  expect(cluster("west").liveness).toBe("live");
  const happened = page().events.map(({ kind, subject }) => `${kind} ${subject}`);
  expect(happened).toEqual(["lost west", "failover shop/web", "returned west"]);
});

test("a hub that does not answer is said, and changes nothing that is shown of services", async () => {
  const { world, east } = await openAgents("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(10);
  const { page, hubLine, service, events } = await watchAgents(world, "west");
  const before = service("shop/web").parts.map(({ cluster, sources }) => [cluster, sources]);
  hubLine.cut();
  await world.pass(60);
  expect(page().hub?.problem).toContain("no route");
  expect(page().clusters.map(({ liveness }) => liveness)).toEqual(["unknown", "unknown"]);
  expect(service("shop/web").parts.map(({ cluster, sources }) => [cluster, sources])).toEqual(
    before,
  );
  hubLine.heal();
  await world.pass(20);
  expect(page().hub).toEqual({ server: "https://hub.example.org" });
  expect(page().clusters.map(({ liveness }) => liveness)).toEqual(["live", "live"]);
  expect(events()).toEqual([]);
});

test("a hub that puts off one kind for good is said, and keeps nothing else from being shown", async () => {
  const { world, east } = await openAgents("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(10);
  const hub = refuse(world.hubStore, "endpointshares", "TooManyRequests");
  const line = createLine(hub, () => true);
  const { page, service } = await watchAgentsThrough(line, world, "west");
  await world.pass(30);
  expect(page()).toMatchObject({ synced: true, clusters: [{ id: "east" }, { id: "west" }] });
  expect(page().hub?.problem).toContain("The hub could not be asked");
  expect(service("shop/web").parts.map(({ cluster }) => cluster)).toEqual(["east", "west"]);
});

test("whom a hub knows that was away at first has not just joined", async () => {
  const { world } = await openAgents("east", "west", "edge");
  const line = createLine(world.hubStore, () => true);
  line.cut();
  const { page, events } = await watchAgentsThrough(line, world, "east");
  expect(page()).toMatchObject({ synced: true, clusters: [{ id: "east" }] });
  line.heal();
  await world.pass(20);
  expect(page().clusters.map(({ id }) => id)).toEqual(["east", "edge", "west"]);
  expect(events()).toEqual([]);
});

test("a change in a cluster that only the hub knows is timed from its share on the hub", async () => {
  const { world, east } = await openAgents("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(10);
  const { page } = await watchAgents(world, "west");
  await east.site.edit(ENDPOINT_SLICE, "web-ipv4", (slice) => ({
    ...slice,
    endpoints: [anEndpoint("10.1.0.1"), anEndpoint("10.1.0.2")],
  }));
  await world.pass(10);
  expect(page().latency.map(({ source, importer }) => [source, importer])).toEqual([
    ["east", "west"],
  ]);
});

test("who joins and who is evicted is told on the time line", async () => {
  const { world } = await openAgents("east", "west", "edge");
  const edge = world.sites[2]!.id;
  const { page } = await watchAgents(world, "east");
  await world.evict(edge);
  await world.pass(5);
  expect(page().events.map(({ kind, subject }) => [kind, subject])).toEqual([["left", "edge"]]);
  expect(page().clusters.map(({ id }) => id)).toEqual(["east", "west"]);
  await world.register(edge);
  await world.pass(5);
  expect(page().events.at(-1)).toMatchObject({ kind: "joined", subject: "edge" });
});
