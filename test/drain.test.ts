// A cluster that is drained, on virtual time, kept in step by central and by agents: its traffic goes elsewhere and comes back,
// nobody loses the last endpoint, and neither restarts nor outages undo it.

import { describe, expect, test } from "vitest";
import { CLUSTER_PROPERTY } from "../src/api/about.ts";
import { ENDPOINT_SLICE } from "../src/api/builtin.ts";
import { CLUSTER_MEMBER, type ClusterMember } from "../src/api/isthmus.ts";
import { SERVICE_EXPORT } from "../src/api/mcs.ts";
import { DRAIN_PROPERTY, memberNamespace, WHEN_LOST_ANNOTATION } from "../src/api/names.ts";
import { viewStatus } from "../src/core/clusterset/health.ts";
import { viewClusterset } from "../src/core/clusterset/view.ts";
import { viewWithout } from "../src/core/clusterset/without.ts";
import { renderDrain } from "../src/core/drain.ts";
import type { Store } from "../src/ports/store.ts";
import type { AgentWorld } from "./agentWorld.ts";
import { id } from "./shares.ts";
import { expectUsable } from "./scenarios/outcome.ts";
import type { Site } from "./scenarios/site.ts";
import {
  at,
  complaints,
  mustExplain,
  observeAgents,
  observeCentral,
  openAgents,
  openCentral,
} from "./sightings.ts";

/** A heartbeat and a look. */
const NOTICED_SECONDS = 8;
const EAST = "10.1.0.1";
const WEST = "10.2.0.1";

async function drain({ store }: Site, reason = "new kernel"): Promise<void> {
  await store.apply(CLUSTER_PROPERTY, renderDrain(reason), { fieldManager: "kubectl" });
}

async function undrain({ store }: Site): Promise<void> {
  expect(await store.delete(CLUSTER_PROPERTY, { name: DRAIN_PROPERTY })).toBe(true);
}

async function keep({ store }: Site, name: string): Promise<void> {
  const found = await store.get(SERVICE_EXPORT, { namespace: "shop", name });
  const annotations = { [WHEN_LOST_ANNOTATION]: "keep" };
  await store.replace(SERVICE_EXPORT, {
    ...found!,
    metadata: { ...found!.metadata, annotations },
  });
}

interface Opened {
  readonly world: { pass(seconds: number): Promise<void> };
  readonly east: { readonly site: Site };
  readonly west: { readonly site: Site };
}

/** Both have "web"; "sole" is east's alone. */
async function offer({ world, east, west }: Opened): Promise<void> {
  await east.site.offer("web", [EAST]);
  await west.site.offer("web", [WEST]);
  await east.site.offer("sole", ["10.1.0.9"]);
  await world.pass(10);
}

/** What "web" leads to, in all of them; "sole" has to lead where it always does. */
async function reach(...sites: readonly Site[]): Promise<readonly string[]> {
  const [first = [], ...others] = await Promise.all(sites.map((site) => site.addresses("web")));
  for (const found of others) expect(found).toEqual(first);
  for (const site of sites) await expectUsable(site, "web", first);
  for (const site of sites) await expectUsable(site, "sole", ["10.1.0.9"]);
  return first;
}

function statusOf(world: AgentWorld) {
  return world.hubStore.get(CLUSTER_MEMBER, {
    namespace: memberNamespace(id("east")),
    name: "east",
  });
}

describe.each([
  ["central", () => openCentral("east", "west")],
  ["agents", () => openAgents("east", "west")],
] as const)("kept in step by %s", (_, open) => {
  test("its endpoints are not ready while others serve, everywhere; those that nobody else has stay; undrained, all are back", async () => {
    const opened = await open();
    const { world, east, west } = opened;
    const both = [east.site, west.site];
    await offer(opened);
    expect(await reach(...both)).toEqual([EAST, WEST]);
    await drain(east.site);
    await world.pass(NOTICED_SECONDS);
    expect(await reach(...both)).toEqual([WEST]);
    expect(await west.site.addresses("web", { all: true })).toEqual([EAST, WEST]);
    await undrain(east.site);
    await world.pass(NOTICED_SECONDS);
    expect(await reach(...both)).toEqual([EAST, WEST]);
  });

  test("when the last one that served in its place goes, it serves again", async () => {
    const opened = await open();
    const { world, east, west } = opened;
    await offer(opened);
    await drain(east.site);
    await world.pass(NOTICED_SECONDS);
    await west.site.unexport("web");
    await world.pass(5);
    expect(await reach(east.site, west.site)).toEqual([EAST]);
  });

  test("all drained is as if none were", async () => {
    const opened = await open();
    const { world, east, west } = opened;
    await offer(opened);
    await drain(east.site);
    await drain(west.site);
    await world.pass(NOTICED_SECONDS);
    expect(await reach(east.site, west.site)).toEqual([EAST, WEST]);
  });
});

