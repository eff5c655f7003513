// Which hub the dashboard asks, and with what: by the Secrets that clusters have, which come, change and go. On a virtual clock.

import { expect, onTestFinished, test } from "vitest";
import { NAMESPACE, SECRET } from "../src/api/builtin.ts";
import { type ClusterId, SYSTEM_NAMESPACE } from "../src/api/names.ts";
import { startFeed } from "../src/dashboard/feed.ts";
import type { HubAccess } from "../src/dashboard/gathering.ts";
import { HUB_SECRET, type HubCredential, renderCredential } from "../src/hub/credential.ts";
import { seededRandom } from "./embedded.ts";
import { openAgents } from "./sightings.ts";

const HUB = "https://hub.example.org";

async function open(ids: readonly string[], ...only: readonly string[]) {
  const { world } = await openAgents(...ids);
  const opened: HubAccess[] = [];
  let closed = 0;
  const stores = new Map(
    world.sites.flatMap(({ id, site }) =>
      only.length === 0 || only.includes(id) ? [[id as string, site.store] as const] : [],
    ),
  );
  const metadata = { name: SYSTEM_NAMESPACE };
  for (const store of stores.values()) {
    await store.create(NAMESPACE, { apiVersion: "v1", kind: "Namespace", metadata });
  }
  const feed = startFeed({
    sources: [...stores].map(([id, store]) => ({
      name: id,
      givenId: id,
      store,
      describe: String,
    })),
    openHub(access) {
      opened.push(access);
      return {
        store: world.hubStore,
        describe: String,
        close: async () => {
          closed += 1;
        },
      };
    },
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
    expect(closed).toBe(opened.length);
  });
  async function join(cluster: string, parts: Partial<HubCredential>) {
    const store = stores.get(cluster)!;
    const id = cluster as ClusterId;
    const credential = { cluster: id, server: HUB, claim: "", token: `of-${cluster}`, ...parts };
    const before = await store.get(SECRET, HUB_SECRET);
    const secret = renderCredential(credential, before);
    await (before === undefined ? store.create(SECRET, secret) : store.replace(SECRET, secret));
    await world.pass(70);
  }
  async function leave(cluster: string) {
    await stores.get(cluster)!.delete(SECRET, HUB_SECRET);
    await world.pass(70);
  }
  return { world, feed, opened, closed: () => closed, join, leave };
}

test("a cluster that moves to another hub takes the dashboard along, and the hub before is shown no token of the new one", async () => {
  const { feed, opened, closed, join } = await open(["east"]);
  await join("east", { token: "for-the-first" });
  expect(opened.map(({ credential }) => credential.server)).toEqual([HUB]);
  await join("east", { server: "https://other.example.org", token: "for-the-other" });
  expect(feed.state().hub?.server).toBe("https://other.example.org");
  const [first, other] = opened;
  expect(other!.tokens.current()).toBe("for-the-other");
  expect(first!.tokens.current()).toBe("for-the-first");
  expect(closed()).toBe(1);
});

test("a hub whose authority has changed is opened anew with it", async () => {
  const { opened, join } = await open(["east"]);
  await join("east", { ca: "before" });
  await join("east", { ca: "after" });
  expect(opened.map(({ credential }) => credential.ca?.trim())).toEqual(["before", "after"]);
});

test("a hub that no cluster knows any more is neither asked nor shown, nor are those that only it knew", async () => {
  const { feed, closed, join, leave, world } = await open(["east", "west"], "east");
  await world.sites[1]!.site.offer("web", ["10.2.0.1"]);
  await join("east", {});
  expect(feed.state().clusters.map(({ id }) => id)).toEqual(["east", "west"]);
  const part = { cluster: "west", exported: true };
  expect(feed.state().services[0]!.parts).toContainEqual(expect.objectContaining(part));
  const before = feed.state().events;
  await leave("east");
  expect(feed.state().hub).toBeUndefined();
  expect(feed.state().clusters.map(({ id }) => id)).toEqual(["east"]);
  // Nothing has happened to the others.
  expect(feed.state().events).toEqual(before);
  expect(closed()).toBe(1);
});

test("where the token of the first cluster is refused that of the next is tried", async () => {
  const { opened, join, world } = await open(["east", "west"]);
  await join("east", {});
  await join("west", {});
  const { tokens } = opened[0]!;
  expect(tokens.current()).toBe("of-east");
  expect(await world.during(tokens.refresh("of-east"))).toBe(true);
  expect(tokens.current()).toBe("of-west");
});
