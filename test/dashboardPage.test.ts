// What the dashboard's page decides without a document: what it knows after a change, what it says first, which rows and lines
// it shows.

import { expect, test } from "vitest";
import type { Explanation } from "../src/core/clusterset/explanation.ts";
import { formatAge, formatMs, list } from "../src/dashboard/page/age.ts";
import type { Explanation as ShownExplanation } from "../src/dashboard/page/explained.ts";
import {
  measurePairs,
  measureSpread,
  placeOnAxis,
  planAxis,
} from "../src/dashboard/page/latency.ts";
import { applyChange, createModel } from "../src/dashboard/page/model.ts";
import { bendCurve, pickWays, planRing } from "../src/dashboard/page/ring.ts";
import {
  linkToCluster,
  linkToService,
  linkToSubject,
  parseRoute,
} from "../src/dashboard/page/route.ts";
import { findAge, FIRST_WISH, pickRows } from "../src/dashboard/page/rows.ts";
import { summarize } from "../src/dashboard/page/summary.ts";
import { announce } from "../src/dashboard/page/timeline.ts";
import { listWays } from "../src/dashboard/page/ways.ts";
import type { DashboardChange } from "../src/dashboard/state.ts";
import {
  aCluster,
  aLargeSet,
  anEvent,
  aService,
  aShop,
  EMPTY,
  partsOf,
  someLatency,
} from "./browser/states.ts";

const NO_CHANGE: DashboardChange = {
  version: 2,
  synced: true,
  clusters: [],
  goneClusters: [],
  services: [],
  goneServices: [],
  events: [],
  latency: [],
};

test("an explanation of the server's is one that the page can show", () => {
  const explanation: Explanation = {
    what: "import",
    verdict: "good",
    why: "It is there.",
    parts: [],
  };
  const shown: ShownExplanation = explanation;
  expect(shown).toBe(explanation);
});

test("a change replaces what it names, takes away what is gone, and leaves the rest as it was", () => {
  const model = createModel(aShop(), 0);
  const changed = applyChange(
    model,
    {
      ...NO_CHANGE,
      services: [aService("shop/cart", { why: "new" })],
      goneServices: ["shop/ledger"],
      goneClusters: ["elba"],
    },
    5_000,
  );
  expect(changed.services.get("shop/cart")).toMatchObject({
    value: { why: "new" },
    toldAtMs: 5_000,
  });
  expect(changed.services.get("shop/catalog")).toBe(model.services.get("shop/catalog"));
  expect(changed.services.has("shop/ledger")).toBe(false);
  expect([...changed.clusters.keys()]).not.toContain("elba");
  expect(changed.latency).toBe(model.latency);
});

test("a change that is older than what is known, and an event that is known, change nothing", () => {
  const model = createModel({ ...aShop(), version: 7 }, 0);
  expect(applyChange(model, { ...NO_CHANGE, version: 7, goneServices: ["shop/cart"] }, 1)).toBe(
    model,
  );
  const event = anEvent(5, "lost", "delphi", "delphi is lost.");
  expect(applyChange(model, { ...NO_CHANGE, version: 8, events: [event] }, 1).events).toBe(
    model.events,
  );
});

test("events and samples are kept in bounds, the newest of them", () => {
  let model = createModel(EMPTY, 0);
  for (let id = 1; id <= 1_200; id++) {
    const events = [anEvent(id, "exported", "a/b", "It is exported.")];
    model = applyChange(
      model,
      { ...NO_CHANGE, version: id + 1, events, latency: someLatency(1) },
      0,
    );
  }
  expect(model.events.map(({ id }) => id)).toEqual(
    Array.from({ length: 500 }, (_, index) => 701 + index),
  );
  expect(model.latency.length).toBe(300);
});

test("a hub's problem goes when the hub is told without it", () => {
  const hub = { server: "https://hub.example" };
  const model = createModel({ ...EMPTY, hub: { ...hub, problem: "It does not answer." } }, 0);
  expect(summarize(model).words).toBe("The hub: It does not answer.");
  expect(applyChange(model, { ...NO_CHANGE, hub }, 0).hub).toEqual(hub);
});

test("the head says the gravest first, and all is well only when it is", () => {
  const say = (...clusters: readonly ReturnType<typeof aCluster>[]) =>
    summarize(createModel({ ...EMPTY, clusters }, 0));
  expect(say(aCluster("a"))).toMatchObject({ level: "well", words: "All is well." });
  expect(say()).toMatchObject({ level: "unknown", words: "No cluster is a member yet." });
  expect(
    say(aCluster("a"), aCluster("b", { liveness: "silent" }), aCluster("c", { liveness: "lost" })),
  ).toMatchObject({
    level: "bad",
    words: "c is lost. b is silent.",
  });
  expect(say(aCluster("a", { problems: ["EndpointSlices are forbidden."] }))).toMatchObject({
    level: "warn",
    words: "Not all of a could be read.",
  });
  expect(say(aCluster("a"), aCluster("b", { liveness: "drained" as never }))).toMatchObject({
    level: "well",
    words: "All is well. b is drained.",
  });
  expect(summarize(undefined).level).toBe("unknown");
  expect(summarize(createModel({ ...EMPTY, synced: false }, 0)).words).toBe("Asking the clusters…");
});

test("ages count on from the moment they were told", () => {
  const service = aService("a/b", { parts: partsOf(["east", "west"], { east: [1, 1] }) });
  expect(findAge({ value: service, toldAtMs: 1_000 }, 11_000)).toBe(50);
  expect(findAge({ value: aService("a/b"), toldAtMs: 0 }, 0)).toBeUndefined();
});

