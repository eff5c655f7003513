// What the dashboard's page is told where something cannot be read: a sentence at the cluster, and everything else. On a virtual clock.

import { expect, onTestFinished, test } from "vitest";
import { CLUSTER_PROPERTY } from "../src/api/about.ts";
import { NAMESPACE, SECRET } from "../src/api/builtin.ts";
import { CLUSTERSET_PROPERTY, SYSTEM_NAMESPACE } from "../src/api/names.ts";
import { startFeed } from "../src/dashboard/feed.ts";
import { renderCredential } from "../src/hub/credential.ts";
import { divert, refuse, watchCentral } from "./dashboardWorld.ts";
import { seededRandom } from "./embedded.ts";
import { createLine } from "./scenarios/line.ts";
import { openAgents, openCentral } from "./sightings.ts";

test("what may not be listed is said at its cluster, with what to ask for, and the rest is shown", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await west.site.offer("web", ["10.2.0.1"]);
  await world.pass(5);
  const { page, cluster, part } = await watchCentral(world, {
    through: (id, store) => (id === "west" ? refuse(store, "serviceexports", "Forbidden") : store),
  });
  expect(page().synced).toBe(true);
  expect(cluster("west")).toMatchObject({ liveness: "live" });
  expect(cluster("west").problems).toEqual([
    "You may not list serviceexports of all namespaces: what it has of them is not shown. Ask for the ClusterRole view.",
  ]);
  expect(part("shop/web", "west")).toMatchObject({ exported: false });
  expect(part("shop/web", "west").sources.map(({ cluster }) => cluster)).toEqual(["east", "west"]);
});

test.each(["Internal", "TooManyRequests", "Unreachable"] as const)(
  "one kind that one cluster answers with %s blanks nothing else, and is said",
  async (code) => {
    const { world, east, west } = await openCentral("east", "west");
    await east.site.offer("web", ["10.1.0.1"]);
    await west.site.offer("web", ["10.2.0.1"]);
    await world.pass(5);
    const { page, cluster, service } = await watchCentral(world, {
      through: (id, store) => (id === "west" ? refuse(store, "serviceimports", code) : store),
    });
    await world.pass(30);
    expect(page().synced).toBe(true);
    expect(service("shop/web").parts.map((part) => part.cluster)).toEqual(["east", "west"]);
    expect(cluster("west")).toMatchObject({ liveness: "live", exports: 1 });
    expect(cluster("west").problems).toEqual([
      expect.stringMatching(/^Its serviceimports cannot be read just now, .*answered/),
    ]);
    expect(cluster("east").problems).toEqual([]);
  },
);

test("one kind that is not answered any more is said, with what was last seen of it, until it is", async () => {
  const { world, east } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(5);
  const line = createLine(world.sites[1]!.site.store, () => true);
  const { cluster, part, events } = await watchCentral(world, {
    through: (id, store) => (id === "west" ? divert(store, "endpointslices", line.store) : store),
  });
  line.cut();
  await world.pass(30);
  expect(cluster("west")).toMatchObject({ liveness: "live" });
  expect(cluster("west").problems).toEqual([
    expect.stringMatching(/^Its endpointslices cannot be read just now/),
  ]);
  expect(part("shop/web", "west").sources).toEqual([{ cluster: "east", ready: 1, total: 1 }]);
  line.heal();
  await world.pass(30);
  expect(cluster("west").problems).toEqual([]);
  expect(events()).toEqual([]);
});

test("a watch that breaks once, and a server that is away altogether, are said once at most", async () => {
  const { world } = await openCentral("east", "west", "edge");
  const { cluster, changes, lines } = await watchCentral(world);
  lines.get("west")!.cut();
  lines.get("west")!.heal();
  await world.pass(30);
  expect(changes.flatMap(({ clusters }) => clusters.flatMap(({ problems }) => problems))).toEqual(
    [],
  );
  lines.get("west")!.cut();
  await world.pass(30);
  expect(cluster("west").problems).toEqual([expect.stringContaining("no route to the cluster")]);
});

test("a service is not called bad because EndpointSlices may not be read, and is judged once they may", async () => {
  const { world, east } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await east.site.offer("down", []);
  await world.pass(5);
  let isHidden = true;
  const { page, service, part } = await watchCentral(world, {
    through(_, store) {
      const hidden = refuse(store, "endpointslices", "Forbidden");
      return {
        ...store,
        list: (resource, listing) => (isHidden ? hidden : store).list(resource, listing),
      };
    },
  });
  expect(page().services.map(({ key, verdict }) => [key, verdict])).toEqual([
    ["shop/down", "well"],
    ["shop/web", "well"],
  ]);
  expect(part("shop/web", "east").offered).toBeUndefined();
  isHidden = false;
  await world.pass(30);
  expect(service("shop/web").verdict).toBe("well");
  expect(part("shop/web", "east").offered).toEqual({ ready: 1, total: 1 });
  expect(service("shop/down")).toMatchObject({
    verdict: "bad",
    why: "Nobody who exports it has a ready endpoint.",
  });
});

test("that the hub's Secret may not be read is said for as long as it may not", async () => {
  const { world } = await openAgents("east");
  const [{ site, id }] = world.sites as [(typeof world.sites)[number]];
  const metadata = { name: SYSTEM_NAMESPACE };
  await site.store.create(NAMESPACE, { apiVersion: "v1", kind: "Namespace", metadata });
  const server = "https://hub.example.org";
  await site.store.create(
    SECRET,
    renderCredential({ cluster: id, server, claim: "", token: "token" }),
  );
  await site.store.create(CLUSTER_PROPERTY, {
    apiVersion: "about.k8s.io/v1beta1",
    kind: "ClusterProperty",
    metadata: { name: CLUSTERSET_PROPERTY },
    spec: { value: "set" },
  });
  let isHidden = true;
  const hidden = refuse(site.store, "secrets", "Forbidden");
  const feed = startFeed({
    sources: [
      {
        name: id,
        givenId: id,
        store: {
          ...site.store,
          get: (resource, ref, getting) =>
            (isHidden ? hidden : site.store).get(resource, ref, getting),
        },
        describe: String,
      },
    ],
    openHub: () => ({ store: world.hubStore, describe: String }),
    mode: "test",
    onDefect: (defect) => {
      throw defect;
    },
    clock: world.clock,
    random: seededRandom(5),
  });
  onTestFinished(async () => {
    const stopped = feed.stop();
    await world.clock.advance(1_000);
    await stopped;
  });
  await world.pass(5);
  expect(feed.state().clusters[0]!.problems[0]).toContain("you may not read the Secret");
  isHidden = false;
  await world.pass(30);
  expect(feed.state()).toMatchObject({ hub: { server }, clusters: [{ problems: [] }] });
});
