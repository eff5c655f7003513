// What the dashboard's page is told of clusters that central keeps in step, beside what the clusters have. On a virtual clock.

import { expect, test } from "vitest";
import { CLUSTER_PROPERTY } from "../src/api/about.ts";
import { ENDPOINT_SLICE, SERVICE } from "../src/api/builtin.ts";
import { CLUSTER_ID_PROPERTY, DRAIN_PROPERTY } from "../src/api/names.ts";
import { renderDrain } from "../src/core/drain.ts";
import { ageless, watchCentral } from "./dashboardWorld.ts";
import { anEndpoint } from "./scenarios/objects.ts";
import { openCentral } from "./sightings.ts";

test("a row shows what the API servers have: ports, virtual IPs, who offers what and who is led where", async () => {
  const { world, east, west } = await openCentral("east", "west", "edge");
  await east.site.offer("web", ["10.1.0.1", "10.1.0.2"]);
  await west.site.offer("web", ["10.2.0.1"]);
  await world.pass(5);
  const { service, part, page } = await watchCentral(world);
  expect(page()).toMatchObject({ synced: true, events: [], latency: [] });
  expect(service("shop/web")).toMatchObject({ type: "ClusterSetIP", verdict: "well", why: "" });
  for (const { site } of world.sites) {
    const { spec } = await site.serviceImport("web");
    const shown = part("shop/web", site.id);
    expect(shown.ips).toEqual(spec?.ips);
    expect(shown.sources).toEqual([
      { cluster: "east", ready: 2, total: 2 },
      { cluster: "west", ready: 1, total: 1 },
    ]);
    expect(service("shop/web").ports.map(({ name, port }) => [name, port])).toEqual(
      spec?.ports?.map(({ name = "", port }) => [name, port]),
    );
  }
  expect(part("shop/web", "east").offered).toEqual({ ready: 2, total: 2 });
  expect(part("shop/web", "edge")).toMatchObject({ exported: false });
});

test("the page that merges every change shows what a page that comes now is told", async () => {
  const { world, east, west } = await openCentral("east", "west", "edge");
  const watched = await watchCentral(world);
  await east.site.offer("web", ["10.1.0.1"]);
  await east.site.offer("db", ["10.1.0.9"]);
  await world.pass(3);
  await west.site.offer("web", ["10.2.0.1"]);
  await east.site.unexport("db");
  await world.pass(3);
  watched.lines.get("west")!.cut();
  await world.pass(40);
  expect(watched.changes.length).toBeGreaterThan(3);
  expect(ageless(watched.page())).toEqual(ageless(watched.feed.state()));
});

test("a change that concerns one service tells of no other, and a clusterset at rest tells nothing", async () => {
  const { world, east } = await openCentral("east", "west");
  for (const name of ["a", "b", "c"]) await east.site.offer(name, ["10.1.0.1"]);
  await world.pass(5);
  const { changes } = await watchCentral(world);
  await world.pass(60);
  expect(changes).toEqual([]);
  // Of something that is not shown nothing is told either.
  await east.site.edit(ENDPOINT_SLICE, "a-ipv4", (slice) => ({
    ...slice,
    metadata: { ...slice.metadata, annotations: { note: "of no concern" } },
  }));
  await world.pass(5);
  expect(changes).toEqual([]);
  await east.site.edit(ENDPOINT_SLICE, "b-ipv4", (slice) => ({
    ...slice,
    endpoints: [anEndpoint("10.1.0.1"), anEndpoint("10.1.0.2")],
  }));
  await world.pass(5);
  expect(new Set(changes.flatMap(({ services }) => services.map(({ key }) => key)))).toEqual(
    new Set(["shop/b"]),
  );
});

test("however fast endpoints change, the page is told at most four times a second", async () => {
  const { world, east } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(5);
  const { changes } = await watchCentral(world);
  for (let round = 0; round < 100; round += 1) {
    const endpoints = [anEndpoint(`10.1.0.${round + 1}`)];
    await east.site.edit(ENDPOINT_SLICE, "web-ipv4", (slice) => ({ ...slice, endpoints }));
    await world.clock.advance(20);
  }
  expect(changes.length).toBeGreaterThan(1);
  expect(changes.length).toBeLessThanOrEqual(9);
});

test("the time line tells of exports, conflicts and their end, in the words of the conditions", async () => {
  const { world, east, west } = await openCentral("east", "west");
  const { events, service } = await watchCentral(world);
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(3);
  await west.site.offer("web", ["10.2.0.1"], { ports: [{ name: "http", port: 81 }] });
  await world.pass(3);
  const { message } = (await east.site.exportConditions("web"))["Conflict"]!;
  expect(service("shop/web")).toMatchObject({ verdict: "warn", why: message.split("\n")[0] });
  await west.site.edit(SERVICE, "web", (web) => ({
    ...web,
    spec: { ...web.spec, ports: [{ name: "http", port: 80 }] },
  }));
  await world.pass(3);
  await east.site.unexport("web");
  await world.pass(3);
  expect(events()).toEqual([
    "exported east exports shop/web.",
    "exported west exports shop/web.",
    ...message.split("\n").map((line) => `conflict shop/web: ${line}`),
    "resolved The exports of shop/web agree again.",
    "unexported east does not export shop/web any more.",
  ]);
});

