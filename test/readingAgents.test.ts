// What the view says of clusters with agents and a hub: what each has told the hub, what is let in, who is heard. On a
// virtual clock, so that a Lease may grow old in no time.

import { expect, onTestFinished, test } from "vitest";
import { ENDPOINT_SLICE, SERVICE } from "../src/api/builtin.ts";
import { viewStatus } from "../src/core/clusterset/health.ts";
import { viewClusterset } from "../src/core/clusterset/view.ts";
import { CLUSTER_MEMBER } from "../src/api/isthmus.ts";
import { memberNamespace } from "../src/api/names.ts";
import { AgentWorld } from "./agentWorld.ts";
import { anEndpoint, aSlice } from "./scenarios/objects.ts";
import { at, complaints, mustExplain, observeAgents, openAgents } from "./sightings.ts";

test("in a world at rest everything is in step, seen from all clusters and seen from one", async () => {
  const { world, east, west } = await openAgents("east", "west");
  await east.site.offer("web", [
    anEndpoint("10.1.0.1", { nodeName: "node-1", zone: "a", hostname: "web-1" }),
    "10.1.0.2",
  ]);
  await world.pass(2);
  await west.site.offer("web", ["10.2.0.1"]);
  await world.pass(10);
  for (const only of [["east", "west"], ["west"]]) {
    const observation = await observeAgents(world, { only });
    expect(complaints(mustExplain(observation))).toEqual([]);
    expect(viewStatus(observation)).toMatchObject({ well: true, findings: [] });
    const { clusters, services, hub } = viewClusterset(observation);
    expect(hub?.members).toBe(2);
    expect(clusters.map(({ id, liveness, podCIDRs }) => [id, liveness, podCIDRs])).toEqual([
      ["east", "live", ["10.1.0.0/16"]],
      ["west", "live", ["10.2.0.0/16"]],
    ]);
    expect(services[0]!.exports.map(({ cluster, ready }) => [cluster, ready])).toEqual([
      ["east", 2],
      ["west", 1],
    ]);
  }
});