describe.each([
  ["central", () => openCentral("east", "west", "north")],
  ["agents", () => openAgents("east", "west", "north")],
] as const)("endpoints to be kept when their cluster is lost, kept in step by %s", (_, open) => {
  test("do not come back while their cluster is drained and stopped, and do when nobody else serves", async () => {
    const opened = await open();
    const { world, east, west } = opened;
    await offer(opened);
    await keep(east.site, "web");
    await drain(east.site);
    await world.pass(NOTICED_SECONDS);
    if ("stop" in east) await world.during(east.stop());
    else east.line.cut();
    for (let passed = 0; passed < 48; passed += 3) {
      await world.pass(3);
      expect(await west.site.addresses("web")).toEqual([WEST]);
    }
    await west.site.unexport("web");
    await world.pass(5);
    expect(await west.site.addresses("web")).toEqual([EAST]);
  });
});

describe("central", () => {
  test("started anew it writes nothing: who was drained is", async () => {
    const opened = await openCentral("east", "west");
    const { world, east, west } = opened;
    await offer(opened);
    await drain(east.site);
    await world.pass(NOTICED_SECONDS);
    // One of them is slow to say who it is: it must not look gone to the other.
    for (const slow of [east, west]) {
      for (const { line } of [east, west]) line.forgetWrites();
      slow.cluster.faults.add({
        match: { userAgent: "isthmus-central" },
        delayMs: 2_000,
        times: 20,
      });
      await world.restart();
      await world.pass(60);
      expect([...east.line.writes(), ...west.line.writes()]).toEqual([]);
    }
    expect(await reach(east.site, west.site)).toEqual([WEST]);
  });

  test("what it may not read of properties keeps the last word", async () => {
    const opened = await openCentral("east", "west");
    const { world, east, west } = opened;
    await offer(opened);
    await drain(east.site);
    await world.pass(NOTICED_SECONDS);
    // A role of an older release allows no more than to ask for the id.
    const match = {
      verb: "list",
      resource: "clusterproperties",
      userAgent: "isthmus-central",
    } as const;
    const fault = east.cluster.faults.add({ match, fail: { status: 403 } });
    await undrain(east.site);
    await world.pass(60);
    expect(await reach(east.site, west.site)).toEqual([WEST]);
    fault.remove();
    await world.pass(NOTICED_SECONDS);
    expect(await reach(east.site, west.site)).toEqual([EAST, WEST]);
  });

  test("a drained cluster may go down as often as it takes, and is trusted when it is undrained", async () => {
    const opened = await openCentral("east", "west", "north");
    const { world, east, west } = opened;
    await offer(opened);
    await drain(east.site);
    await world.pass(NOTICED_SECONDS);
    for (let round = 0; round < 4; round += 1) {
      east.line.cut();
      await world.pass(25);
      east.line.heal();
      await world.pass(20);
    }
    expect(await reach(west.site)).toEqual([WEST]);
    await undrain(east.site);
    await world.pass(NOTICED_SECONDS);
    expect(await reach(east.site, west.site)).toEqual([EAST, WEST]);
  });

  test("lost while drained, its endpoints go as anybody's (R65)", async () => {
    const opened = await openCentral("east", "west", "north");
    const { world, east, west } = opened;
    await offer(opened);
    await drain(east.site);
    await world.pass(NOTICED_SECONDS);
    east.line.cut();
    await world.pass(45);
    expect(await west.site.addresses("web", { all: true })).toEqual([WEST]);
  });
});