test("a cluster that goes away is shown as silent, then lost, with what was last known and who took over; then it is back", async () => {
  const { world, east, west } = await openCentral("east", "west", "edge");
  await east.site.offer("web", ["10.1.0.1"]);
  await west.site.offer("web", ["10.2.0.1"]);
  await world.pass(5);
  const { cluster, events, service, part, lines, page } = await watchCentral(world);
  for (const line of [west.line, lines.get("west")!]) line.cut();
  await world.pass(8);
  expect(cluster("west")).toMatchObject({ liveness: "live" });
  expect(cluster("west").why).toContain("has not answered since");
  await world.pass(18);
  expect(cluster("west")).toMatchObject({ liveness: "silent", exports: 1 });
  await world.pass(10);
  expect(cluster("west")).toMatchObject({ liveness: "lost" });
  expect(cluster("west").problems[0]).toContain("no route to the cluster");
  expect(service("shop/web")).toMatchObject({
    verdict: "warn",
    why: "west is lost: clients are led to the others.",
  });
  expect(part("shop/web", "edge").sources).toEqual([{ cluster: "east", ready: 1, total: 1 }]);
  expect(part("shop/web", "west").exported).toBe(true);
  for (const line of [west.line, lines.get("west")!]) line.heal();
  await world.pass(20);
  expect(cluster("west")).toMatchObject({ liveness: "live", problems: [] });
  expect(part("shop/web", "edge").sources.map(({ ready }) => ready)).toEqual([1, 1]);
  const kinds = page().events.map(({ kind, subject }) => `${kind} ${subject}`);
  expect(kinds.filter((kind) => kind.startsWith("failover"))).not.toEqual([]);
  expect(kinds.filter((kind) => !kind.startsWith("failover"))).toEqual([
    "lost west",
    "returned west",
  ]);
  expect(events().find((line) => line.startsWith("failover"))).toMatch(
    /^failover Clients of shop\/web in .*edge.* are led to east instead of west\.$/,
  );
});

test("when most clusters do not answer at once nobody is called lost: it may be the dashboard that is cut off", async () => {
  const { world } = await openCentral("east", "west", "edge");
  const { cluster, events, lines } = await watchCentral(world);
  for (const id of ["east", "west"]) lines.get(id)!.cut();
  await world.pass(60);
  for (const id of ["east", "west"]) {
    expect(cluster(id).liveness).toBe("unknown");
    expect(cluster(id).why).toContain("nor have most others");
  }
  expect(cluster("edge").liveness).toBe("live");
  expect(events()).toEqual([]);
});

test("a cluster that only the dashboard cannot reach is shown as lost, also in the rows, of which nothing else changed", async () => {
  const { world, east, west } = await openCentral("east", "west", "edge");
  await east.site.offer("web", ["10.1.0.1"]);
  await west.site.offer("web", ["10.2.0.1"]);
  await world.pass(5);
  const { lines, service, part, page } = await watchCentral(world);
  lines.get("west")!.cut();
  await world.pass(40);
  expect(service("shop/web").why).toBe("west is lost: clients are led to the others.");
  expect(part("shop/web", "edge").sources.map(({ ready }) => ready)).toEqual([1, 1]);
  expect(page().events.map(({ kind }) => kind)).toEqual(["lost"]);
});

test("a cluster that answers late is shown from the beginning, and what it then turns out to export is no news", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await west.site.offer("web", ["10.2.0.1"]);
  await world.pass(5);
  const watched = await watchCentral(world, { away: ["west"] });
  const { cluster, part, events, lines, page } = watched;
  expect(page().synced).toBe(true);
  expect(cluster("west")).toMatchObject({ liveness: "unknown" });
  expect(cluster("west")).not.toHaveProperty("exports");
  expect(cluster("west").why).toContain("no route to the cluster");
  expect(page().services[0]!.parts.map((one) => one.cluster)).toEqual(["east"]);
  lines.get("west")!.heal();
  await world.pass(10);
  expect(cluster("west")).toMatchObject({ liveness: "live", exports: 1, problems: [] });
  expect(part("shop/web", "west").exported).toBe(true);
  expect(events()).toEqual([]);
});