test.each([
  [0.4, "0 s"],
  [119, "119 s"],
  [120, "2 min"],
  [7_300, "2 h"],
  [200_000, "2 d"],
])("%d seconds are told as %s", (seconds, words) => {
  expect(formatAge(seconds)).toBe(words);
});

test("milliseconds and lists are told shortly", () => {
  expect([12.4, 999, 1_000, 1_260, 12_000].map(formatMs)).toEqual([
    "12 ms",
    "999 ms",
    "1.0 s",
    "1.3 s",
    "12 s",
  ]);
  expect([list([]), list(["a"]), list(["a", "b"]), list(["a", "b", "c", "d"])]).toEqual([
    "",
    "a",
    "a and b",
    "a, b and 2 more",
  ]);
});

test("a link leads back to what it was made for, whatever the name", () => {
  expect(parseRoute(linkToService("shop/cart"))).toEqual({ kind: "service", key: "shop/cart" });
  expect(parseRoute(linkToCluster("a/b c%"))).toEqual({ kind: "cluster", id: "a/b c%" });
  expect(linkToSubject("east")).toBe("#/cluster/east");
  expect(linkToSubject("shop/cart")).toBe("#/service/shop/cart");
  expect(["", "#search", "#/service/", "#/service/%zz"].map(parseRoute)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test("every word of a search must be found, in name, port, address or exporting cluster", () => {
  const { services } = createModel(aShop(), 0);
  const find = (query: string): readonly string[] =>
    pickRows(services, { ...FIRST_WISH, query }, 0).rows.map(({ value }) => value.key);
  expect(find("SHOP cat")).toEqual(["shop/catalog"]);
  expect(find("9090")).toEqual(["shop/catalog"]);
  expect(find("10.102.9.21")).toEqual(["shop/catalog"]);
  expect(find("delphi")).toEqual(["shop/ledger"]);
  expect(find("headless")).toEqual(["data/postgres"]);
});

test("a page that is gone, because fewer are left, is the last that there is", () => {
  const { services } = createModel(aLargeSet(2, 120), 0);
  expect(pickRows(services, { ...FIRST_WISH, page: 9 }, 0)).toMatchObject({ page: 2, pages: 3 });
  expect(pickRows(services, { ...FIRST_WISH, page: 9 }, 0).rows.length).toBe(20);
});

test("a way is from who exports to who imports, and idle when nothing of it is ready", () => {
  const { services } = createModel(aShop(), 0);
  const ways = listWays(services);
  expect(ways[0]).toEqual({ source: "apollo", importer: "borneo", services: 5, idle: 0 });
  expect(ways).toContainEqual({ source: "delphi", importer: "cairo", services: 1, idle: 1 });
  expect(ways.filter(({ source, importer }) => source === importer)).toEqual([]);
});

test("all clusters have a place of their own inside the picture, however many there are and however narrow it is", () => {
  for (const clusters of [1, 2, 3, 5, 12, 13, 50]) {
    for (const width of [300, 480, 900]) {
      const ids = Array.from({ length: clusters }, (_, index) => `c${index}`);
      const { places, height } = planRing(ids, width);
      expect(new Set(places.map(({ x, y }) => `${x} ${y}`)).size).toBe(clusters);
      for (const { x, y } of places) {
        expect(x).toBeGreaterThan(0);
        expect(x).toBeLessThan(width);
        expect(y).toBeGreaterThan(0);
        expect(y).toBeLessThan(height);
      }
    }
  }
});

test("there and back are two curves, and the broader has the more services", () => {
  const ring = planRing(["a", "b", "c"], 480);
  const [a, b] = ring.places;
  const there = bendCurve(ring, a!, b!, 1);
  const back = bendCurve(ring, b!, a!, 0.1);
  expect(there.path).not.toBe(back.path);
  expect(there.width).toBeGreaterThan(back.width);
});

test("among many clusters the broadest ways are drawn, or all of the one that is pointed at", () => {
  const { services, clusters } = createModel(aLargeSet(50, 1_000), 0);
  const ring = planRing([...clusters.keys()], 480);
  const ways = listWays(services);
  expect(ways.length).toBe(50 * 49);
  expect(pickWays(ways, ring).length).toBe(60);
  expect(new Set(pickWays(ways, ring).map(({ source }) => source)).size).toBeGreaterThan(5);
  expect(pickWays(ways, ring, "cluster-07").length).toBe(2 * 49);
});

test("of the latencies the middle, the slowest hundredth and each pair of clusters are told", () => {
  const samples = Array.from({ length: 100 }, (_, index) => ({
    ...someLatency(1)[0]!,
    ms: index + 1,
  }));
  expect(measureSpread(samples)).toEqual({ samples: 100, p50: 50, p99: 99, most: 100 });
  expect(measureSpread([])).toBeUndefined();
  expect(
    measurePairs(someLatency(4)).map(({ source, importer, samples: number }) => [
      source,
      importer,
      number,
    ]),
  ).toEqual([
    ["apollo", "cairo", 2],
    ["borneo", "cairo", 2],
  ]);
});

test("the axis holds every sample, and grows by powers of ten", () => {
  const axis = planAxis([{ ...someLatency(1)[0]!, ms: 23_000 }]);
  expect(axis.ticks).toEqual([10, 100, 1_000, 10_000, 100_000]);
  expect([10, 1_000, 100_000].map((ms) => placeOnAxis(axis, ms))).toEqual([0, 0.5, 1]);
});

test("losses, returns, conflicts and failovers are said aloud; exports are not", () => {
  const events = [
    anEvent(1, "exported", "a/b", "East exports a/b."),
    anEvent(2, "lost", "west", "west is lost."),
  ];
  expect(announce(events)).toBe("west is lost.");
});
