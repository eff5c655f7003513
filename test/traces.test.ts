// Traces of agents and central as a whole, on real time, to a collector on loopback: what arrives when services do, what does not when the
// collector is away, and that nobody but the traces suffers from it.

import { describe, expect, test } from "vitest";
import { SERVICE_EXPORT } from "../src/api/mcs.ts";
import { openCollector, type ReceivedSpan, type TestCollector } from "./collector.ts";
import { runCommand } from "./commandLine.ts";
import {
  openAgents,
  openCentral,
  type ReadingSite,
  type ReadingWorld,
  SHOP,
} from "./readingWorld.ts";
import { type Running, startCommand } from "./runningDashboard.ts";
import { expectUsable } from "./scenarios/outcome.ts";
import { eventually } from "./scenarios/poll.ts";

interface Traced extends Running {
  readonly untilReady: () => Promise<void>;
  /** Of `isthmus_trace_spans_total`. */
  readonly spans: (result: string) => Promise<number>;
}

async function start(
  { home }: ReadingWorld,
  verb: string,
  { sites, to }: { readonly sites: readonly ReadingSite[]; readonly to: string },
): Promise<Traced> {
  const at = sites.flatMap(({ path }) => ["--kubeconfig", path]);
  const flags = ["--metrics-address", "127.0.0.1:0", "--traces-endpoint", to];
  const run = startCommand(home, verb, ...at, ...flags);
  const address = await run.prints(/"metrics":"([^"]+)"/);
  return {
    ...run,
    untilReady: () =>
      eventually("it is ready", async () => {
        expect((await fetch(`http://${address}/readyz`)).status).toBe(200);
      }),
    spans: async (result) => {
      const page = await (await fetch(`http://${address}/metrics`)).text();
      const series = `isthmus_trace_spans_total{result="${result}"} `;
      const line = page.split("\n").find((one) => one.startsWith(series));
      return Number(line!.slice(series.length));
    },
  };
}

/** Spans of runs, by their name and the cluster that they are for. */
function runsOf({ spans }: TestCollector, name: string, cluster: string): readonly ReceivedSpan[] {
  return spans.filter(
    (span) =>
      span.parentSpanId === undefined &&
      span.name === name &&
      span.resource["isthmus.cluster"] === cluster,
  );
}

function childrenOf({ spans }: TestCollector, parent: ReceivedSpan): readonly ReceivedSpan[] {
  return spans.filter(
    ({ traceId, parentSpanId }) => traceId === parent.traceId && parentSpanId === parent.spanId,
  );
}

/** All that holds of any trace. */
function expectWhole(collector: TestCollector): void {
  expect(collector.faults).toEqual([]);
  const ids = collector.spans.map(({ traceId, spanId }) => `${traceId} ${spanId}`);
  expect(new Set(ids).size).toBe(ids.length);
  const parents = collector.spans.flatMap(({ traceId, parentSpanId }) =>
    parentSpanId === undefined ? [] : `${traceId} ${parentSpanId}`,
  );
  expect(ids).toEqual(expect.arrayContaining(parents));
  for (const { resource } of collector.spans) {
    expect(resource["service.name"]).toBe("isthmus");
    expect(resource["service.version"]).toMatch(/^\d/);
  }
}

