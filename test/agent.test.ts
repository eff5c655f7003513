import { describe, expect, onTestFinished, test } from "vitest";
import { CLUSTER_PROPERTY } from "../src/api/about.ts";
import { ENDPOINT_SLICE, type EndpointSlice } from "../src/api/builtin.ts";
import { SERVICE_SHARE, type ServiceShareObject } from "../src/api/hubshare.ts";
import { CLUSTER_MEMBER } from "../src/api/isthmus.ts";
import { SERVICE_IMPORT } from "../src/api/mcs.ts";
import { CLUSTER_ID_PROPERTY, memberNamespace } from "../src/api/names.ts";
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

describe("services cross clusters through the hub", () => {
  test("an export in one cluster is an import in all of them, with all endpoints", async () => {
    const { world, sites } = await open("east", "north", "west");
    const [east, , west] = sites;
    world.start();
    await east.site.offer("web", ["10.1.0.1"]);
    await west.site.offer("web", ["10.3.0.1"]);
    await world.pass(5);
    for (const { site } of sites) await expectUsable(site, "web", ["10.1.0.1", "10.3.0.1"]);
    expect(await east.site.exportConditions("web")).toMatchObject({
      Valid: { status: "True" },
      Ready: { status: "True" },
      Conflict: { status: "False" },
    });
    await moveTo(east.site, "web", ["10.1.0.2"]);
    await world.pass(5);
    for (const { site } of sites) await expectUsable(site, "web", ["10.1.0.2", "10.3.0.1"]);
    await east.site.unexport("web");
    await west.site.unexport("web");
    await world.pass(5);
    for (const { site } of sites) await expectAbsent(site, "web");
  });

  test("agents that have nothing left to do are idle, complete, and write nothing", async () => {
    const { world, sites } = await open("east", "west");
    await sites[0].site.offer("web", ["10.1.0.1"]);
    world.start();
    await world.pass(30);
    expect(sites.map(({ agent }) => agent.isSynced() && agent.isIdle())).toEqual([true, true]);
    world.forgetWrites();
    await world.pass(600);
    expect(world.writes()).toEqual([]);
  });

  test("a member that gets ready makes nobody publish or report what has nothing to do with it", async () => {
    const { world, sites } = await open("east", "north", "west");
    const [east, north, west] = sites;
    await east.site.offer("web", ["10.1.0.1"]);
    east.start();
    north.start();
    await world.pass(60);
    const countRuns = () => {
      const { export: exports, report } = east.agent.measures()!.queues;
      return { exports: exports.outcomes.done, reports: report.outcomes.done };
    };
    const before = countRuns();
    west.start();
    await world.pass(60);
    expect(west.agent.isSynced()).toBe(true);
    expect(countRuns()).toEqual(before);
  });

  test("R8: a restart of every agent writes nothing", async () => {
    const { world, sites } = await open("east", "west");
    await sites[0].site.offer("web", ["10.1.0.1"]);
    await sites[1].site.offer("web", ["10.2.0.1"]);
    world.start();
    await world.pass(30);
    world.forgetWrites();
    for (const site of sites) await site.restart();
    await world.pass(60);
    expect(sites.map(({ agent }) => agent.isSynced())).toEqual([true, true]);
    expect(world.writes()).toEqual([]);
  });

  test("R10: what was un-exported while the agent was down is withdrawn when it is up again", async () => {
    const { world, sites } = await open("east", "west");
    const [east, west] = sites;
    await east.site.offer("web", ["10.1.0.1"]);
    world.start();
    await world.pass(10);
    await expectUsable(west.site, "web", ["10.1.0.1"]);
    await world.during(east.stop());
    await east.site.unexport("web");
    east.start();
    await world.pass(10);
    await expectAbsent(east.site, "web");
    await expectAbsent(west.site, "web");
    expect((await world.hubStore.list(SERVICE_SHARE)).items).toEqual([]);
  });

  test("a share of a later release, with fields and values that we do not know, is imported as far as we do", async () => {
    const { world, sites } = await open("east", "west");
    const [east, west] = sites;
    world.start();
    await east.site.offer("web", ["10.1.0.1"]);
    await world.pass(5);
    await world.during(east.stop());
    const ref = { namespace: memberNamespace(east.id), name: "shop.web" };
    const share = (await world.hubStore.get(SERVICE_SHARE, ref))!;
    const later = {
      ...share,
      spec: { ...share.spec, weight: 7, whenLost: "hibernate", trafficDistribution: "Nearby" },
    } as ServiceShareObject;
    await world.hubStore.replace(SERVICE_SHARE, later);
    await west.site.delete(SERVICE_IMPORT, "web");
    await west.restart();
    await world.pass(5);
    await expectUsable(west.site, "web", ["10.1.0.1"]);
    expect((await west.site.serviceImport("web")).spec?.ports).toMatchObject([{ port: 80 }]);
  });
});

