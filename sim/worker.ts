// Worker thread: seeds in, outcomes out. All worlds run in such threads, with the guard up.

import { parentPort, workerData } from "node:worker_threads";
import { raiseGuard } from "./guard.ts";
import { type Outcome, runSchedule } from "./run.ts";
import { drawWorld } from "./drain.ts";
import { type Part, type Schedule, takePart } from "./schedule.ts";
import { shrink } from "./shrink.ts";
import { type Definitions, prepareDefinitions } from "./world.ts";

export interface Order {
  readonly seed: number;
  /** With clusters drained now and then. */
  readonly hasDrains?: boolean;
  /** Absent: the whole schedule. */
  readonly part?: Part;
  readonly isTraced?: boolean;
}

export interface Answer {
  readonly seed: number;
  readonly hasDrains?: boolean;
  readonly outcome: Omit<Outcome, "schedule">;
  /** What is left of the schedule when rules were broken. */
  readonly part?: Part;
  readonly trace?: readonly string[];
}

/** What the thread is started with. */
export interface WorkerOptions {
  /** Worlds that may be run to make a schedule smaller; 0: it stays as it is. */
  readonly shrinkBudget: number;
}

async function runGuarded(
  schedule: Schedule,
  definitions: Definitions,
  trace?: string[],
): Promise<Outcome> {
  const guard = raiseGuard();
  try {
    const outcome = await runSchedule(schedule, {
      definitions,
      ...(trace === undefined ? {} : { trace }),
    });
    const reached = [...guard.reached].map((what) => ({
      atMs: outcome.virtualMs,
      rule: "nothing real is reachable",
      sentence: `${what} was reached`,
    }));
    return { ...outcome, violations: [...outcome.violations, ...reached] };
  } finally {
    guard.lower();
  }
}

async function answer(
  { seed, part, isTraced, hasDrains = false }: Order,
  definitions: Definitions,
  { shrinkBudget }: WorkerOptions,
): Promise<Answer> {
  const whole = drawWorld({ seed, hasDrains });
  const schedule = part === undefined ? whole : takePart(whole, part);
  const trace: string[] | undefined = isTraced === true ? [] : undefined;
  const { schedule: _, ...outcome } = await runGuarded(schedule, definitions, trace);
  const [first] = outcome.violations;
  const told = { seed, hasDrains, outcome, ...(trace === undefined ? {} : { trace }) };
  if (first === undefined || part !== undefined || shrinkBudget === 0) return told;
  const breaks = async (smaller: Schedule): Promise<boolean> => {
    const { violations } = await runGuarded(smaller, definitions);
    return violations.some(({ rule }) => rule === first.rule);
  };
  return { ...told, part: await shrink(whole, breaks, shrinkBudget) };
}

async function serve(): Promise<void> {
  // Thousands of errors are made to be caught; nobody reads where they came from.
  Error.stackTraceLimit = 0;
  const definitions = await prepareDefinitions();
  parentPort?.on("message", (order: Order) => {
    void answer(order, definitions, workerData as WorkerOptions).then((told) =>
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
      parentPort?.postMessage(told),
    );
  });
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
  parentPort?.postMessage("ready");
}

void serve();
