// What the dashboard's page decides without a document: what it knows after a change, what it says first, which rows and lines
// it shows.

import { expect, test } from "vitest";
import type { Explanation } from "../src/core/clusterset/explanation.ts";
import { formatAge, formatMs, list } from "../src/dashboard/page/age.ts";
import type { Child, Element } from "../src/dashboard/page/element.ts";
import type { Explanation as ShownExplanation } from "../src/dashboard/page/explained.ts";
import { followServer } from "../src/dashboard/page/feed.ts";
import {
  measurePairs,
  measureSpread,
  placeOnAxis,
  planAxis,
} from "../src/dashboard/page/latency.ts";
import { applyChange, createModel } from "../src/dashboard/page/model.ts";
import { renderPicture } from "../src/dashboard/page/picture.ts";
import { bendCurve, pickWays, planRing } from "../src/dashboard/page/ring.ts";
import {
  linkToCluster,
  linkToService,
  linkToSubject,
  parseRoute,
} from "../src/dashboard/page/route.ts";
import { findAge, FIRST_WISH, pickRows } from "../src/dashboard/page/rows.ts";
import { renderServices } from "../src/dashboard/page/services.ts";
import { judgeSource, summarize } from "../src/dashboard/page/summary.ts";
import { announce, formatTime, renderTimeline } from "../src/dashboard/page/timeline.ts";
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
import { VirtualClock } from "./clock.ts";

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

