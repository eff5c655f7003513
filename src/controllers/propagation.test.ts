import { expect, test } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { WEB } from "../../test/shares.ts";
import type { Histogram } from "../runtime/histogram.ts";
import { createLatencies, createPropagation } from "./propagation.ts";

function aMember(latencies = createLatencies(), clock = new VirtualClock()) {
  const state = { isTimed: true };
  const isTimed = () => state.isTimed;
  return {
    clock,
    latencies,
    state,
    propagation: createPropagation({ clock, latencies, isTimed }),
  };
}

function countOf(histogram: Histogram): number {
  return histogram.read().counts.reduce((sum, count) => sum + count, 0);
}

function secondsOf(histogram: Histogram): number {
  return histogram.read().sumSeconds;
}

const write = (onWritten: () => void) => Promise.resolve(onWritten());
const nothing = () => Promise.resolve();

test("a change of another cluster is timed from what the hub told to the import written", async () => {
  const { clock, latencies, propagation } = aMember();
  propagation.noteShare(WEB);
  await clock.advance(300);
  // Told again meanwhile: the older change has waited since the first.
  propagation.noteShare(WEB);
  await clock.advance(200);
  await propagation.import(WEB, write);
  expect(countOf(latencies.imported.hub)).toBe(1);
  expect(secondsOf(latencies.imported.hub)).toBe(0.5);
  expect(countOf(latencies.imported.cluster)).toBe(0);
});

test("a change that nothing is written for is not timed", async () => {
  const { latencies, propagation } = aMember();
  propagation.noteShare(WEB);
  await propagation.import(WEB, nothing);
  propagation.noteSource(WEB);
  await propagation.publish(WEB, nothing);
  // Nor is a repair, which no change led to.
  await propagation.import(WEB, write);
  expect(countOf(latencies.imported.hub)).toBe(0);
  expect(countOf(latencies.imported.cluster)).toBe(0);
  expect(countOf(latencies.published)).toBe(0);
});

test("where one process sees both ends the whole way is timed, from the source's own watch on", async () => {
  const east = aMember();
  const { clock, latencies } = east;
  const west = aMember(latencies, clock);
  east.propagation.noteSource(WEB);
  await clock.advance(100);
  await east.propagation.publish(WEB, () => {
    west.propagation.noteShare(WEB);
    return Promise.resolve();
  });
  await clock.advance(400);
  await west.propagation.import(WEB, write);
  expect(secondsOf(latencies.published)).toBe(0.1);
  expect(secondsOf(latencies.imported.cluster)).toBe(0.5);
  expect(countOf(latencies.imported.hub)).toBe(0);
});

test("what could not be told or written goes on being timed", async () => {
  const { clock, latencies, propagation } = aMember();
  const fail = () => Promise.reject(new Error("away"));
  propagation.noteSource(WEB);
  await expect(
    propagation.publish(WEB, () => {
      propagation.noteShare(WEB);
      return fail();
    }),
  ).rejects.toThrow("away");
  await expect(propagation.import(WEB, fail)).rejects.toThrow("away");
  await clock.advance(60_000);
  propagation.noteSource(WEB);
  await propagation.publish(WEB, nothing);
  await propagation.import(WEB, write);
  expect(secondsOf(latencies.published)).toBe(60);
  expect(secondsOf(latencies.imported.cluster)).toBe(60);
});

test("what comes while an import is written is timed with the next one", async () => {
  const { clock, latencies, propagation } = aMember();
  propagation.noteShare(WEB);
  await propagation.import(WEB, async (onWritten) => {
    await clock.advance(100);
    propagation.noteShare(WEB);
    onWritten();
  });
  await clock.advance(50);
  await propagation.import(WEB, write);
  expect(countOf(latencies.imported.hub)).toBe(2);
  expect(secondsOf(latencies.imported.hub)).toBeCloseTo(0.15);
});

test("what first lists tell is not new", async () => {
  const { latencies, propagation, state } = aMember();
  state.isTimed = false;
  propagation.noteSource(WEB);
  propagation.noteShare(WEB);
  state.isTimed = true;
  await propagation.publish(WEB, () => Promise.resolve(propagation.noteShare(WEB)));
  expect(countOf(latencies.published)).toBe(0);
});
