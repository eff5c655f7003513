// The informer on virtual time: what it keeps, tells and forgets while the server behaves.

import { expect, test } from "vitest";
import { anInformer, putMany, MINUTE } from "../../test/anInformer.ts";
import { THING, type Thing, ScriptedStore } from "../../test/scriptedStore.ts";
import { createInformer, type InformerError } from "./informer.ts";
import { StoreError } from "../ports/store.ts";
import { VirtualClock } from "../../test/clock.ts";

test("the list is read in pages of 500, told as additions, and watched from where it ended", async () => {
  const { clock, store, informer, changes } = anInformer((store) => putMany(store, 1_001));
  expect(informer.isSynced()).toBe(false);
  await clock.advance(0);
  expect(informer.isSynced()).toBe(true);
  await expect(informer.whenSynced()).resolves.toBeUndefined();
  expect(store.requestsOf("list").map(({ options }) => options.limit)).toEqual([500, 500, 500]);
  expect(store.requestsOf("watch").map(({ options }) => options.resourceVersion)).toEqual(["1101"]);
  expect(informer.list()).toHaveLength(1_001);
  expect(changes).toHaveLength(1_001);
  expect(informer.get("default/thing-1000")?.value).toBe(1_000);
});

test("not synced before the last page, and whenSynced waits for it", async () => {
  const { clock, store, informer } = anInformer((store) => {
    putMany(store, 600);
    store.faults.list.push("ok", new StoreError("Internal", "second page", { status: 500 }));
  });
  let resolved = false;
  const waiting = informer.whenSynced().then(() => {
    resolved = true;
    return undefined;
  });
  await clock.advance(10);
  expect(informer.list()).toHaveLength(500);
  expect([informer.isSynced(), resolved]).toEqual([false, false]);
  expect(store.requestsOf("watch")).toHaveLength(0);
  await clock.advance(MINUTE);
  await waiting;
  expect([informer.isSynced(), resolved]).toEqual([true, true]);
  expect(informer.list()).toHaveLength(600);
});

test("changes are told once each, with what was there before", async () => {
  const { clock, store, informer, changes } = anInformer((store) => store.put("a", 1));
  await clock.advance(0);
  store.put("a", 2);
  store.put("b", 1);
  store.remove("a");
  expect(changes).toEqual(["a: - → 1", "a: 1 → 2", "b: - → 1", "a: 2 → -"]);
  expect(informer.list().map((thing) => thing.value)).toEqual([1]);
});

test("after a cut the watch resumes at the last version seen, and nothing is missed or told twice", async () => {
  const { clock, store, changes } = anInformer((store) => store.put("a", 1));
  await clock.advance(0);
  store.put("a", 2);
  store.endWatches(new StoreError("Unreachable", "reset"));
  store.put("a", 3);
  store.put("b", 1);
  await clock.advance(MINUTE);
  expect(changes).toEqual(["a: - → 1", "a: 1 → 2", "a: 2 → 3", "b: - → 1"]);
  expect(store.requestsOf("list")).toHaveLength(1);
  expect(store.requestsOf("watch").at(-1)?.options.resourceVersion).toBe("102");
});

test("a bookmark moves the version to resume at, so that a quiet watch outlives a compaction", async () => {
  const { clock, store, informer } = anInformer((store) => store.put("a", 1), {
    labelSelector: "mine=yes",
  });
  await clock.advance(0);
  putMany(store, 10);
  store.bookmark();
  store.compact();
  store.endWatches();
  await clock.advance(MINUTE);
  expect(store.requestsOf("list")).toHaveLength(1);
  expect(store.requestsOf("watch").at(-1)?.options.resourceVersion).toBe("111");
  expect(informer.isSynced()).toBe(true);
});

test("an event that repeats what the cache has is not told again", async () => {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  store.put("a", 1);
  const changes: string[] = [];
  const informer = createInformer({
    store: {
      list: store.list.bind(store),
      watch: (resource, options, onEvent) =>
        store.watch<never>(resource, options, (event) => {
          onEvent(event);
          onEvent(event);
        }),
    },
    resource: THING,
    clock,
    random: () => 0.5,
    onChange: (key) => changes.push(key),
    onError: () => undefined,
  });
  await clock.advance(0);
  store.put("a", 2);
  store.remove("a");
  expect(changes).toHaveLength(3);
  await informer.stop();
});