describe("agents", () => {
  test("tell of a service on its way: who wrote what, and how long it took", async () => {
    const collector = await openCollector();
    const world = await openAgents("east", "west");
    await world.halt();
    const [east, west] = world.sites;
    const agents = [
      await start(world, "agent", { sites: [east!], to: collector.url }),
      await start(world, "agent", { sites: [west!], to: `${collector.url}/` }),
    ];
    // Both have read everything once: what comes now is a change.
    for (const agent of agents) await agent.untilReady();
    await east!.site.offer("web", ["10.1.0.1"]);
    await eventually("west imports it", () => expectUsable(west!.site, "web", ["10.1.0.1"]));
    await eventually("its spans arrive", () => {
      expect(runsOf(collector, "import", "west").length).toBeGreaterThan(0);
    });
    await west!.site.offer("api", ["10.2.0.1"]);
    await eventually("east imports it", () => expectUsable(east!.site, "api", ["10.2.0.1"]));
    expect(await agents[1]!.spans("sent")).toBeGreaterThan(0);
    for (const agent of agents) await agent.stop();

    expectWhole(collector);
    const imported = runsOf(collector, "import", "east").find(
      ({ attributes }) =>
        attributes["isthmus.service"] === "shop/api" && attributes["isthmus.change_from"] === "hub",
    );
    expect(imported).toMatchObject({
      kind: 1,
      status: { code: 0 },
      attributes: {
        "isthmus.queue": "import",
        "k8s.namespace.name": SHOP,
        "isthmus.outcome": expect.stringMatching(/^(done|again)$/) as unknown,
        "isthmus.change_ms": expect.stringMatching(/^\d+$/) as unknown,
      },
      resource: { "isthmus.mode": "agent" },
    });
    expect(childrenOf(collector, imported!)).toContainEqual(
      expect.objectContaining({
        name: "apply ServiceImport",
        kind: 3,
        attributes: {
          "isthmus.server": "cluster",
          "isthmus.verb": "apply",
          "isthmus.resource": "serviceimports.multicluster.x-k8s.io",
          "isthmus.object": "shop/api",
        },
      }),
    );
    const shared = runsOf(collector, "export", "west").flatMap((run) => childrenOf(collector, run));
    expect(shared.map(({ name, attributes }) => [name, attributes["isthmus.server"]])).toEqual(
      expect.arrayContaining([
        ["create EndpointShare", "hub"],
        ["create ServiceShare", "hub"],
      ]),
    );
    // At home the run that published is known; of another cluster's it is not.
    const home = runsOf(collector, "import", "west").find(({ links }) => links.length > 0);
    expect(runsOf(collector, "export", "west")).toContainEqual(
      expect.objectContaining(home!.links[0]!),
    );
    expect(imported!.links).toEqual([]);
    expect(runsOf(collector, "report", "west").length).toBeGreaterThan(0);
  });

  test("hand no collector a secret, nor what is in objects", async () => {
    const collector = await openCollector();
    const world = await openAgents("east");
    await world.halt();
    const [east] = world.sites;
    const agent = await start(world, "agent", { sites: [east!], to: collector.url });
    await east!.site.offer("web", ["10.1.0.77"]);
    await eventually("it is imported", () => expectUsable(east!.site, "web", ["10.1.0.77"]));
    await world.hub.server.close();
    await east!.site.offer("late", ["10.1.0.78"]);
    await eventually("that the hub is away arrives", () => {
      const failed = collector.spans.filter(({ status }) => status.code === 2);
      expect(failed.map(({ status }) => status.message)).not.toEqual([]);
    });
    await agent.stop();
    const all = collector.texts.join("\n");
    expect(all).toContain("shop/web");
    const { token, client } = world.hub.server;
    const keys = [client!.keyPem, east!.server.client!.keyPem].map((pem) => pem.split("\n")[1]!);
    for (const secret of [token, east!.server.token, ...keys, "10.1.0.77", "10.1.0.78"]) {
      expect(all).not.toContain(secret);
    }
  });
});

