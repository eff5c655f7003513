// A small fleet, all that happens to the large one, and what it must not cost.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findUnrest } from "../quiet.ts";
import { prepareDefinitions } from "../world.ts";
import { findDifferences } from "./check.ts";
import { Fleet } from "./fleet.ts";
import { planLayout } from "./layout.ts";
import {
  boundPeak,
  changeSlices,
  findPeak,
  type Phase,
  rest,
  restartHub,
  startFleet,
} from "./phase.ts";
import { planNeeded } from "./report.ts";

const layout = planLayout({ clusters: 12, services: 60, endpoints: 10, spread: 3 });
let fleet: Fleet;
let started: Phase;

beforeAll(async () => {
  fleet = new Fleet({ layout, seed: 1, definitions: await prepareDefinitions() });
  await fleet.fill();
  started = await startFleet(fleet);
});
afterAll(() => fleet.end());

// In this order: each begins where the one before it ended.
describe("a fleet", () => {
  test("comes to what its layout demands, and to what the model of the other worlds demands", async () => {
    expect(started.problems).toEqual([]);
    expect(await findUnrest(fleet.world)).toEqual([]);
  });

  test("writes on the hub what has to be there, once", () => {
    expect(started.counts.hubWrites).toBe(planNeeded(layout).hubWrites);
  });

  test("at rest writes nothing but heartbeats, and asks for nothing", async () => {
    const { problems, counts } = await rest(fleet, 60_000);
    expect(problems).toEqual([]);
    expect(counts.heartbeats).toBeGreaterThan(12 * 10);
    expect(counts.sentMs.length).toBe(counts.heartbeats);
  });

  test("writes one share and one slice in each importing cluster for each change", async () => {
    const { problems, counts, changes, neededWrites } = await changeSlices(fleet, 40);
    expect(problems).toEqual([]);
    expect(counts.hubWrites).toBe(changes);
    expect(counts.writes).toBe(neededWrites);
  });

  test.each([
    ["and goes on where it was", false],
    ["and has to list everything again", true],
  ])("bears a hub that was away %s: nothing is written, no storm", async (_, forgets) => {
    const { problems, counts, peak, requests } = await restartHub(fleet, forgets);
    expect(problems).toEqual([]);
    expect(peak).toBeLessThanOrEqual(boundPeak(requests, 12));
    expect(counts.listed.length > 0).toBe(forgets);
  });

  test("that misses an endpoint somewhere is found out", async () => {
    const [first] = layout.exports;
    first?.slices[0]?.pop();
    expect(await findDifferences(fleet)).not.toEqual([]);
  });
});

describe("the most in one second", () => {
  test("counts a second wherever it begins", () => {
    const all = [0, 600, 900, 1_500, 1_600, 5_000].map((atMs) => ({ atMs, amount: 1 }));
    expect(findPeak(all)).toBe(3);
  });

  test("is none of nothing", () => {
    expect(findPeak([])).toBe(0);
  });

  test("may be little more than half of all in a large fleet, and nearly all in a small one", () => {
    expect(boundPeak(1_000, 250)).toBe(564);
    expect(boundPeak(1_000, 4)).toBe(1_000);
  });
});