describe("agents", () => {
  test("the hub has the reason, by one write; a word that is lost there is said again", async () => {
    const opened = await openAgents("east", "west");
    const { world, east, west } = opened;
    await offer(opened);
    world.forgetWrites();
    await drain(east.site, "new kernel\nat noon");
    await world.pass(60);
    expect((await statusOf(world))?.status).toMatchObject({
      drained: "new kernel at noon",
      conditions: [{ type: "Synced", status: "True" }],
    });
    expect(world.writes().filter((text) => text.includes("clustermembers"))).toHaveLength(1);
    await world.evict(id("east"));
    await world.pass(5);
    await world.register(id("east"));
    await world.pass(60);
    expect((await statusOf(world))?.status?.drained).toBe("new kernel at noon");
    expect(await reach(east.site, west.site)).toEqual([WEST]);
  });

  test("without a hub it is left by its own clients at once, and by the others when the hub is back", async () => {
    const opened = await openAgents("east", "west");
    const { world, east, west } = opened;
    await offer(opened);
    world.cutHub();
    await drain(east.site);
    await world.pass(60);
    expect(await reach(east.site)).toEqual([WEST]);
    expect(await reach(west.site)).toEqual([EAST, WEST]);
    world.healHub();
    await world.pass(30);
    expect(await reach(east.site, west.site)).toEqual([WEST]);
  });

  test("after hours without a hub the others know as soon as it is back", async () => {
    const opened = await openAgents("east", "west");
    const { world, east, west } = opened;
    await offer(opened);
    world.cutHub();
    await drain(east.site);
    await world.pass(600);
    world.healHub();
    await world.pass(15);
    expect(await reach(east.site, west.site)).toEqual([WEST]);
  });

  test("a word that somebody else has put on the hub is taken back: the cluster itself knows", async () => {
    const opened = await openAgents("east", "west");
    const { world, east, west } = opened;
    await offer(opened);
    const { apiVersion, kind, metadata } = (await statusOf(world))!;
    const { namespace, name } = metadata;
    const claim = { apiVersion, kind, metadata: { namespace, name }, status: { drained: "other" } };
    const options = { fieldManager: "kubectl", force: true, subresource: "status" } as const;
    await world.hubStore.apply(CLUSTER_MEMBER, claim as unknown as ClusterMember, options);
    await world.pass(30);
    expect((await statusOf(world))?.status?.drained).toBeUndefined();
    expect(await reach(east.site, west.site)).toEqual([EAST, WEST]);
  });

  test("R66: an agent that is started anew writes nothing, hub or not", async () => {
    const opened = await openAgents("east", "west");
    const { world, east, west } = opened;
    await offer(opened);
    await drain(east.site);
    await world.pass(NOTICED_SECONDS);
    world.forgetWrites();
    for (const agent of [east, west]) await agent.restart();
    await world.pass(60);
    world.cutHub();
    for (const agent of [east, west]) await agent.restart();
    await world.pass(60);
    expect(world.writes()).toEqual([]);
    world.healHub();
    await world.pass(60);
    expect(world.writes().filter((text) => !text.includes("clustermembers"))).toEqual([]);
    expect(await reach(east.site, west.site)).toEqual([WEST]);
  });

  test("R66: nor does it when the endpoints are to be kept when their cluster is lost", async () => {
    const opened = await openAgents("east", "west");
    const { world, east, west } = opened;
    await offer(opened);
    await keep(east.site, "web");
    await drain(east.site);
    await world.pass(NOTICED_SECONDS);
    world.forgetWrites();
    await west.restart();
    await world.pass(30);
    expect(world.writes()).toEqual([]);
    expect(await reach(east.site, west.site)).toEqual([WEST]);
  });

  test("a drained cluster serves at once when an agent is started and those in its place are gone", async () => {
    const opened = await openAgents("east", "west");
    const { world, west } = opened;
    await offer(opened);
    await drain(opened.east.site);
    await world.pass(NOTICED_SECONDS);
    await world.during(west.stop());
    const ref = { namespace: "shop", name: "web-ipv4" };
    const slice = await west.site.store.get(ENDPOINT_SLICE, ref);
    const endpoints = slice!.endpoints.map((endpoint) => ({
      ...endpoint,
      conditions: { ready: false },
    }));
    await west.site.store.replace(ENDPOINT_SLICE, { ...slice!, endpoints });
    await west.restart();
    await world.pass(2);
    expect(await west.site.addresses("web")).toEqual([EAST]);
  });

  test("R66: one that was lost while drained does not come back to life by a restart of another", async () => {
    const opened = await openAgents("east", "west", "north");
    const { world, east, west } = opened;
    await offer(opened);
    await drain(east.site);
    await world.pass(NOTICED_SECONDS);
    await world.during(east.stop());
    await world.pass(60);
    expect(await west.site.addresses("sole", { all: true })).toEqual([]);
    await west.restart();
    world.forgetWrites();
    await world.pass(15);
    expect(world.writes()).toEqual([]);
    expect(await west.site.addresses("sole", { all: true })).toEqual([]);
  });

  test("a hub of an older release takes everything but the drain, and is told when it is upgraded", async () => {
    const opened = await openAgents("east", "west");
    const { world, east, west } = opened;
    await offer(opened);
    const match = { resource: "clustermembers", verb: "patch", userAgent: "east" } as const;
    const fault = world.hub.faults.add({ match, fail: { status: 500 } });
    await drain(east.site);
    await world.pass(120);
    expect(
      east.log.filter(({ message }) => message.includes("may be of an older release")),
    ).toHaveLength(1);
    expect(await reach(west.site)).toEqual([EAST, WEST]);
    fault.remove();
    await world.pass(70);
    expect(await reach(east.site, west.site)).toEqual([WEST]);
  });
});

