// Drains: a schedule in, the same with clusters that are drained and undrained now and then out. Chance from a stream of its own,
// and only when asked for: a seed without them is the world that it always was. Pure.

import type { Random } from "../src/ports/clock.ts";
import { between, createStream, flip } from "./chance.ts";
import { drawSchedule, type Schedule, type Setting, type Step } from "./schedule.ts";

/** What users do, they do before that: long enough for all of it to be seen. */
const QUIET_BEFORE_MS = 60_000;

/** As an order asks for it. */
export function drawWorld(order: {
  readonly seed: number;
  readonly hasDrains?: boolean;
}): Schedule {
  const schedule = drawSchedule(order.seed);
  return order.hasDrains === true ? addDrains(schedule) : schedule;
}

function addDrains(schedule: Schedule): Schedule {
  const { seed, setting } = schedule;
  const random = createStream(seed, "drains");
  const drains = Array.from({ length: between(random, 1, 4) }, () => drawDrain(random, setting));
  const steps = [...schedule.steps, ...drains.flat(), ...drawAll(random, setting)];
  return { ...schedule, steps: steps.toSorted((a, b) => a.atMs - b.atMs) };
}

/** Some are never taken back. */
function drawDrain(random: Random, setting: Setting): readonly Step[] {
  const cluster = between(random, 0, setting.clusters - 1);
  const lastMs = findLastMs(setting);
  const atMs = between(random, 0, lastMs);
  const drained: Step = { atMs, member: "drain", cluster };
  if (flip(random, 0.4)) return [drained];
  return [drained, { atMs: between(random, atMs, lastMs), member: "undrain", cluster }];
}

/** Nobody is left to go to: as if nobody were drained. */
function drawAll(random: Random, setting: Setting): readonly Step[] {
  if (!flip(random, 0.15)) return [];
  const atMs = between(random, 0, findLastMs(setting));
  return Array.from({ length: setting.clusters }, (_, cluster) => ({
    atMs,
    member: "drain",
    cluster,
  }));
}

function findLastMs({ steadyFromMs, activeMs }: Setting): number {
  return steadyFromMs === undefined ? activeMs : steadyFromMs - QUIET_BEFORE_MS;
}
