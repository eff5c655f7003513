import { expect, test } from "vitest";
import { explainStuck, HANDLER_BOUND_MS, LOOP_BOUND_MS } from "./health.ts";

const LOOP = { name: "The loop of heartbeats", stillMs: 0 };
const QUEUE = { name: 'The import queue of cluster "east"', stillMs: 0, longestRunningMs: 0 };

test.each([
  ["all is idle", LOOP, QUEUE],
  ["a loop is late, and may still come", { ...LOOP, stillMs: LOOP_BOUND_MS }, QUEUE],
  [
    "a handler takes long, and others move",
    LOOP,
    { ...QUEUE, longestRunningMs: HANDLER_BOUND_MS, stillMs: 1_000 },
  ],
])("%s: nothing is stuck", (_, loop, queue) => {
  expect(explainStuck({ loops: [loop], queues: [queue] })).toBeUndefined();
});

test.each([
  [
    { ...LOOP, stillMs: LOOP_BOUND_MS + 60_000 },
    QUEUE,
    "The loop of heartbeats has not come round for 6 minutes.",
  ],
  [
    LOOP,
    { ...QUEUE, stillMs: LOOP_BOUND_MS + 1 },
    'The import queue of cluster "east" has work waiting and has done none for 5 minutes.',
  ],
  [
    LOOP,
    { ...QUEUE, longestRunningMs: HANDLER_BOUND_MS + 1 },
    'The import queue of cluster "east" has worked on one service for 15 minutes.',
  ],
])("says which one is stuck, and for how long", (loop, queue, sentence) => {
  const others = { loops: [LOOP, loop], queues: [QUEUE, queue] };
  expect(explainStuck(others)).toBe(sentence);
});
