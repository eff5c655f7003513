import { expect, test } from "vitest";
import type { Condition } from "../api/object.ts";
import { type Judgement, planConditions } from "./condition.ts";

const NOW = "2026-01-01T12:00:00Z";
const BEFORE = "2026-01-01T11:00:00Z";
const ready: Judgement = { type: "Ready", status: "True", reason: "Ready", message: "Fine." };
const old: Condition = { ...ready, lastTransitionTime: BEFORE, observedGeneration: 1 };

function plan(before: readonly Condition[], judgement: Judgement, generation?: number) {
  const [condition] = planConditions({ before, judgements: [judgement], generation, now: NOW });
  return condition;
}

test("R8: a condition that is new carries the present time", () => {
  expect(plan([], ready, 3)).toEqual({ ...ready, lastTransitionTime: NOW, observedGeneration: 3 });
});

test("R8: the time stays while the status stays, even with another reason and message", () => {
  expect(plan([old], { ...ready, reason: "Other", message: "Else." })).toMatchObject({
    reason: "Other",
    message: "Else.",
    lastTransitionTime: BEFORE,
  });
});

test("R8: the time moves with the status", () => {
  expect(plan([old], { ...ready, status: "False" })?.lastTransitionTime).toBe(NOW);
});

test("R8: the same judgement twice is the same data", () => {
  expect(plan([old], ready, 1)).toEqual(old);
});

test("an object without a generation gets none observed", () => {
  expect(plan([], ready)).not.toHaveProperty("observedGeneration");
});

test("each type has its own history", () => {
  const other: Condition = { ...old, type: "Other", status: "False" };
  expect(plan([other, old], ready)?.lastTransitionTime).toBe(BEFORE);
});

test("R43: a message longer than anybody reads is cut, and says so", () => {
  const message = plan([], { ...ready, message: "x".repeat(40_000) })?.message ?? "";
  expect(message).toHaveLength(4096);
  expect(message.endsWith("x…")).toBe(true);
});

test("a message of just the allowed length stays whole", () => {
  const message = "x".repeat(4096);
  expect(plan([], { ...ready, message })?.message).toBe(message);
});