test("a hub's problem goes when the hub is told without it, and the hub when it is not told any more", () => {
  const hub = { server: "https://hub.example" };
  const model = createModel({ ...EMPTY, hub: { ...hub, problem: "It does not answer." } }, 0);
  expect(summarize(model).words).toBe("The hub: It does not answer.");
  expect(applyChange(model, { ...NO_CHANGE, hub }, 0).hub).toEqual(hub);
  expect(applyChange(model, NO_CHANGE, 0).hub).toBeUndefined();
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

/** What the server would say, in the words of the test. */
function followScript() {
  const clock = new VirtualClock();
  const streams: {
    isOpen: boolean;
    readyState: number;
    say(type: string, data?: unknown): void;
  }[] = [];
  const heard: string[] = [];
  followServer({
    clock,
    connect() {
      const listeners = new Map<string, (event: { readonly data: string }) => void>();
      const stream = {
        isOpen: true,
        readyState: 1,
        addEventListener(type: string, listener: (event: { readonly data: string }) => void) {
          listeners.set(type, listener);
        },
        close: () => (stream.isOpen = false),
        say: (type: string, data: unknown = {}) =>
          listeners.get(type)?.({ data: JSON.stringify(data) }),
      };
      streams.push(stream);
      return stream;
    },
    listener: (model, { state, since }) =>
      heard.push(`${state} ${model?.version ?? "-"} ${since?.slice(14, 19) ?? "-"}`),
  });
  return { clock, streams, heard };
}

test("a connection on which nothing is heard for 40 s is given up and opened anew, and again if that is dead, too", async () => {
  const { clock, streams, heard } = followScript();
  streams[0]!.say("state", aShop());
  expect(heard).toEqual(["connecting - -", "live 1 00:00"]);
  await clock.advance(39_999);
  expect(streams.length).toBe(1);
  await clock.advance(1);
  expect(streams.map(({ isOpen }) => isOpen)).toEqual([false, true]);
  expect(heard.at(-1)).toBe("connecting 1 00:00");
  await clock.advance(80_000);
  expect(streams.map(({ isOpen }) => isOpen)).toEqual([false, false, true]);
  streams[2]!.say("state", { ...aShop(), version: 7 });
  expect(heard.at(-1)).toBe("live 7 02:00");
  await clock.advance(40_000);
  expect(streams.length).toBe(4);
});

test("a state that is long on its way is waited for longer with each attempt, so that it arrives", async () => {
  const { clock, streams } = followScript();
  for (const patienceMs of [40_000, 80_000, 160_000, 160_000]) {
    const { length } = streams;
    await clock.advance(patienceMs - 1);
    expect(streams.length).toBe(length);
    await clock.advance(1);
    expect(streams.length).toBe(length + 1);
  }
});

test("a beat or a change every while keeps a connection, and a beat is of now", async () => {
  const { clock, streams, heard } = followScript();
  streams[0]!.say("state", aShop());
  for (const said of ["beat", "change", "beat", "beat"]) {
    await clock.advance(30_000);
    streams[0]!.say(said, { ...NO_CHANGE });
  }
  expect(streams.length).toBe(1);
  expect(heard.at(-1)).toBe("live 2 02:00");
  expect(clock.pendingTimers).toBe(1);
});

test("a server that turns the page away is asked again ever less often, on one connection at a time", async () => {
  const { clock, streams, heard } = followScript();
  for (const pauseMs of [1_000, 2_000, 4_000, 8_000, 15_000, 15_000]) {
    const { length } = streams;
    streams.at(-1)!.readyState = 2;
    streams.at(-1)!.say("error");
    await clock.advance(pauseMs - 1);
    expect(streams.length).toBe(length);
    await clock.advance(1);
    expect(streams.length).toBe(length + 1);
    expect(clock.pendingTimers).toBe(1);
  }
  expect(new Set(heard)).toEqual(new Set(["connecting - -"]));
});

test("a time is told with its date unless it is today's, and with its year unless it is this one's", () => {
  const now = new Date(2026, 10, 16, 8, 0, 0);
  const say = (...parts: [number, number, number, number, number, number]): string =>
    formatTime(new Date(...parts).toISOString(), now);
  expect(say(2026, 10, 16, 0, 0, 1)).toBe("00:00:01");
  expect(say(2026, 10, 15, 23, 59, 59)).toBe("15 Nov, 23:59:59");
  expect(say(2025, 10, 16, 8, 0, 0)).toBe("16 Nov 2025, 08:00:00");
  expect(formatTime("some day", now)).toBe("some day");
});

/** It and all that is in it. */
function flatten(child: Child): readonly Element[] {
  return typeof child === "string" ? [] : [child, ...child.children.flatMap(flatten)];
}

test("of 500 events the newest are shown, and the older ones when they are asked for", () => {
  const events = Array.from({ length: 500 }, (_, index) =>
    anEvent(index + 1, "exported", "a/b", "It is exported."),
  );
  const show = (most: number): { readonly ids: readonly unknown[]; readonly words: unknown } => {
    const all = renderTimeline(events, { startedAt: "", most }).flatMap(flatten);
    return {
      ids: all.filter(({ tag }) => tag === "li").map(({ attributes }) => attributes["key"]),
      words: all.find(({ tag }) => tag === "button")?.children[0],
    };
  };
  expect(show(60)).toMatchObject({ words: "Show older: 440 more" });
  expect(show(60).ids).toEqual(Array.from({ length: 60 }, (_, index) => 500 - index));
  expect(show(500)).toMatchObject({ words: undefined });
  expect(show(500).ids.length).toBe(500);
});

test.each([
  ["live", [2, 2], "well", ""],
  ["live", [1, 2], "warn", ""],
  ["live", [0, 2], "bad", ""],
  ["silent", [0, 2], "bad", "silent"],
  ["lost", [0, 2], "bad", "lost"],
  ["drained", [0, 2], "drained", "drained"],
  ["drained", [1, 2], "drained", "drained"],
  ["drained", [2, 2], "drained", "drained"],
  ["unknown", [0, 2], "unknown", "its state is unknown"],
  ["unknown", [1, 2], "unknown", "its state is unknown"],
  ["unknown", [2, 2], "well", ""],
  [undefined, [0, 2], "unknown", "its state is unknown"],
] as const)("a source that is %s with %j ready is %s", (liveness, [ready, total], level, words) => {
  const clusters = liveness === undefined ? [] : [aCluster("west", { liveness })];
  const model = createModel({ ...EMPTY, clusters }, 0);
  expect(judgeSource(model.clusters, "west", { ready, total })).toEqual({ level, words });
});

test.each([
  ["live", "way idle", "Dashed: nothing is ready there."],
  ["lost", "way idle", "Dashed: nothing is ready there."],
  ["drained", "way drained", "Dotted: drained."],
  ["unknown", "way unknown", "Dots and dashes: its state is unknown."],
] as const)(
  "the arrow from a cluster that is %s and leads nowhere is a %s, and the note says what it means",
  (liveness, look, words) => {
    const clusters = [aCluster("west", { liveness }), aCluster("east"), aCluster("edge")];
    const services = [
      aService("a/b", { parts: partsOf(["west", "east", "edge"], { west: [0, 2], east: [2, 2] }) }),
    ];
    const shown = renderPicture(createModel({ ...EMPTY, clusters, services }, 0), {
      width: 480,
      nowMs: 0,
    }).flatMap(flatten);
    const looks = shown.flatMap(({ attributes: { key, class: look } }) =>
      String(look).startsWith("way ") ? `${String(key)}: ${String(look)}` : [],
    );
    expect(looks.toSorted()).toEqual([
      "east edge: way used",
      "east west: way used",
      `west east: ${look}`,
      `west edge: ${look}`,
    ]);
    const note = shown.find(({ attributes }) => attributes["class"] === "note");
    expect(note?.children[0]).toContain(`the more services. ${words}`);
  },
);

test("where no cluster could be read nothing is said to be missing", () => {
  const show = (exports: number | undefined): string => {
    const { exports: _, ...cluster } = aCluster("east");
    const clusters = [exports === undefined ? cluster : { ...cluster, exports }];
    const model = createModel({ ...EMPTY, clusters }, 0);
    const rows = pickRows(model.services, FIRST_WISH, 0);
    const table = { rows, wish: FIRST_WISH, nowMs: 0, total: 0, clusters: model.clusters };
    return JSON.stringify(renderServices(table));
  };
  expect(show(undefined)).toContain("What is exported is not known: no cluster could be read.");
  expect(show(0)).toContain("No service is exported yet.");
});
