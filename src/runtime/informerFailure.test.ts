// The informer on virtual time, against a scripted server that ends, cuts, forgets, refuses and falls silent.

import { expect, test } from "vitest";
import { anInformer, putMany, MINUTE } from "../../test/anInformer.ts";
import { seededRandom } from "../../test/embedded.ts";
import { THING, type Thing, ScriptedStore } from "../../test/scriptedStore.ts";
import { createInformer } from "./informer.ts";
import { StoreError } from "../ports/store.ts";
import { VirtualClock } from "../../test/clock.ts";

test("a server that ends every watch at once is not hammered: some thirty requests in ten minutes", async () => {
  const { clock, store } = anInformer((store) => {
    store.always.watch = "end";
  });
  await clock.advance(10 * MINUTE);
  const watches = store.requestsOf("watch").length;
  expect(watches).toBeGreaterThan(20);
  expect(watches).toBeLessThan(45);
  expect(store.requestsOf("list")).toHaveLength(1);
});

test("a server that forgets every version at once is relisted with growing pauses", async () => {
  const { clock, store, informer } = anInformer((store) => {
    store.always.watch = new StoreError("Gone", "too old", { status: 410 });
  });
  await clock.advance(10 * MINUTE);
  const lists = store.requestsOf("list").length;
  expect(lists).toBeGreaterThan(20);
  expect(lists).toBeLessThan(45);
  store.always = {};
  await clock.advance(MINUTE);
  expect(informer.isSynced()).toBe(true);
});

test("a server that forgot is listed anew within the time that all are spread over, and nobody hurries", async () => {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  const random = seededRandom(7);
  const informers = Array.from({ length: 100 }, () =>
    createInformer<Thing>({
      store,
      clock,
      random,
      resource: THING,
      onChange: () => undefined,
      onError: () => undefined,
      relistOverMs: () => 10_000,
    }),
  );
  await clock.advance(0);
  const before = store.requestsOf("list").length;
  store.compact();
  store.endWatches(new StoreError("Gone", "too old", { status: 410 }));
  for (const informer of informers) informer.retryNow();
  const perSecond: number[] = [];
  for (let second = 0; second < 10; second += 1) {
    const listed = store.requestsOf("list").length;
    await clock.advance(1_000);
    perSecond.push(store.requestsOf("list").length - listed);
  }
  expect(store.requestsOf("list").length - before).toBe(100);
  expect(Math.max(...perSecond)).toBeLessThan(25);
  for (const informer of informers) await informer.stop();
});

test.each([
  "Internal",
  "Unavailable",
  "Unreachable",
  "Forbidden",
  "NotFound",
  "Unauthorized",
] as const)("an hour of %s on every request neither stops it nor makes it hammer", async (code) => {
  const { clock, store, informer, errors } = anInformer((store) => {
    store.put("a", 1);
    store.always.list = new StoreError(code, "no");
  });
  await clock.advance(60 * MINUTE);
  const lists = store.requestsOf("list").length;
  expect(lists).toBeGreaterThan(100);
  expect(lists).toBeLessThan(250);
  expect(errors).toHaveLength(lists);
  store.always = {};
  await clock.advance(MINUTE);
  expect(informer.isSynced()).toBe(true);
  expect(informer.get("default/a")?.value).toBe(1);
});

test("those whose server was away do not come back to it in the same instant", async () => {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  store.always.list = new StoreError("Unreachable", "away");
  const ignore = (): void => undefined;
  for (let seed = 1; seed <= 20; seed += 1) {
    const random = seededRandom(seed);
    const callbacks = { onChange: ignore, onError: ignore };
    createInformer<Thing>({ store, resource: THING, clock, random, ...callbacks });
  }
  await clock.advance(10 * MINUTE);
  store.requests.length = 0;
  store.always = {};
  await clock.advance(MINUTE);
  const times = store.requestsOf("list").map(({ atMs }) => atMs);
  expect(times).toHaveLength(20);
  expect(new Set(times).size).toBe(20);
  expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(1_000);
});

test.each(["list", "watch"] as const)("Retry-After on a %s is obeyed", async (verb) => {
  const { clock, store } = anInformer((store) => {
    store.faults[verb].push(
      new StoreError("TooManyRequests", "busy", { status: 429, retryAfterSeconds: 90 }),
    );
  });
  await clock.advance(89_999);
  expect(store.requestsOf(verb)).toHaveLength(1);
  await clock.advance(10_000);
  expect(store.requestsOf(verb)).toHaveLength(2);
});