test("a relist tells only what differs, and what vanished as deleted", async () => {
  const { clock, store, informer, changes } = anInformer((store) => {
    store.put("same", 1);
    store.put("changed", 1);
    store.put("gone", 1);
  });
  await clock.advance(0);
  store.endWatches(new StoreError("Unreachable", "reset"));
  store.put("changed", 2);
  store.remove("gone");
  store.put("new", 1);
  store.compact();
  changes.length = 0;
  await clock.advance(MINUTE);
  expect(changes).toEqual(["changed: 1 → 2", "new: - → 1", "gone: 1 → -"]);
  expect(informer.isSynced()).toBe(true);
});

test("deleted and made anew while nobody watched: told as a deletion, then an addition", async () => {
  for (const forget of [false, true]) {
    const { clock, store, informer, changes } = anInformer((store) => store.put("a", 1));
    await clock.advance(0);
    store.endWatches(new StoreError("Unreachable", "reset"));
    store.remove("a");
    store.put("a", 9);
    if (forget) store.compact();
    await clock.advance(MINUTE);
    expect(changes).toEqual(["a: - → 1", "a: 1 → -", "a: - → 9"]);
    expect(informer.get("default/a")?.metadata.uid).toBe("uid-2");
  }
});

test("from 'too old' until the relist is complete it is not synced, and the cache stays", async () => {
  const { clock, store, informer } = anInformer((store) => store.put("a", 1));
  await clock.advance(0);
  store.always.list = new StoreError("Unavailable", "away", { status: 503 });
  store.endWatches(new StoreError("Gone", "too old", { status: 410 }));
  await clock.advance(5 * MINUTE);
  expect(informer.isSynced()).toBe(false);
  expect(informer.get("default/a")?.value).toBe(1);
  store.always = {};
  await clock.advance(MINUTE);
  expect(informer.isSynced()).toBe(true);
});

test("while merely disconnected it stays synced, keeps the cache, and lastContact stands still", async () => {
  const { clock, store, informer } = anInformer((store) => store.put("a", 1));
  expect(informer.lastContact()).toBeUndefined();
  await clock.advance(10);
  const contact = informer.lastContact();
  store.always.watch = new StoreError("Unreachable", "refused");
  store.endWatches(new StoreError("Unreachable", "reset"));
  await clock.advance(20 * MINUTE);
  expect(informer.lastContact()).toBe(contact);
  expect(informer.isSynced()).toBe(true);
  expect(informer.list()).toHaveLength(1);
  store.always = {};
  await clock.advance(MINUTE);
  expect(informer.lastContact()).toBeGreaterThan(contact!);
});

test("lastContact follows bookmarks and events of an open watch", async () => {
  const { clock, store, informer } = anInformer();
  await clock.advance(90_000);
  store.bookmark();
  expect(informer.lastContact()).toBe(clock.monotonic());
  await clock.advance(1_000);
  store.put("a", 1);
  expect(informer.lastContact()).toBe(clock.monotonic());
});

test("a change between two pages is told once, by the watch", async () => {
  const { clock, informer, changes } = anInformer((store) => {
    putMany(store, 700);
    store.beforePage = (page) => {
      if (page !== 1) return;
      store.put("thing-0", 9_000);
      store.put("thing-699", 9_001);
      store.remove("thing-1");
    };
  });
  await clock.advance(0);
  expect(informer.get("default/thing-0")?.value).toBe(9_000);
  expect(changes.slice(700)).toEqual([
    "thing-0: 0 → 9000",
    "thing-699: 699 → 9001",
    "thing-1: 1 → -",
  ]);
});

test("an object that ceases to match the selector is told as deleted, and as added when it matches again", async () => {
  const { clock, store, informer, changes } = anInformer(
    (store) => {
      store.put("a", 1, { mine: "yes" });
      store.put("other", 1);
    },
    { labelSelector: "mine=yes" },
  );
  await clock.advance(0);
  store.put("a", 2);
  store.put("a", 3);
  store.put("a", 4, { mine: "yes" });
  expect(changes).toEqual(["a: - → 1", "a: 1 → -", "a: - → 4"]);
  expect([...informer.keys()]).toEqual(["default/a"]);
});

test("namespace and selectors go with every request", async () => {
  const { clock, store } = anInformer(undefined, {
    namespace: "default",
    labelSelector: "mine=yes",
    fieldSelector: "metadata.name=a",
  });
  await clock.advance(0);
  expect(store.requests).toHaveLength(2);
  for (const { options } of store.requests) {
    expect(options).toMatchObject({
      namespace: "default",
      labelSelector: "mine=yes",
      fieldSelector: "metadata.name=a",
    });
  }
});

