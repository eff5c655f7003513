// Hub: who was heard, and who is current.

import { expect, test } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import type { ClusterId } from "../api/names.ts";
import { createHeard, isPublishing, renderHolder } from "./heard.ts";

const EAST = "east" as ClusterId;
const WEST = "west" as ClusterId;
const RENEWED = { uid: "1", renewTime: "now", isPublishing: false };
const PUBLISHING = { ...RENEWED, isPublishing: true };

function listen() {
  const clock = new VirtualClock();
  const told: number[] = [];
  const heard = createHeard({ clock, onCurrent: () => told.push(clock.monotonic()) });
  return { clock, told, heard };
}

test("a Lease that was there when we came shows nobody to be current; one that is renewed does", () => {
  const { heard } = listen();
  heard.renewed(EAST, RENEWED, true);
  expect([heard.heardAtMs(EAST), heard.isCurrent(EAST)]).toEqual([1_000, false]);
  heard.renewed(EAST, RENEWED, false);
  expect(heard.isCurrent(EAST)).toBe(true);
  expect(heard.isCurrent(WEST)).toBe(false);
});

test("who was not heard for ten seconds is no longer current, and is again when heard", async () => {
  const { clock, heard } = listen();
  heard.renewed(EAST, RENEWED, false);
  await clock.advance(9_999);
  expect(heard.isCurrent(EAST)).toBe(true);
  await clock.advance(1);
  expect(heard.isCurrent(EAST)).toBe(false);
  heard.renewed(EAST, RENEWED, false);
  expect(heard.isCurrent(EAST)).toBe(true);
});

test("who is publishing is not current, but for no longer than ten minutes, whose end is told", async () => {
  const { clock, told, heard } = listen();
  heard.renewed(EAST, RENEWED, false);
  await clock.advance(5_000);
  for (let seconds = 0; seconds < 600; seconds += 5) {
    heard.renewed(EAST, PUBLISHING, false);
    expect(heard.isCurrent(EAST)).toBe(false);
    await clock.advance(5_000);
  }
  told.length = 0;
  heard.renewed(EAST, PUBLISHING, false);
  expect(heard.isCurrent(EAST)).toBe(true);
  await clock.advance(5_000);
  heard.renewed(EAST, PUBLISHING, false);
  await clock.advance(5_000);
  expect(told).toHaveLength(1);
});

test("who begins and ends publishing for ever is soon current throughout, and no longer told of", async () => {
  const { clock, told, heard } = listen();
  for (let times = 0; times < 1_000; times += 1) {
    heard.renewed(EAST, PUBLISHING, false);
    await clock.advance(2_000);
    heard.renewed(EAST, RENEWED, false);
    await clock.advance(2_000);
  }
  expect(told.length).toBeLessThanOrEqual(61);
  heard.renewed(EAST, PUBLISHING, false);
  expect(heard.isCurrent(EAST)).toBe(true);
});

test("several that become current are told once, and those that are already never", async () => {
  const { clock, told, heard } = listen();
  heard.renewed(EAST, RENEWED, false);
  await clock.advance(500);
  heard.renewed(WEST, RENEWED, false);
  await clock.advance(5_000);
  heard.renewed(EAST, RENEWED, false);
  heard.renewed(WEST, RENEWED, false);
  await clock.advance(5_000);
  expect(told).toEqual([2_000]);
});

test("the holder of a Lease says whether it is publishing", () => {
  expect(renderHolder(EAST, false)).toBe("east");
  expect(renderHolder(EAST, true)).toBe("east (publishing)");
  expect([true, false].map((is) => isPublishing(renderHolder(EAST, is)))).toEqual([true, false]);
  expect(isPublishing(undefined)).toBe(false);
});