test("the pause starts small again only after a stream that lived a minute", async () => {
  const { clock, store, errors } = anInformer();
  const cut = new StoreError("Unreachable", "reset");
  const pauses = () => errors.flatMap((error) => ("retryInMs" in error ? [error.retryInMs] : []));
  await clock.advance(0);
  for (let i = 0; i < 8; i++) {
    store.endWatches(cut);
    while (store.openWatches === 0) await clock.advance(1_000);
  }
  expect(pauses().at(-1)).toBeGreaterThan(20_000);
  store.always.watch = cut;
  await clock.advance(59_000 - 1_000);
  store.endWatches(cut);
  await clock.advance(40_000);
  expect(pauses().at(-1)).toBeGreaterThan(20_000);
  store.always = {};
  while (store.openWatches === 0) await clock.advance(1_000);
  await clock.advance(61_000);
  store.endWatches(cut);
  await clock.advance(0);
  expect(pauses().at(-1)).toBeLessThan(500);
});

test("a stream's life counts towards the pause: cut every 40 s, it is blind for less than a second", async () => {
  const { clock, store, errors } = anInformer();
  for (let i = 0; i < 10; i++) {
    await clock.advance(40_000);
    expect(store.openWatches).toBe(1);
    store.endWatches(new StoreError("Unreachable", "proxy"));
  }
  for (const error of errors) expect(error).toMatchObject({ during: "watch", retryInMs: 250 });
});

test("a watch asks for five to ten minutes, and its clean end is no failure", async () => {
  const { clock, store, errors } = anInformer();
  await clock.advance(120 * MINUTE);
  const watches = store.requestsOf("watch");
  for (const { options } of watches) {
    expect(options.timeoutSeconds).toBeGreaterThanOrEqual(300);
    expect(options.timeoutSeconds).toBeLessThanOrEqual(600);
  }
  expect(watches.length).toBeGreaterThanOrEqual(12);
  expect(errors).toEqual([]);
});

test("a watch that never ends and never speaks is left after its time, and what it says later is ignored", async () => {
  const { clock, store, informer, changes, errors } = anInformer((store) => {
    store.put("a", 1);
    store.faults.watch.push("hang");
  });
  await clock.advance(7 * MINUTE);
  expect(store.requestsOf("watch")).toHaveLength(1);
  store.put("a", 2);
  await clock.advance(2 * MINUTE);
  expect(store.requestsOf("watch")).toHaveLength(2);
  expect(changes).toEqual(["a: - → 1", "a: 1 → 2"]);
  expect(errors).toHaveLength(1);
  expect(informer.isSynced()).toBe(true);
});

test("events of a stream that was left are ignored", async () => {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  const say: (() => void)[] = [];
  let streams = 0;
  const told: unknown[] = [];
  const informer = createInformer({
    store: {
      list: store.list.bind(store),
      watch: (_resource, _options, onEvent) => {
        if (streams++ === 0) {
          store.put("late", 1);
          const [late] = store.things().values();
          say.push(() => onEvent({ type: "ADDED", object: late as never }));
        }
        return new Promise(() => undefined);
      },
    },
    resource: THING,
    clock,
    random: () => 0,
    onChange: (key) => told.push(key),
    onError: () => undefined,
  });
  await clock.advance(6 * MINUTE);
  expect(streams).toBe(2);
  say[0]!();
  expect(told).toEqual([]);
  await informer.stop();
});

test("a list page that never comes is given up and asked for again", async () => {
  const { clock, store, informer } = anInformer((store) => store.faults.list.push("hang"));
  await clock.advance(3 * MINUTE);
  expect(store.requestsOf("list")).toHaveLength(2);
  expect(informer.isSynced()).toBe(true);
});

test("pages that expire in the midst restart the list; if they always do, it is read in one piece", async () => {
  const { clock, store, informer, changes } = anInformer((store) => {
    putMany(store, 700);
    store.beforePage = (page) => {
      if (page === 1) {
        store.put("thing-0", 5_000 + store.requests.length);
        store.compact();
      }
    };
  });
  await clock.advance(MINUTE);
  expect(informer.isSynced()).toBe(true);
  const limits = store.requestsOf("list").map(({ options }) => options.limit);
  expect(limits).toEqual([500, 500, 500, 500, undefined]);
  expect(informer.list()).toHaveLength(700);
  expect(changes.filter((change) => change.startsWith("thing-0:"))).toEqual([
    "thing-0: - → 0",
    "thing-0: 0 → 5002",
    "thing-0: 5002 → 5004",
  ]);
});

test("a page that is too large to be read is asked for a quarter at a time, and so is every page from then on", async () => {
  const tooLarge = new StoreError("TooLarge", "the answer is larger than 256 MiB");
  const { clock, store, informer } = anInformer((store) => {
    putMany(store, 40);
    store.faults.list.push("ok", tooLarge, tooLarge);
    store.pageSize = 32;
  });
  await clock.advance(MINUTE);
  expect(informer.isSynced()).toBe(true);
  expect(informer.list()).toHaveLength(40);
  store.compact();
  store.endWatches(new StoreError("Gone", "too old", { status: 410 }));
  await clock.advance(MINUTE);
  const limits = store.requestsOf("list").map(({ options }) => options.limit);
  expect(limits).toEqual([500, 500, 125, 32, 32, 32, 32]);
});