test("what onChange throws is reported; the object is stored and the stream goes on", async () => {
  const seen: string[] = [];
  const { clock, store, informer, errors } = anInformer((store) => store.put("a", 1), {
    onChange: (key) => {
      seen.push(key);
      throw new Error("a bug in the caller");
    },
  });
  await clock.advance(0);
  store.put("b", 2);
  expect(seen).toEqual(["default/a", "default/b"]);
  expect(informer.get("default/b")?.value).toBe(2);
  expect(errors).toMatchObject([
    { during: "onChange", key: "default/a" },
    { during: "onChange", key: "default/b" },
  ]);
  expect(store.openWatches).toBe(1);
});

test("an object that project chokes on is reported; the record before it stays and the others go on", async () => {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  store.put("a", 1);
  const errors: InformerError[] = [];
  const informer = createInformer({
    store,
    resource: THING,
    clock,
    random: () => 0.5,
    project: (thing) => {
      if (thing.value === 13) throw new Error("unlucky");
      return { doubled: thing.value * 2 };
    },
    onChange: () => undefined,
    onError: (error) => errors.push(error),
  });
  await clock.advance(0);
  store.put("a", 13);
  store.put("b", 2);
  expect(informer.list()).toEqual([{ doubled: 2 }, { doubled: 4 }]);
  expect(errors).toMatchObject([{ during: "project", key: "default/a" }]);
});

test("records are found by declared indexes, through changes and deletions", async () => {
  const { clock, store, informer } = anInformer(
    (store) => {
      store.put("a", 1);
      store.put("b", 1);
    },
    { indexes: { value: (thing) => [String(thing.value)] } },
  );
  await clock.advance(0);
  const names = (value: string) =>
    informer.byIndex("value", value).map((thing) => thing.metadata.name);
  expect(names("1")).toEqual(["a", "b"]);
  store.put("a", 2);
  expect([names("1"), names("2")]).toEqual([["b"], ["a"]]);
  store.remove("b");
  expect(names("1")).toEqual([]);
  expect(() => informer.byIndex("colour", "red")).toThrow('no index "colour"');
});

test("managedFields are not kept", async () => {
  const clock = new VirtualClock();
  const thing: Thing = {
    apiVersion: "test.isthmus.dev/v1",
    kind: "Thing",
    metadata: { name: "a", managedFields: [{ manager: "kubectl" }], resourceVersion: "1" },
    value: 1,
  };
  const informer = createInformer<Thing>({
    store: {
      list: async () => ({ items: [thing as never], resourceVersion: "1" }),
      watch: () => new Promise(() => undefined),
    },
    resource: THING,
    clock,
    random: () => 0.5,
    onChange: () => undefined,
    onError: () => undefined,
  });
  await informer.whenSynced();
  expect(informer.get("a")).toEqual({
    ...thing,
    metadata: { name: "a", resourceVersion: "1" },
  });
  await informer.stop();
});

test("stop ends everything: no timer, no stream, no call afterwards", async () => {
  const { clock, store, informer, changes } = anInformer((store) => store.put("a", 1));
  await clock.advance(0);
  await informer.stop();
  store.put("a", 2);
  await clock.advance(60 * MINUTE);
  expect(changes).toEqual(["a: - → 1"]);
  expect([store.openWatches, clock.pendingTimers]).toEqual([0, 0]);
  expect(store.requests).toHaveLength(2);
});

test("stop during a pause or a request that hangs does not wait for it", async () => {
  for (const fault of ["hang", new StoreError("Internal", "no")] as const) {
    const { clock, store, informer } = anInformer((store) => store.faults.list.push(fault));
    const synced = informer.whenSynced().catch(String);
    await clock.advance(1);
    await informer.stop();
    await expect(synced).resolves.toBe("Error: the informer of things was stopped");
    await expect(informer.whenSynced()).rejects.toThrow("was stopped");
    expect(clock.pendingTimers).toBe(0);
    expect(store.requests).toHaveLength(1);
  }
});

test("tells what it read and how old it is, from the first moment on", async () => {
  const { clock, store, informer } = anInformer((store) => store.put("a", 1));
  const none = { objects: 0, lists: 1, watches: 0, events: 0, failures: 0, ageMs: 0 };
  expect(informer.snapshot()).toMatchObject(none);
  await clock.advance(0);
  store.put("b", 1);
  store.endWatches(new StoreError("Gone", "too old", { status: 410 }));
  await clock.advance(MINUTE);
  const later = { objects: 2, lists: 2, watches: 2, events: 1, failures: 1 };
  expect(informer.snapshot()).toMatchObject(later);
  expect(informer.snapshot().ageMs).toBeGreaterThan(MINUTE / 2);
  store.put("b", 2);
  expect(informer.snapshot()).toMatchObject({ events: 2, ageMs: 0 });
});
