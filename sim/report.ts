// Report: outcomes in, words for a person out. Pure.

import { drawWorld } from "./drain.ts";
import { takePart } from "./schedule.ts";
import type { Answer } from "./worker.ts";

/** Sums over many worlds. */
export class Totals {
  worlds = 0;
  broken = 0;
  virtualMs = 0;
  calls = 0;
  writes = 0;
  readonly steps = new Map<string, number>();

  add({ outcome }: Answer): void {
    const { statistics } = outcome;
    this.worlds += 1;
    this.broken += outcome.violations.length > 0 ? 1 : 0;
    this.virtualMs += outcome.virtualMs;
    this.calls += statistics.calls;
    this.writes += statistics.writes;
    for (const [kind, count] of Object.entries(statistics.steps)) {
      this.steps.set(kind, (this.steps.get(kind) ?? 0) + count);
    }
  }
}

const MOST_SENTENCES = 6;

export function renderBroken({ seed, hasDrains = false, outcome, part }: Answer): string {
  const whole = drawWorld({ seed, hasDrains });
  const kept = part ?? { steps: whole.steps.map((_, at) => at), absent: [] };
  const isWhole = kept.steps.length === whole.steps.length && kept.absent.length === 0;
  const { steps, setting } = takePart(whole, kept);
  const { violations } = outcome;
  const lines = [
    `seed ${seed} breaks a rule: ${violations[0]?.rule ?? ""}`,
    ...violations
      .slice(0, MOST_SENTENCES)
      .map(({ atMs, sentence }) => `  at ${(atMs / 1_000).toFixed(3)} s: ${sentence}`),
    ...(violations.length > MOST_SENTENCES
      ? [`  and ${violations.length - MOST_SENTENCES} more`]
      : []),
    `${setting.clusters} clusters, ${steps.length} of ${whole.steps.length} steps:`,
    ...steps.map((step) => `  ${JSON.stringify(step)}`),
    `replay: npm run simulate -- --seed ${seed}${hasDrains ? " --drains" : ""}${isWhole ? "" : ` --steps ${kept.steps.join(",")}`}${kept.absent.length === 0 ? "" : ` --absent ${kept.absent.join(",")}`} --trace`,
  ];
  return `${lines.join("\n")}\n`;
}

/** Worlds, and hours of their time, for each second of ours. */
export function renderPace({ worlds, virtualMs }: Totals, seconds: number): string {
  const hours = virtualMs / 3_600_000;
  return `${(worlds / seconds).toFixed(1)} worlds and ${(hours / seconds).toFixed(2)} of their hours a second`;
}

export function renderTotals(totals: Totals, seconds: number): string {
  const { worlds, broken, virtualMs, calls, writes, steps } = totals;
  const kinds = [...steps].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const hours = (virtualMs / 3_600_000).toFixed(1);
  return [
    `${worlds} worlds, ${broken} broke a rule, ${hours} hours of their time, ${calls} calls, ${writes} writes`,
    `${seconds.toFixed(0)} s: ${renderPace(totals, seconds)}`,
    ...kinds.map(([kind, count]) => `  ${kind}: ${count}`),
    "",
  ].join("\n");
}
