// `/metrics`, `/healthz` and `/readyz` of agents and central as a whole, on real time: a change is made, and what is scraped moves.

import { describe, expect, test } from "vitest";
import { openAgents, openCentral, type ReadingSite, type ReadingWorld } from "./readingWorld.ts";
import { startCommand } from "./runningDashboard.ts";
import { expectUsable } from "./scenarios/outcome.ts";
import { eventually } from "./scenarios/poll.ts";

interface Scraped {
  readonly ask: (path: string) => Promise<{ readonly status: number; readonly body: string }>;
  /** The value of one series, as it is written: undefined when there is none. */
  readonly read: (series: string) => Promise<number | undefined>;
}

async function start(world: ReadingWorld, verb: string, ...sites: readonly ReadingSite[]) {
  const at = sites.flatMap(({ path }) => ["--kubeconfig", path]);
  const run = startCommand(world.home, verb, ...at, "--metrics-address", "127.0.0.1:0");
  const address = await run.prints(/"metrics":"([^"]+)"/);
  const ask: Scraped["ask"] = async (path) => {
    const answer = await fetch(`http://${address}${path}`);
    return { status: answer.status, body: await answer.text() };
  };
  return {
    ask,
    read: async (series: string) => {
      const { body } = await ask("/metrics");
      const line = body.split("\n").find((one) => one.startsWith(`${series} `));
      return line === undefined ? undefined : Number(line.slice(series.length + 1));
    },
  } satisfies Scraped;
}

async function untilReady(...processes: readonly Scraped[]): Promise<void> {
  for (const { ask } of processes) {
    await eventually("it is ready", async () => {
      expect(await ask("/readyz")).toEqual({ status: 200, body: "ok\n" });
    });
  }
}

async function expectMore(scraped: Scraped, ...series: readonly string[]): Promise<void> {
  for (const one of series) {
    await eventually(one, async () => expect(await scraped.read(one)).toBeGreaterThan(0));
  }
}

describe("agents", () => {
  test("tell of a change on its way, and of a hub that is away", async () => {
    const world = await openAgents("east", "west");
    await world.halt();
    const [east, west] = world.sites;
    const exporter = await start(world, "agent", east!);
    const importer = await start(world, "agent", west!);
    await untilReady(exporter, importer);
    for (const series of [
      'isthmus_propagation_seconds_count{from="hub"}',
      'isthmus_writes_total{cluster="west",server="cluster",kind="ServiceImport",verb="apply",result="done"}',
      'isthmus_imported_endpoints{cluster="west",source="east",ready="true"}',
      'isthmus_conflicts{cluster="west",reason="PortConflict"}',
    ]) {
      expect([series, await importer.read(series)]).toEqual([series, 0]);
    }

    await east!.site.offer("web", ["10.1.0.1"]);
    await eventually("west imports it", () => expectUsable(west!.site, "web", ["10.1.0.1"]));
    await expectMore(
      exporter,
      "isthmus_publish_seconds_count",
      'isthmus_propagation_seconds_count{from="cluster"}',
      'isthmus_writes_total{cluster="east",server="hub",kind="ServiceShare",verb="create",result="done"}',
      'isthmus_reconciles_total{cluster="east",queue="export",outcome="done"}',
      'isthmus_reconciles_total{cluster="east",queue="report",outcome="done"}',
    );
    await expectMore(
      importer,
      'isthmus_propagation_seconds_count{from="hub"}',
      'isthmus_propagation_seconds_sum{from="hub"}',
      'isthmus_writes_total{cluster="west",server="cluster",kind="ServiceImport",verb="apply",result="done"}',
      'isthmus_imported_services{cluster="west",source="east"}',
      'isthmus_imported_endpoints{cluster="west",source="east",ready="true"}',
      'isthmus_watched_objects{cluster="west",server="hub",resource="serviceshares"}',
      'isthmus_watch_events_total{cluster="west",server="cluster",resource="serviceimports"}',
    );
    // What west imports from east is no change of west's own.
    expect(await importer.read("isthmus_publish_seconds_count")).toBe(0);

    await world.hub.server.close();
    await expectMore(
      importer,
      'isthmus_writes_total{cluster="west",server="hub",kind="Lease",verb="apply",result="failed"}',
      'isthmus_watch_failures_total{cluster="west",server="hub",resource="leases"}',
    );
    await eventually("the silence of the hub is measured", async () => {
      expect(await importer.read("isthmus_hub_contact_seconds")).toBeGreaterThan(5);
    });
    // It has read everything once, and it moves.
    expect(await importer.ask("/readyz")).toEqual({ status: 200, body: "ok\n" });
    expect(await importer.ask("/healthz")).toEqual({ status: 200, body: "ok\n" });
  });

  test("are not ready while they have never heard of the hub, and say so", async () => {
    const world = await openAgents("east");
    await world.halt();
    await world.hub.server.close();
    const agent = await start(world, "agent", world.sites[0]!);
    await eventually("it waits for the hub", async () => {
      const { status, body } = await agent.ask("/readyz");
      expect(status).toBe(503);
      expect(body).toContain("The hub has not been read yet.");
    });
    expect(await agent.ask("/healthz")).toEqual({ status: 200, body: "ok\n" });
  });
});

test("of two agents of a cluster one works, and both are ready", async () => {
  const world = await openAgents("east");
  await world.halt();
  const [east] = world.sites;
  const pair = [await start(world, "agent", east!), await start(world, "agent", east!)];
  await eventually("one of them works", async () => {
    const leaders = await Promise.all(pair.map(({ read }) => read("isthmus_leader")));
    expect(new Set(leaders)).toEqual(new Set([0, 1]));
  });
  await untilReady(...pair);
});

describe("central", () => {
  test("times the whole way of a change, and tells clusters apart", async () => {
    const world = await openCentral("east", "west");
    await world.halt();
    const [east, west] = world.sites;
    const central = await start(world, "central", east!, west!);
    await untilReady(central);
    expect(await central.read("isthmus_leader")).toBe(1);
    expect(await central.read("isthmus_unidentified_members")).toBe(0);
    await east!.site.offer("web", ["10.1.0.1"]);
    await eventually("west imports it", () => expectUsable(west!.site, "web", ["10.1.0.1"]));
    await expectMore(
      central,
      'isthmus_propagation_seconds_count{from="cluster"}',
      'isthmus_writes_total{cluster="east",server="cluster",kind="ServiceImport",verb="apply",result="done"}',
      'isthmus_writes_total{cluster="west",server="cluster",kind="ServiceImport",verb="apply",result="done"}',
      'isthmus_reconciles_total{cluster="west",queue="import",outcome="done"}',
      'isthmus_imported_endpoints{cluster="west",source="east",ready="true"}',
    );
    expect(await central.ask("/healthz")).toEqual({ status: 200, body: "ok\n" });
  });

  test("is ready though a cluster does not answer, and counts it", async () => {
    const world = await openCentral("east", "west");
    await world.halt();
    await world.sites[1]!.server.close();
    const central = await start(world, "central", ...world.sites);
    await untilReady(central);
    expect(await central.read("isthmus_unidentified_members")).toBe(1);
    expect(await central.read('isthmus_member_silent_seconds{cluster="west"}')).toBeUndefined();
  });
});