test("pages of one object are the smallest, and a whole list that is too large makes no page smaller", async () => {
  const { clock, store } = anInformer((store) => {
    store.always.list = new StoreError("TooLarge", "the answer is larger than 256 MiB");
  });
  await clock.advance(5 * MINUTE);
  const limits = store.requestsOf("list").map(({ options }) => options.limit);
  expect(limits.slice(0, 8)).toEqual([500, 125, 32, 8, 2, 1, 1, 1]);

  const expiring = anInformer((store) => {
    const gone = new StoreError("Gone", "too old", { status: 410 });
    const tooLarge = new StoreError("TooLarge", "the answer is larger than 256 MiB");
    store.faults.list.push(gone, gone, tooLarge);
  });
  await expiring.clock.advance(MINUTE);
  const asked = expiring.store.requestsOf("list").map(({ options }) => options.limit);
  expect(asked).toEqual([500, 500, undefined, 500]);
});

test("a server that was away for long, and that refuses, stalls and has forgotten us when it is back, is soon followed again", async () => {
  const { clock, store, informer } = anInformer();
  await clock.advance(0);
  store.always.watch = new StoreError("Unreachable", "refused");
  store.endWatches(new StoreError("Unreachable", "cut"));
  await clock.advance(10 * MINUTE);
  store.always = {};
  store.faults.watch.push(
    new StoreError("Unavailable", "not all paths yet", { status: 503, retryAfterSeconds: 1 }),
    new StoreError("Forbidden", "roles are not read yet", { status: 403 }),
    new StoreError("TooManyRequests", "initializing", { status: 429, retryAfterSeconds: 1 }),
    new StoreError("Gone", "too old", { status: 410 }),
  );
  informer.retryNow();
  await clock.advance(10_000);
  expect(store.requestsOf("list")).toHaveLength(2);
  expect(store.openWatches).toBe(1);
  await informer.stop();
});

test("told that the server is back, it cuts its pause short; but not one that the server asked for", async () => {
  const { clock, store, informer } = anInformer((store) => {
    store.always.list = new StoreError("Unreachable", "no route");
  });
  await clock.advance(10 * MINUTE);
  const before = store.requestsOf("list").length;
  informer.retryNow();
  await clock.advance(0);
  expect(store.requestsOf("list")).toHaveLength(before + 1);
  store.always.list = new StoreError("TooManyRequests", "busy", { retryAfterSeconds: 90 });
  informer.retryNow();
  await clock.advance(0);
  informer.retryNow();
  await clock.advance(89_999);
  expect(store.requestsOf("list")).toHaveLength(before + 2);
  await informer.stop();
});

test("told again and again that the server is back though its own streams end at once, it pauses all the same", async () => {
  const { clock, store, informer } = anInformer((store) => {
    store.always.watch = new StoreError("Unreachable", "reset");
  });
  for (let times = 0; times < 600; times += 1) {
    await clock.advance(100);
    informer.retryNow();
  }
  expect(store.requestsOf("watch").length).toBeLessThan(12);
  await informer.stop();
});

test("it tells once that the server is back after a failure, and not of a first success", async () => {
  let recoveries = 0;
  const { clock, store, informer } = anInformer(() => undefined, {
    onRecovery: () => {
      recoveries += 1;
    },
  });
  await clock.advance(MINUTE);
  expect(recoveries).toBe(0);
  store.endWatches(new StoreError("Unreachable", "reset"));
  await clock.advance(MINUTE);
  expect(recoveries).toBe(1);
  await informer.stop();
});

test("a failure is new to a person once for each way of failing, and again after the server has answered", async () => {
  const { clock, store, informer, errors } = anInformer();
  const told = () =>
    errors.splice(0).flatMap((error) => ("isRepeated" in error ? [error.isRepeated] : []));
  await clock.advance(0);
  const outage = async (): Promise<readonly boolean[]> => {
    store.always.watch = new StoreError("Unreachable", "refused");
    store.endWatches(new StoreError("Unreachable", "cut"));
    await clock.advance(10 * MINUTE);
    return told();
  };
  const [first, ...rest] = await outage();
  expect(first).toBe(false);
  expect(rest.length).toBeGreaterThan(10);
  expect(new Set(rest)).toEqual(new Set([true]));
  store.always.watch = new StoreError("Forbidden", "evicted");
  await clock.advance(MINUTE);
  expect(told()[0]).toBe(false);
  store.always = {};
  await clock.advance(MINUTE);
  told();
  expect((await outage())[0]).toBe(false);
  await informer.stop();
});
