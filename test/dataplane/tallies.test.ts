import { expect, test } from "vitest";
import type { FlowTally, Tally } from "./programs/tally.ts";
import { requireSound, summarize } from "./tallies.ts";

const FLOW: FlowTally = {
  protocol: "http",
  family: 6,
  sent: 12,
  failed: 2,
  lostInMove: 0,
  inFlight: 1,
  longestGapMs: 1400,
  byPod: { "west/web-0": 7, "east/web-1": 3 },
  addresses: ["fd42:100:1::7"],
  failedBy: { reset: 2 },
  failures: [{ atMs: 0, askedMs: 0, reason: "reset", what: "socket hang up" }],
};

function aTally(wishes: Partial<FlowTally> = {}): Tally {
  return { caller: "1", window: 0, stalledMs: 0, flows: [{ ...FLOW, ...wishes }] };
}

test("counts that add up are believed", () => {
  expect(() => requireSound("east/caller", aTally(), 0)).not.toThrow();
});

test.each<[string, Partial<FlowTally>]>([
  ["a request that went neither well nor wrong", { sent: 13 }],
  ["an answer that nobody asked for", { byPod: { "west/web-0": 11 } }],
  ["a failure without a reason", { failed: 3, sent: 13 }],
])("%s is not believed", (_, wishes) => {
  expect(() => requireSound("east/caller", aTally(wishes), 0)).toThrow(
    "The counts of east/caller do not add up",
  );
});

test("counts after a window that nobody has seen are not believed", () => {
  expect(() => requireSound("east/caller", { ...aTally(), window: 3 }, 2)).toThrow(
    "A window of east/caller has ended whose counts never arrived",
  );
});

test("a tally in words names pods, reasons and the last failure", () => {
  expect(summarize(aTally())).toEqual([
    "http over IPv6: 12 sent, 2 failed (reset 2); longest gap 1400 ms; answered by west/web-0 7, east/web-1 3; last failure: socket hang up",
  ]);
});

test("a caller that was kept from running says so: its gaps may be its own", () => {
  expect(summarize({ ...aTally(), stalledMs: 2500 }).at(-1)).toBe(
    "The caller itself was kept from running for 2500 ms.",
  );
});