describe("trust", () => {
  test("an address outside the declared ranges is dropped, and the import says so", async () => {
    const { world, sites } = await open("east", "west");
    const [east, west] = sites;
    world.start();
    await east.site.offer("web", ["10.1.0.1", "192.168.0.1"]);
    await world.pass(5);
    expect(await west.site.addresses("web", { all: true })).toEqual(["10.1.0.1"]);
    expect(await west.site.importConditions("web")).toMatchObject({
      EndpointsAccepted: { status: "False", reason: "AddressNotDeclared" },
    });
    // At home it is nobody's business but its own.
    expect(await east.site.addresses("web")).toEqual(["10.1.0.1", "192.168.0.1"]);
  });

  test("R67: a cluster that says it is another goes on as the one that joined, and says so once", async () => {
    const { world, sites } = await open("east", "west");
    const [east, west] = sites;
    await east.site.store.create(CLUSTER_PROPERTY, {
      apiVersion: "about.k8s.io/v1beta1",
      kind: "ClusterProperty",
      metadata: { name: CLUSTER_ID_PROPERTY },
      spec: { value: "elsewhere" },
    });
    world.start();
    await east.site.offer("web", ["10.1.0.1"]);
    await world.pass(60);
    await expectUsable(west.site, "web", ["10.1.0.1"]);
    expect(east.said("elsewhere")).toHaveLength(1);
  });

  test("a cluster that was evicted keeps what it has and says so; when it is registered again all is as before", async () => {
    const { world, sites } = await open("east", "north", "west");
    const [east, north, west] = sites;
    world.start();
    await east.site.offer("web", ["10.1.0.1"]);
    await world.pass(10);
    const vip = await readVip(west.site, "web");
    await world.evict(west.id);
    await world.pass(600);
    await expectUsable(west.site, "web", ["10.1.0.1"]);
    expect(west.said("What is imported stays")).toHaveLength(1);
    await moveTo(east.site, "web", ["10.1.0.2"]);
    await world.register(west.id);
    await world.pass(60);
    await expectUsable(north.site, "web", ["10.1.0.2"]);
    await expectUsable(west.site, "web", ["10.1.0.2"]);
    expect(await readVip(west.site, "web")).toEqual(vip);
  });

  test("a cluster whose registration was lost with the hub's data publishes everything again", async () => {
    const { world, sites } = await open("east", "west");
    const [east, west] = sites;
    world.start();
    await east.site.offer("web", ["10.1.0.1"]);
    await world.pass(10);
    await world.evict(east.id);
    await world.pass(10);
    await world.register(east.id);
    await world.pass(60);
    await expectUsable(west.site, "web", ["10.1.0.1"]);
    const ref = { namespace: memberNamespace(east.id), name: east.id };
    const member = await world.hubStore.get(CLUSTER_MEMBER, ref);
    expect(member?.status?.conditions).toMatchObject([{ type: "Synced", status: "True" }]);
  });
});

describe("exports say what became of them", () => {
  test("R8: while the hub is away a new export waits, and says so; then it is ready", async () => {
    const { world, sites } = await open("east", "west");
    const [east, west] = sites;
    world.start();
    await world.pass(10);
    world.cutHub();
    await world.pass(60);
    await east.site.offer("web", ["10.1.0.1"]);
    await world.pass(60);
    expect(await east.site.exportConditions("web")).toMatchObject({
      Valid: { status: "True" },
      Ready: { status: "False", reason: "Pending" },
    });
    expect(await west.site.get(SERVICE_IMPORT, "web")).toBeUndefined();
    world.healHub();
    await world.pass(40);
    expect(await east.site.exportConditions("web")).toMatchObject({ Ready: { status: "True" } });
    await expectUsable(west.site, "web", ["10.1.0.1"]);
  });

  test("one share that the hub refuses keeps nobody from the others, and nobody waiting for more", async () => {
    const { world, sites } = await open("east", "west");
    const [east, west] = sites;
    await east.site.offer("bad", ["10.1.0.1"]);
    world.start();
    await world.pass(10);
    await world.during(east.stop());
    world.hub.faults.add({
      match: { resource: "endpointshares", verb: "update" },
      fail: { status: 422, reason: "Invalid", message: "not like this" },
    });
    await moveTo(east.site, "bad", ["10.1.0.3"]);
    await east.site.offer("good", ["10.1.0.2"]);
    east.start();
    await world.pass(20);
    expect(east.said("not like this").length).toBeGreaterThan(0);
    await expectUsable(west.site, "good", ["10.1.0.2"]);
    await expectUsable(west.site, "bad", ["10.1.0.1"]);
    expect(east.agent.isSynced()).toBe(true);
  });
});