test("one joined cluster shows the whole clusterset: of the others, what the hub has", async () => {
  const { world, east } = await openAgents("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(10);
  const { clusters } = viewClusterset(await observeAgents(world, { only: ["west"] }));
  const [seenByHub, seen] = clusters;
  expect(seenByHub).toMatchObject({ id: "east", source: "hub", exports: 1 });
  expect(seenByHub!.imports).toBeUndefined();
  expect(seen).toMatchObject({ id: "west", source: "seen", imports: 1 });
});

test("what the hub has not heard of is told at the export, with whose agent to look at", async () => {
  const { world, east } = await openAgents("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(10);
  await world.during(east.stop());
  await east.site.edit(ENDPOINT_SLICE, "web-ipv4", (slice) => ({
    ...slice,
    endpoints: [anEndpoint("10.1.0.1"), anEndpoint("10.1.0.2")],
  }));
  await east.site.offer("db", ["10.1.0.9"]);
  const observation = await observeAgents(world);
  const step = at(observation, "export in east", "in step");
  expect(step.why).toBe("The hub does not have its last change.");
  expect(step.next).toContain("Is the agent of east running?");
  expect(at(observation, "in west", "from east", "10.1.0.2").why).toBe(
    "The hub does not have it as it is in east.",
  );
  // West is in step with the hub: it has nothing to mend.
  expect(complaints(at(observation, "in west"))).toHaveLength(1);
  const db = mustExplain(observation, "shop/db");
  expect(complaints(db)[1]).toContain("it has no conditions");
});

test("an address outside of the declared ranges is out, with the range to declare", async () => {
  const { world, east } = await openAgents("east", "west");
  await east.site.offer("web", ["10.1.0.1", "10.77.0.1"]);
  await world.pass(10);
  const observation = await observeAgents(world);
  const stray = at(observation, "in west", "from east", "10.77.0.1");
  expect(stray.why).toBe(
    "It is not let in: it lies outside of the pod ranges that are declared for east.",
  );
  expect(at(observation, "in west", "from east").why).toContain(
    'of cluster "east" lies outside its declared ranges, such as 10.77.0.1',
  );
  expect(at(observation, "in east", "from east").verdict).toBe("good");
  expect(at(observation, "in west", "from east").verdict).toBe("bad");
  // At home it is what it is.
  expect(at(observation, "in east", "from east", "10.77.0.1").inUse).toBe(true);
  const row = viewClusterset(observation).services[0]!.imports.find(
    ({ cluster }) => cluster === "west",
  )!;
  expect(row.behind).toBeUndefined();
});

test("a cluster whose agent died is silent, then lost, by what the others made of its endpoints", async () => {
  const { world, east, west } = await openAgents("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await west.site.offer("web", ["10.2.0.1"]);
  await world.pass(10);
  await world.during(east.stop());
  await world.pass(24);
  let observation = await observeAgents(world);
  expect(viewClusterset(observation).clusters[0]).toMatchObject({ id: "east", liveness: "silent" });
  expect(at(observation, "in west", "from east", "10.1.0.1").why).toBe(
    "west keeps it not ready, because east is silent.",
  );
  await world.pass(20);
  observation = await observeAgents(world);
  const [lost] = viewClusterset(observation).clusters;
  expect(lost).toMatchObject({ liveness: "lost" });
  expect(lost!.livenessNext).toContain("Start the agent of east");
  const { findings } = viewStatus(observation);
  expect(findings.map(({ subject, verdict }) => [subject, verdict])).toEqual([["east", "bad"]]);
  expect(mustExplain(observation).usable).toContainEqual({ cluster: "west", verdict: "good" });
});

test("a cluster that came and went too often is told as flapping: heard, and yet held back", async () => {
  const { world, east, west } = await openAgents("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await west.site.offer("web", ["10.2.0.1"]);
  await world.pass(10);
  for (let round = 0; round < 3; round += 1) {
    east.hubLine.cut();
    await world.pass(24);
    east.hubLine.heal();
    await world.pass(12);
  }
  const observation = await observeAgents(world);
  const [cluster] = viewClusterset(observation).clusters;
  expect(cluster).toMatchObject({ id: "east", liveness: "flapping" });
  expect(cluster!.livenessWhy).toBe("east is heard, but west keeps its endpoints not ready.");
  expect(at(observation, "in west", "from east").verdict).toBe("bad");
  expect(at(observation, "in west").parts.map(({ what }) => what)).not.toContain("in step");
});

test("endpoints that nobody could stand in for are late, not held back", async () => {
  const { world, east, west } = await openAgents("east", "west");
  const unready = { conditions: { ready: false, serving: false, terminating: false } };
  await east.site.offer("web", [anEndpoint("10.1.0.1", unready)]);
  await world.pass(10);
  await world.during(west.stop());
  await east.site.edit(ENDPOINT_SLICE, "web-ipv4", (slice) => ({
    ...slice,
    endpoints: [anEndpoint("10.1.0.1")],
  }));
  await world.pass(5);
  const observation = await observeAgents(world);
  expect(at(observation, "in west", "in step").verdict).toBe("bad");
  expect(at(observation, "in west", "from east", "10.1.0.1").why).toBe(
    "It is ready in east, but not yet in west.",
  );
});

test("nobody loses itself: what its own agent left behind at home is late", async () => {
  const { world, east, west } = await openAgents("east", "west");
  await east.site.offer("web", []);
  await west.site.offer("web", ["10.2.0.1"]);
  await world.pass(10);
  await world.during(east.stop());
  await east.site.create(
    ENDPOINT_SLICE,
    aSlice("shop", "web-late", { service: "web", endpoints: [anEndpoint("10.1.0.1")] }),
  );
  await world.pass(60);
  const observation = await observeAgents(world);
  expect(at(observation, "in east", "in step").why).toContain("1 EndpointSlice is missing");
  expect(at(observation, "in east", "from east", "10.1.0.1").why).toBe(
    "It has not arrived in east.",
  );
});

test("a Lease is judged by its changing; its age alone is told and not judged", async () => {
  const { world, east } = await openAgents("east", "west");
  await world.during(east.stop());
  await world.pass(60);
  const observation = await observeAgents(world);
  const [cluster] = viewClusterset(observation).clusters;
  expect(cluster).toMatchObject({ id: "east", liveness: "unknown" });
  expect(cluster!.livenessWhy).toMatch(/^Its lease was last renewed 6\ds ago by its own clock/);
  const { hub } = observation;
  const watched = (elapsedMs: number) => ({
    ...observation,
    hub: { ...hub!, before: { leases: hub!.leases, elapsedMs } },
  });
  expect(viewClusterset(watched(5_000)).clusters[0]!.liveness).toBe("unknown");
  expect(viewClusterset(watched(13_000)).clusters[0]).toMatchObject({ liveness: "silent" });
  expect(viewStatus(watched(13_000)).well).toBe(false);
  const older = hub!.leases.map((lease) => ({
    ...lease,
    spec: { renewTime: "2020-01-01T00:00:00Z" },
  }));
  const renewed = { ...observation, hub: { ...hub!, before: { leases: older, elapsedMs: 3_000 } } };
  expect(viewClusterset(renewed).clusters[0]!.liveness).toBe("live");
});

test("a cluster that joined and never spoke is said to have no agent yet", async () => {
  const world = await AgentWorld.open("east", "west");
  onTestFinished(() => world.during(world.stop()));
  const { findings } = viewStatus(await observeAgents(world));
  const east = findings.filter(({ subject }) => subject === "east");
  expect(east.map(({ why }) => why)).toEqual([
    "It has joined, but its agent has never renewed its lease.",
    "It has joined, but has not told the hub all that it exports yet.",
  ]);
});

test("an import that its own agent left behind is told as that agent's work", async () => {
  const { world, east, west } = await openAgents("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(10);
  await world.during(west.stop());
  await east.site.edit(SERVICE, "web", (service) => ({
    ...service,
    spec: { ...service.spec, ports: [{ name: "http", protocol: "TCP" as const, port: 81 }] },
  }));
  await world.pass(10);
  const step = at(await observeAgents(world), "in west", "in step");
  expect(step.why).toContain("does not show what the exports agree on");
  expect(step.next).toContain("Is the agent of west running?");
});

test("a hub that does not answer is a sentence, and what clusters show is shown", async () => {
  const { world, east } = await openAgents("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(10);
  const whole = await observeAgents(world);
  const problem = "The hub could not be asked: no route.";
  const hub = {
    ...whole.hub!,
    problem,
    members: [],
    leases: [],
    hasShares: false,
    serviceShares: [],
    endpointShares: [],
  };
  const observation = { ...whole, hub };
  expect(at(observation, "hub").why).toBe(problem);
  expect(at(observation, "in west").verdict).toBe("good");
  expect(at(observation, "in west", "in step").verdict).toBe("unknown");
  const { well, findings } = viewStatus(observation);
  expect(well).toBe(false);
  expect(findings.map(({ about }) => about)).toEqual(["hub"]);
});

test("a member that the hub has forgotten is not taken for one", async () => {
  const { world, east } = await openAgents("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(10);
  await world.hubStore.delete(CLUSTER_MEMBER, {
    namespace: memberNamespace(east.id),
    name: east.id,
  });
  const observation = await observeAgents(world);
  expect(viewStatus(observation).findings).toContainEqual(
    expect.objectContaining({
      subject: "east",
      verdict: "bad",
      why: "It has joined a hub that does not know it: it was evicted, or the hub has lost its data.",
    }),
  );
});
