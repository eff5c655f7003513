import { expect, test } from "vitest";
import type { ServiceKey } from "../../api/names.ts";
import { createLatencyTracker } from "./latency.ts";

const WEB = "shop/web" as ServiceKey;

function sight(set: string, nowMs: number, service = WEB) {
  return { service, source: "east", set, nowMs };
}

/** At home, from one set to another. */
function shift(wasSet: string, set: string, nowMs: number, service = WEB) {
  return { ...sight(set, nowMs, service), wasSet };
}

test("a change is timed once for each importing cluster, from being seen at home to being seen there", () => {
  const tracker = createLatencyTracker();
  tracker.changed(
    shift("a", "b", 100),
    new Map([
      ["west", "a"],
      ["edge", "a"],
    ]),
  );
  expect(tracker.imported(sight("a", 110), "west")).toBeUndefined();
  expect(tracker.imported(sight("b", 150), "west")).toEqual({
    service: WEB,
    source: "east",
    importer: "west",
    ms: 50,
  });
  expect(tracker.imported(sight("b", 160), "west")).toBeUndefined();
  expect(tracker.imported(sight("b", 170), "edge")?.ms).toBe(70);
  expect(tracker.size()).toBe(0);
});

test("what had arrived before the change was seen is not timed, nor is a cluster's own import", () => {
  const tracker = createLatencyTracker();
  tracker.changed(
    shift("a", "b", 100),
    new Map([
      ["west", "b"],
      ["east", "a"],
    ]),
  );
  expect(tracker.imported(sight("b", 110), "west")).toBeUndefined();
  expect(tracker.imported(sight("b", 110), "east")).toBeUndefined();
});

test("a newer change stands for an older one that has not arrived, and the same change again for nothing", () => {
  const tracker = createLatencyTracker();
  const importers = new Map([["west", "a"]]);
  tracker.changed(shift("a", "b", 100), importers);
  tracker.changed(shift("b", "c", 200), importers);
  tracker.changed(shift("c", "c", 300), importers);
  expect(tracker.imported(sight("b", 310), "west")).toBeUndefined();
  expect(tracker.imported(sight("c", 320), "west")?.ms).toBe(120);
});

test("what changes nothing at home starts no clock, however much others lack", () => {
  const tracker = createLatencyTracker();
  tracker.changed(shift("a", "a", 0), new Map([["west", ""]]));
  expect(tracker.imported(sight("a", 50_000), "west")).toBeUndefined();
});

test("who had something else than the source before the change, as while that is drained, is not timed", () => {
  const tracker = createLatencyTracker();
  tracker.changed(
    shift("a", "b", 0),
    new Map([
      ["west", ""],
      ["edge", "a"],
    ]),
  );
  expect(tracker.imported(sight("b", 50_000), "west")).toBeUndefined();
  expect(tracker.imported(sight("b", 50_000), "edge")?.ms).toBe(50_000);
});

test("what does not arrive within a minute is forgotten", () => {
  const tracker = createLatencyTracker();
  tracker.changed(shift("a", "b", 0), new Map([["west", "a"]]));
  expect(tracker.imported(sight("b", 60_000), "west")).toBeUndefined();
  expect(tracker.size()).toBe(0);
});

test("however many changes do not arrive, no more than so many are remembered", () => {
  const tracker = createLatencyTracker();
  for (let index = 0; index < 5_000; index += 1) {
    tracker.changed(shift("a", "b", 1, `shop/s${index}` as ServiceKey), new Map([["west", "a"]]));
  }
  expect(tracker.size()).toBe(2_000);
  expect(tracker.imported(sight("b", 2, "shop/s4999" as ServiceKey), "west")?.ms).toBe(1);
});
