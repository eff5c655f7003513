// An embedded API server on virtual time: objects in, changes out.

import { describe, expect, onTestFinished, test } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { aSlice, anImport, aWebImport, SILENT_LOG, ZONE } from "../../test/dnsServer.ts";
import { seededRandom } from "../../test/embedded.ts";
import { ENDPOINT_SLICE, NAMESPACE } from "../api/builtin.ts";
import { CRDS } from "../api/crds.ts";
import { SERVICE_IMPORT, type ServiceImport } from "../api/mcs.ts";
import { installCrds } from "../controllers/crd.ts";
import { EmbeddedCluster } from "../embedded/cluster.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { type Feed, startFeed } from "./feed.ts";
import type { Change } from "./table.ts";

interface World {
  readonly clock: VirtualClock;
  readonly cluster: EmbeddedCluster;
  readonly store: Store;
  /** Owners in order, with a minus in front of those that went. */
  readonly told: string[];
  readonly changes: Change[];
  readonly start: () => Feed;
}

async function aWorld({ hasCrds = true } = {}): Promise<World> {
  const clock = new VirtualClock();
  const cluster = new EmbeddedCluster({ name: "east", clock, random: seededRandom(1) });
  const store = cluster.store({});
  if (hasCrds) await whileTimePasses(clock, installCrds({ store, crds: CRDS, clock }));
  await create(store, "shop");
  const told: string[] = [];
  const changes: Change[] = [];
  return {
    clock,
    cluster,
    store,
    told,
    changes,
    start() {
      const feed = startFeed({
        store,
        zone: ZONE,
        serial: 100,
        onChange: (change) => {
          told.push(change.names.length > 0 ? change.owner : `-${change.owner}`);
          changes.push(change);
        },
        onSynced: () => told.push("synced"),
        clock,
        random: () => 0.5,
        log: SILENT_LOG,
      });
      onTestFinished(() => feed.stop());
      return feed;
    },
  };
}

async function create(store: Store, namespace: string): Promise<void> {
  const metadata = { name: namespace };
  await store.create(NAMESPACE, { apiVersion: "v1", kind: "Namespace", metadata });
}

async function whileTimePasses(clock: VirtualClock, work: Promise<unknown>): Promise<void> {
  const state = { isDone: false };
  const done = work.finally(() => {
    state.isDone = true;
  });
  while (!state.isDone) await clock.advance(50);
  await done;
}

async function update(
  store: Store,
  change: (object: ServiceImport) => ServiceImport,
): Promise<void> {
  const object = await store.get(SERVICE_IMPORT, { namespace: "shop", name: "web" });
  await store.replace(SERVICE_IMPORT, change(object!));
}

const ENDPOINTS = [{ addresses: ["10.1.0.1"], hostname: "a" }];
const HEADLESS = anImport("db", { type: "Headless", ports: [{ name: "http", port: 80 }] });