test("central tells of the whole way, from the run that published to the one that imported", async () => {
  const collector = await openCollector();
  const world = await openCentral("east", "west");
  await world.halt();
  const [east, west] = world.sites;
  const central = await start(world, "central", { sites: world.sites, to: collector.url });
  await central.untilReady();
  const find = (): ReceivedSpan | undefined =>
    runsOf(collector, "import", "west").find(
      ({ attributes }) => attributes["isthmus.change_from"] === "cluster",
    );
  await east!.site.offer("web", ["10.1.0.1"]);
  await eventually("west imports it", () => expectUsable(west!.site, "web", ["10.1.0.1"]));
  await eventually("its spans arrive", () => expect(find()).toBeDefined());
  await east!.client.delete(SERVICE_EXPORT, { namespace: SHOP, name: "web" });
  await eventually("the withdrawal arrives", () => {
    const names = collector.spans.map(({ name }) => name);
    expect(names).toContain("delete ServiceImport");
  });
  await central.stop();
  expectWhole(collector);
  const [link] = find()!.links;
  const published = runsOf(collector, "export", "east").find(
    ({ spanId }) => spanId === link?.spanId,
  );
  expect(published?.traceId).toBe(link?.traceId);
  expect(published?.attributes).toMatchObject({ "isthmus.service": "shop/web" });
  expect(published?.resource).toMatchObject({ "isthmus.mode": "central" });
});

describe("services come and go as ever, and it is said once,", () => {
  test.each(["silent", 500, 503] as const)("with a collector that is %s", async (mood) => {
    const collector = await openCollector();
    collector.mood = mood;
    const world = await openCentral("east", "west");
    await world.halt();
    const [east, west] = world.sites;
    const central = await start(world, "central", { sites: world.sites, to: collector.url });
    await east!.site.offer("web", ["10.1.0.1"]);
    await eventually("west imports it", () => expectUsable(west!.site, "web", ["10.1.0.1"]));
    await eventually("the collector was asked", () => {
      expect(collector.requests()).toBeGreaterThan(0);
    });
    await east!.site.offer("more", ["10.1.0.2"]);
    await eventually("west imports it", () => expectUsable(west!.site, "more", ["10.1.0.2"]));
    await eventually("it is said", () => {
      expect(central.error()).toContain("collector does not take traces");
    });
    collector.mood = 200;
    await east!.site.offer("third", ["10.1.0.3"]);
    await eventually("it is said to be back", () => {
      expect(central.error()).toContain("collector takes traces again");
    });
    // Only what will be refused again is given up.
    expect((await central.spans("refused")) > 0).toBe(mood === 500);
    expect(await central.spans("dropped")).toBe(0);
    await eventually("what arrived is counted", async () => {
      expect(await central.spans("sent")).toBe(collector.spans.length);
    });
    expect(collector.faults).toEqual([]);
    const { code } = await central.stop();
    expect(code).toBe(0);
    expect(central.error().match(/collector does not take traces/g)).toHaveLength(1);
    expect(central.error().match(/collector takes traces again/g)).toHaveLength(1);
  });

  test("with nobody at the address, to the end", async () => {
    const world = await openCentral("east", "west");
    await world.halt();
    const [east, west] = world.sites;
    const to = "http://127.0.0.1:1";
    const central = await start(world, "central", { sites: world.sites, to });
    await east!.site.offer("web", ["10.1.0.1"]);
    await eventually("west imports it", () => expectUsable(west!.site, "web", ["10.1.0.1"]));
    await eventually("it is said", () => {
      expect(central.error()).toMatch(/ECONNREFUSED.*collector does not take traces/);
    });
    expect((await central.stop()).code).toBe(0);
    expect(central.error()).toContain("spans are left that nobody took");
    expect(central.error().match(/collector does not take traces/g)).toHaveLength(1);
  });
});

test.each([
  ["agent", "localhost:4318"],
  ["central", "http://eve:planted-password@collector:4318"],
  ["agent", "http://collector:4318/?key=planted-password"],
])("isthmus %s refuses %s by the name of the setting, and shows no password", async (verb, to) => {
  const at = ["--kubeconfig", "east.yaml"];
  const { code, err } = await runCommand([verb, ...at, "--traces-endpoint", to]);
  expect(code).toBe(2);
  expect(err).toContain(`${verb}.tracesEndpoint (--traces-endpoint): `);
  expect(err).not.toContain("planted-password");
});