describe("the view of a clusterset with a drained cluster", () => {
  const losses = (seen: Awaited<ReturnType<typeof observeCentral>>, without: string) =>
    Object.fromEntries(
      (viewWithout(seen, id(without)) ?? []).map(({ name, loss, imports }) => [
        name,
        [loss, ...imports.map(({ cluster, ready, left }) => `${cluster} ${left}/${ready}`)],
      ]),
    );

  test.each([
    [
      "central",
      async () => {
        const opened = await openCentral("east", "west");
        return { opened, look: () => observeCentral(opened.world) };
      },
    ],
    [
      "agents",
      async () => {
        const opened = await openAgents("east", "west");
        return { opened, look: () => observeAgents(opened.world) };
      },
    ],
  ] as const)("says so and is well, kept in step by %s", async (_, open) => {
    const { opened, look } = await open();
    await offer(opened);
    await drain(opened.east.site);
    await opened.world.pass(NOTICED_SECONDS);
    const seen = await look();
    const status = viewStatus(seen);
    expect(status).toMatchObject({ well: true, clusters: { total: 2, well: 2 } });
    expect(status.findings).toMatchObject([
      { about: "cluster", subject: "east", verdict: "unknown", what: "drain" },
    ]);
    expect(status.findings[0]?.why).toContain("It is drained (new kernel)");
    const view = viewClusterset(seen);
    expect(view.clusters.map(({ liveness }) => liveness)).toEqual(["drained", "live"]);
    for (const { name, imports } of view.services) {
      for (const row of imports) {
        expect(row.behind).toBeUndefined();
        const source = row.sources.find(({ cluster }) => cluster === "east");
        expect(source).toMatchObject({ liveness: "drained", ready: name === "sole" ? 1 : 0 });
      }
    }
    for (const place of ["in west", "in east"]) {
      expect(at(seen, place)).toMatchObject({ verdict: "good" });
      expect(at(seen, place, "from east")).toMatchObject({ verdict: "good" });
      expect(at(seen, place, "from east").why).toContain("others serve in its place");
      expect(at(seen, place, "from east", EAST)).toMatchObject({
        verdict: "unknown",
        inUse: false,
      });
    }
    expect(complaints(mustExplain(seen, "shop/sole"))).toEqual([]);
    // It would serve again if the other were gone.
    expect(losses(seen, "west")).toEqual({
      sole: ["none", "east 1/1"],
      web: ["none", "east 1/1"],
    });
    expect(losses(seen, "east")).toEqual({ sole: ["gone", "west 0/1"], web: ["none", "west 1/1"] });
  });

  test("stopped, with endpoints that are to be kept: it is silent, and nothing is behind", async () => {
    const opened = await openAgents("east", "west", "north");
    const { world, east } = opened;
    await offer(opened);
    await keep(east.site, "web");
    await drain(east.site);
    await world.pass(NOTICED_SECONDS);
    await world.during(east.stop());
    await world.pass(25);
    const view = viewClusterset(await observeAgents(world));
    const web = view.services.find(({ name }) => name === "web");
    const row = web!.imports.find(({ cluster }) => cluster === "west");
    expect(row!.behind).toBeUndefined();
    expect(row!.sources[0]).toMatchObject({ cluster: "east", ready: 0, liveness: "drained" });
    expect(view.clusters[0]).toMatchObject({ id: "east", liveness: "silent" });
  });

  test("before anybody has acted on it, its endpoints are in use and nothing is behind", async () => {
    const opened = await openCentral("east", "west");
    await offer(opened);
    await opened.world.during(opened.world.stop());
    await drain(opened.east.site);
    const seen = await observeCentral(opened.world);
    const web = viewClusterset(seen).services.find(({ name }) => name === "web");
    for (const row of web!.imports) {
      expect(row.behind).toBeUndefined();
      expect(row.sources.map(({ cluster, ready, liveness }) => [cluster, ready, liveness])).toEqual(
        [
          ["east", 1, "live"],
          ["west", 1, "live"],
        ],
      );
    }
  });

  test("a reader who may not read properties is told by the hub", async () => {
    const opened = await openAgents("east", "west");
    await offer(opened);
    await drain(opened.east.site);
    await opened.world.pass(NOTICED_SECONDS);
    const { sightings, ...rest } = await observeAgents(opened.world);
    const blinded = sightings.map((sighting) => ({ ...sighting, properties: [] }));
    const view = viewClusterset({ ...rest, sightings: blinded });
    expect(view.clusters.map(({ liveness }) => liveness)).toEqual(["drained", "live"]);
  });
});

test("a store that knows no ClusterProperties is that of a cluster that is not drained", async () => {
  const opened = await openCentral("east", "west");
  const { east } = opened;
  await offer(opened);
  const store: Store = east.site.store;
  expect((await store.list(CLUSTER_PROPERTY)).items).toEqual([]);
  east.cluster.faults.add({ match: { resource: "clusterproperties" }, fail: { status: 404 } });
  await opened.world.pass(60);
  expect(await reach(opened.west.site)).toEqual([EAST, WEST]);
});