describe("the feed", () => {
  test("tells all that there is, then that this was all", async () => {
    const { clock, store, told, start } = await aWorld();
    await store.create(SERVICE_IMPORT, aWebImport());
    await store.create(SERVICE_IMPORT, HEADLESS);
    await store.create(ENDPOINT_SLICE, aSlice("db", "east", ENDPOINTS));
    const feed = start();
    expect(feed.isSynced()).toBe(false);
    await clock.advance(1_000);
    expect(feed.isSynced()).toBe(true);
    expect(feed.waitsFor()).toBeUndefined();
    expect(told.at(-1)).toBe("synced");
    expect(told).toEqual(
      expect.arrayContaining(["zone", "namespace/shop", "service/shop/web", "service/shop/db"]),
    );
    expect(new Set(told).size).toBe(told.length);
  });

  test("tells a change once, however many events it came in, with the next serial", async () => {
    const { clock, store, told, changes, start } = await aWorld();
    await store.create(SERVICE_IMPORT, HEADLESS);
    start();
    await clock.advance(1_000);
    told.length = 0;
    const before = changes.at(-1)!.serial!;
    for (const cluster of ["east", "west", "north"]) {
      await store.create(ENDPOINT_SLICE, aSlice("db", cluster, ENDPOINTS));
    }
    await clock.advance(1_000);
    expect(told).toEqual(["service/shop/db"]);
    expect(changes.at(-1)!.serial).toBe(before + 1);
  });

  test("renders the names of endpoints that did not change only once", async () => {
    const { clock, store, changes, start } = await aWorld();
    await store.create(SERVICE_IMPORT, HEADLESS);
    const some = Array.from({ length: 50 }, (_, at) => ({ addresses: [`10.1.0.${at + 1}`] }));
    const slice = await store.create(ENDPOINT_SLICE, aSlice("db", "east", some));
    start();
    await clock.advance(1_000);
    const known = new Set(changes.flatMap(({ names }) => names));
    await store.replace(ENDPOINT_SLICE, { ...slice, endpoints: some.slice(1) });
    await clock.advance(1_000);
    const { names } = changes.at(-1)!;
    // The service and its port.
    expect([names.length, names.filter((name) => !known.has(name)).length]).toEqual([51, 2]);
  });

  test("tells nothing when nothing that is served changed", async () => {
    const { clock, store, told, start } = await aWorld();
    await store.create(SERVICE_IMPORT, aWebImport());
    start();
    await clock.advance(1_000);
    told.length = 0;
    await update(store, (object) => ({
      ...object,
      metadata: { ...object.metadata, annotations: { note: "something else" } },
    }));
    await store.create(ENDPOINT_SLICE, aSlice("nobody", "east", ENDPOINTS));
    await clock.advance(1_000);
    expect(told).toEqual([]);
  });

  test("tells away what is deleted: a service, the endpoints of one, a namespace", async () => {
    const { clock, store, told, start } = await aWorld();
    await create(store, "later");
    await store.create(SERVICE_IMPORT, aWebImport());
    await store.create(SERVICE_IMPORT, HEADLESS);
    await store.create(ENDPOINT_SLICE, aSlice("db", "east", ENDPOINTS));
    start();
    await clock.advance(1_000);
    told.length = 0;
    await store.delete(SERVICE_IMPORT, { namespace: "shop", name: "web" });
    await clock.advance(1_000);
    expect(told.splice(0)).toEqual(["-service/shop/web"]);
    await store.delete(ENDPOINT_SLICE, { namespace: "shop", name: "db-east" });
    await clock.advance(1_000);
    expect(told.splice(0)).toEqual(["-service/shop/db"]);
    await store.delete(NAMESPACE, { name: "later" });
    await clock.advance(30_000);
    expect(told).toEqual(["-namespace/later"]);
  });

  test("follows endpoints from one service to another when a slice's label changes", async () => {
    const { clock, store, told, start } = await aWorld();
    await store.create(SERVICE_IMPORT, HEADLESS);
    const other = anImport("other", HEADLESS.spec);
    await store.create(SERVICE_IMPORT, other);
    const slice = await store.create(ENDPOINT_SLICE, aSlice("db", "east", ENDPOINTS));
    start();
    await clock.advance(1_000);
    told.length = 0;
    const { labels } = aSlice("other", "east", []).metadata;
    await store.replace(ENDPOINT_SLICE, {
      ...slice,
      metadata: { ...slice.metadata, ...(labels === undefined ? {} : { labels }) },
    });
    await clock.advance(1_000);
    expect(told.toSorted()).toEqual(["-service/shop/db", "service/shop/other"]);
  });
});

