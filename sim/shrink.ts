// Shrink: a schedule that breaks a rule in, a part of it that still breaks the same rule out, with fewer clusters and steps.

import { type Part, type Schedule, takePart } from "./schedule.ts";

/** Whether the part still breaks the rule. */
export type Breaks = (schedule: Schedule) => Promise<boolean>;

/** Runs at most `budget` worlds. The whole schedule is taken to break the rule. */
export async function shrink(schedule: Schedule, breaks: Breaks, budget: number): Promise<Part> {
  let best: Part = { steps: schedule.steps.map((_, at) => at), absent: [] };
  let left = budget;

  async function tryPart(part: Part): Promise<boolean> {
    if (left <= 0) return false;
    left -= 1;
    if (!(await breaks(takePart(schedule, part)))) return false;
    best = part;
    return true;
  }

  for (let cluster = schedule.setting.clusters - 1; cluster >= 0; cluster -= 1) {
    const steps = best.steps.filter((at) => !concerns(schedule, at, cluster));
    await tryPart({ steps, absent: [...best.absent, cluster] });
  }
  // Halves, then quarters, and so on: as soon as something goes, the pieces are cut anew.
  for (let pieces = 2; best.steps.length > 0 && left > 0; ) {
    const size = Math.ceil(best.steps.length / pieces);
    const { steps, absent } = best;
    let hasShrunk = false;
    for (let start = 0; start < steps.length; start += size) {
      const rest = steps.filter((_, at) => at < start || at >= start + size);
      if (await tryPart({ steps: rest, absent })) {
        hasShrunk = true;
        break;
      }
    }
    if (hasShrunk) pieces = Math.max(2, pieces - 1);
    else if (size === 1) break;
    else pieces = Math.min(pieces * 2, steps.length);
  }
  return best;
}

function concerns({ steps }: Schedule, at: number, cluster: number): boolean {
  const step = steps[at];
  if (step === undefined) return false;
  if ("server" in step) return step.server === cluster;
  if (!("cluster" in step)) return false;
  return step.cluster === cluster;
}