test("a change of endpoints is timed from the source cluster to every other importing cluster, on one clock", async () => {
  const { world, east } = await openCentral("east", "west", "edge");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(5);
  const { page } = await watchCentral(world);
  await east.site.edit(ENDPOINT_SLICE, "web-ipv4", (slice) => ({
    ...slice,
    endpoints: [anEndpoint("10.1.0.1"), anEndpoint("10.1.0.2")],
  }));
  await world.pass(5);
  const samples = page().latency;
  expect(new Set(samples.map((one) => `${one.service} ${one.source} ${one.importer}`))).toEqual(
    new Set(["shop/web east edge", "shop/web east west"]),
  );
  for (const { ms, at } of samples) {
    expect(at).toMatch(/^2026-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(ms).toBeGreaterThanOrEqual(0);
    expect(ms).toBeLessThan(2_000);
  }
});

test("a drained cluster is shown as such, with the reason, and its services stay well", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await west.site.offer("web", ["10.2.0.1"]);
  await world.pass(5);
  const { cluster, service, page } = await watchCentral(world);
  await west.site.store.create(CLUSTER_PROPERTY, renderDrain("new kernels"));
  await world.pass(10);
  expect(cluster("west")).toMatchObject({ liveness: "drained" });
  expect(cluster("west").why).toContain("new kernels");
  expect(service("shop/web").verdict).toBe("well");
  await west.site.store.delete(CLUSTER_PROPERTY, { name: DRAIN_PROPERTY });
  await world.pass(10);
  expect(cluster("west").liveness).toBe("live");
  const kinds = page().events.map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind !== "failover")).toEqual(["drained", "undrained"]);
});

test("a source that changes while it is drained, and is used again later, was not that late", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await west.site.offer("web", ["10.2.0.1"]);
  await world.pass(5);
  const { page } = await watchCentral(world);
  await west.site.store.create(CLUSTER_PROPERTY, renderDrain("new kernels"));
  await world.pass(10);
  const before = page().latency.length;
  for (const unready of ["10.2.0.8", "10.2.0.9"]) {
    const endpoints = [
      anEndpoint("10.2.0.1"),
      anEndpoint(unready, { conditions: { ready: false } }),
    ];
    await west.site.edit(ENDPOINT_SLICE, "web-ipv4", (slice) => ({ ...slice, endpoints }));
    await world.pass(10);
  }
  await west.site.store.delete(CLUSTER_PROPERTY, { name: DRAIN_PROPERTY });
  await world.pass(10);
  expect(page().latency.slice(before)).toEqual([]);
});

test("a cluster that is away at first turns out to be who it is, which is no news", async () => {
  const { world, west } = await openCentral("east", "west");
  await west.site.store.create(CLUSTER_PROPERTY, {
    apiVersion: "about.k8s.io/v1beta1",
    kind: "ClusterProperty",
    metadata: { name: CLUSTER_ID_PROPERTY },
    spec: { value: "west" },
  });
  const { page, events, lines } = await watchCentral(world, {
    away: ["west"],
    named: { west: "kind-west" },
    nameless: ["west"],
  });
  expect(page().clusters.map(({ id }) => id)).toEqual(["east", "kind-west"]);
  lines.get("west")!.heal();
  await world.pass(20);
  expect(page().clusters.map(({ id }) => id)).toEqual(["east", "west"]);
  expect(events()).toEqual([]);
});

test("two clusters of one id are both shown, and only the first takes part", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await west.site.offer("db", ["10.2.0.1"]);
  await world.pass(5);
  const { page } = await watchCentral(world, { called: { west: "east" } });
  expect(page().clusters.map(({ id, liveness }) => [id, liveness])).toEqual([
    ["east", "live"],
    ["west", "unknown"],
  ]);
  expect(page().clusters[1]!.problems[0]).toContain("give each an id of its own");
  const exporters = page().services.flatMap(({ parts }) =>
    parts.flatMap(({ cluster, exported }) => (exported ? cluster : [])),
  );
  expect(exporters).toEqual(["east"]);
});

test("a cluster that has the name of another's id, and its id, too, does not take its place", async () => {
  const { world, east, west } = await openCentral("east", "west", "edge");
  await east.site.offer("web", ["10.1.0.1"]);
  await west.site.offer("db", ["10.2.0.1"]);
  await world.pass(5);
  const { page, cluster } = await watchCentral(world, {
    named: { east: "prod", west: "east", edge: "prod" },
    called: { west: "east", edge: "east" },
  });
  expect(page().clusters.map(({ id, exports }) => [id, exports])).toEqual([
    ["east", 1],
    ["east (2)", 1],
    ["prod", 0],
  ]);
  expect(cluster("east").liveness).toBe("live");
  expect(cluster("east (2)").problems[0]).toContain("give each an id of its own");
});

test("a double that is named as a later cluster goes by its id does not take its place either", async () => {
  const { world } = await openCentral("east", "west", "edge");
  const { page } = await watchCentral(world, { named: { west: "edge" }, called: { west: "east" } });
  expect(page().clusters.map(({ id, liveness }) => [id, liveness])).toEqual([
    ["east", "live"],
    ["edge", "live"],
    ["edge (2)", "unknown"],
  ]);
});