describe("an API server that goes away", () => {
  test("changes nothing but the age of what is served", async () => {
    const { clock, cluster, store, told, start } = await aWorld();
    await store.create(SERVICE_IMPORT, aWebImport());
    const feed = start();
    await clock.advance(70_000);
    expect(feed.ageMs()).toBeLessThanOrEqual(61_000);
    told.length = 0;
    const fault = cluster.faults.add({ disconnect: true, dropWatches: true });
    await clock.advance(3_600_000);
    expect(feed.isSynced()).toBe(true);
    expect(feed.ageMs()).toBeGreaterThan(3_500_000);
    expect(told).toEqual([]);
    fault.remove();
    await update(store, (object) => ({
      ...object,
      spec: { ...object.spec!, ips: ["10.96.0.81"] },
    }));
    await clock.advance(120_000);
    expect(told).toEqual(["service/shop/web"]);
    expect(feed.ageMs()).toBeLessThanOrEqual(61_000);
  });

  test("before everything was read keeps the feed from saying that it was, and it says why", async () => {
    const { clock, cluster, told, start } = await aWorld();
    const fault = cluster.faults.add({ match: { resource: "endpointslices" }, disconnect: true });
    const feed = start();
    await clock.advance(60_000);
    expect(told).not.toContain("synced");
    expect(feed.waitsFor()).toMatch(
      /^Not all objects have been read yet: endpointslices \(.+\)\.$/,
    );
    fault.remove();
    await clock.advance(60_000);
    expect(feed.isSynced()).toBe(true);
  });

  test("and forgets a version while other objects were not read yet does not keep the feed waiting", async () => {
    const { clock, cluster, store, start } = await aWorld();
    await store.create(SERVICE_IMPORT, aWebImport());
    const imports = { resource: "serviceimports" };
    const faults = [
      cluster.faults.add({ match: { resource: "endpointslices" }, disconnect: true }),
      cluster.faults.add({ match: { ...imports, verb: "watch" }, fail: { status: 410 } }),
    ];
    const feed = start();
    await clock.advance(10);
    const list = cluster.faults.add({ match: { ...imports, verb: "list" }, disconnect: true });
    await clock.advance(60_000);
    expect(feed.isSynced()).toBe(false);
    for (const fault of faults) fault.remove();
    await clock.advance(60_000);
    list.remove();
    // They are read again, and are as they were: no change will ever tell.
    await clock.advance(60_000);
    expect(feed.waitsFor()).toBeUndefined();
    expect(feed.isSynced()).toBe(true);
  });
});

test("a cluster without the definitions is waited for", async () => {
  const { clock, store, told, start } = await aWorld({ hasCrds: false });
  const feed = start();
  await clock.advance(5_000);
  expect(feed.waitsFor()).toContain(
    'serviceimports (the cluster does not know them: "isthmus crds',
  );
  await whileTimePasses(clock, installCrds({ store, crds: CRDS, clock }));
  await clock.advance(60_000);
  expect(told).toContain("synced");
});

test("rendering takes no more than half of the time: whoever renders may also be who answers", async () => {
  const { clock, store, told } = await aWorld();
  const delays: number[] = [];
  let lostMs = 0;
  const slow: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic() + lostMs,
    schedule(delayMs, callback) {
      delays.push(delayMs);
      return clock.schedule(delayMs, callback);
    },
  };
  const feed = startFeed({
    store,
    zone: ZONE,
    serial: 1,
    // As if each service took 300 ms.
    onChange: ({ owner }) => {
      told.push(owner);
      if (owner.startsWith("service/")) lostMs += 300;
    },
    onSynced: () => undefined,
    clock: slow,
    random: () => 0.5,
    log: SILENT_LOG,
  });
  onTestFinished(() => feed.stop());
  await clock.advance(1_000);
  delays.length = 0;
  for (const name of ["a", "b", "c"]) {
    await store.create(SERVICE_IMPORT, { ...aWebImport(), metadata: { namespace: "shop", name } });
  }
  await clock.advance(2_000);
  expect(told.filter((owner) => owner.startsWith("service/"))).toHaveLength(3);
  expect(delays.filter((delayMs) => delayMs === 300)).toHaveLength(2);
});

test("nothing is left running when it is stopped", async () => {
  const { clock, cluster, start } = await aWorld();
  const feed = start();
  await clock.advance(10);
  await feed.stop();
  cluster.stop();
  await clock.advance(1_000);
  expect(clock.pendingTimers).toBe(0);
});
