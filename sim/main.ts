// Command: `npm run simulate -- --seeds 100000`. Seeds in; how many worlds held, what broke, and how to see it again out.
// Exits with 1 when a rule was broken, with 2 for a wrong call.

import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { runCrew } from "./crew.ts";
import { MUTANTS } from "./mutation/mutants.ts";
import { printHunts } from "./mutation/table.ts";
import { createProgress } from "./progress.ts";
import { renderBroken, renderTotals, Totals } from "./report.ts";
import { drawWorld } from "./drain.ts";
import type { Part } from "./schedule.ts";
import type { Answer, Order } from "./worker.ts";

const USAGE = `usage: npm run simulate -- [--seeds 1000] [--from 1] [--jobs n] [--all] [--drains]
       npm run simulate -- --seed n [--drains] [--steps 1,2,3] [--absent 0,1] [--trace]
       npm run simulate -- --mutants [--seeds 500]
`;
const SHRINK_BUDGET = 150;

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  const call = parseCall(args);
  if (call === undefined) {
    process.stderr.write(USAGE);
    return 2;
  }
  if (call.mutants) return huntMutants(call);
  return call.seed === undefined ? runMany(call) : replay(call.seed, call);
}

interface CommandCall {
  readonly seed: number | undefined;
  readonly seeds: number;
  readonly from: number;
  readonly jobs: number;
  /** Go on after the first that breaks. */
  readonly all: boolean;
  readonly part: Partial<Part>;
  readonly trace: boolean;
  readonly mutants: boolean;
  /** The same worlds, with clusters drained now and then. */
  readonly drains: boolean;
}

async function huntMutants({ seeds, jobs }: CommandCall): Promise<number> {
  const print = (line: string): boolean => process.stdout.write(`${line}\n`);
  const missed = await printHunts(MUTANTS, { seeds, jobs, print });
  return missed.length === 0 ? 0 : 1;
}

async function runMany(call: CommandCall): Promise<number> {
  const totals = new Totals();
  const progress = createProgress(process.stderr, call.seeds);
  const began = performance.now();
  let isWished = true;
  // Once: it prints what it has found so far. Twice: it ends at once.
  process.once("SIGINT", () => {
    isWished = false;
  });
  await runCrew(listOrders(call), {
    jobs: call.jobs,
    shrinkBudget: SHRINK_BUDGET,
    onAnswer: (answer) => {
      totals.add(answer);
      progress.show(totals);
      if (answer.outcome.violations.length === 0) return isWished;
      progress.clear();
      process.stdout.write(renderBroken(answer));
      return call.all && isWished;
    },
  });
  progress.clear();
  process.stdout.write(renderTotals(totals, (performance.now() - began) / 1_000));
  return totals.broken === 0 ? 0 : 1;
}

function* listOrders({ from, seeds, drains }: CommandCall): Iterable<Order> {
  for (let seed = from; seed < from + seeds; seed += 1) yield { seed, hasDrains: drains };
}

async function replay(seed: number, call: CommandCall): Promise<number> {
  const { steps: whole } = drawWorld({ seed, hasDrains: call.drains });
  const { steps = whole.map((_, at) => at), absent = [] } = call.part;
  const answers: Answer[] = [];
  await runCrew([{ seed, hasDrains: call.drains, part: { steps, absent }, isTraced: call.trace }], {
    jobs: 1,
    shrinkBudget: 0,
    onAnswer: (answer) => {
      answers.push(answer);
    },
  });
  for (const answer of answers) {
    const { trace = [], outcome } = answer;
    for (const line of trace) process.stdout.write(`${line}\n`);
    process.stdout.write(
      outcome.violations.length === 0
        ? `seed ${seed} holds, trace ${outcome.hash}\n`
        : renderBroken({ ...answer, part: { steps, absent } }),
    );
  }
  return answers.every(({ outcome }) => outcome.violations.length === 0) ? 0 : 1;
}

function parseCall(args: string[]): CommandCall | undefined {
  try {
    const { values } = parseArgs({
      args,
      options: {
        seed: { type: "string" },
        seeds: { type: "string" },
        from: { type: "string", default: "1" },
        jobs: { type: "string", default: String(availableParallelism()) },
        steps: { type: "string" },
        absent: { type: "string" },
        all: { type: "boolean", default: false },
        trace: { type: "boolean", default: false },
        mutants: { type: "boolean", default: false },
        drains: { type: "boolean", default: false },
      },
    });
    return {
      seed: values.seed === undefined ? undefined : parseNumber(values.seed),
      seeds: parseNumber(values.seeds ?? (values.mutants ? "500" : "1000")),
      from: parseNumber(values.from),
      jobs: Math.max(1, parseNumber(values.jobs)),
      all: values.all,
      part: {
        ...(values.steps === undefined ? {} : { steps: parseList(values.steps) }),
        ...(values.absent === undefined ? {} : { absent: parseList(values.absent) }),
      },
      trace: values.trace,
      mutants: values.mutants,
      drains: values.drains,
    };
  } catch {
    return undefined;
  }
}

function parseList(text: string): readonly number[] {
  return text
    .split(",")
    .filter((each) => each !== "")
    .map(parseNumber);
}

function parseNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${text} is no number`);
  return value;
}
