// Bench: runs the named benches (all without a name) and prints ratios to a floor measured in the same run, because absolute
// times say more about the machine than about us. Exits with 1 when a stated goal is missed, with 2 for a wrong call.

import { parseArgs } from "node:util";
import { runChangeBench } from "./change.ts";
import { runColdBench } from "./cold.ts";
import { runDnsBench } from "./dns.ts";
import { runListBench } from "./list.ts";
import { runMemoryBench } from "./memory.ts";
import { type BenchOptions, type BenchResult, isMet, renderResult } from "./table.ts";

const BENCHES: Readonly<Record<string, (options: BenchOptions) => Promise<BenchResult>>> = {
  list: runListBench,
  change: runChangeBench,
  cold: runColdBench,
  memory: runMemoryBench,
  dns: runDnsBench,
};
const USAGE = `usage: npm run bench -- [--quick] [--rounds 3] [${Object.keys(BENCHES).join("|")} …]\n`;

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  const call = parseCall(args);
  if (call === undefined) {
    process.stderr.write(USAGE);
    return 2;
  }
  let missed = 0;
  for (const bench of call.benches) {
    const result = await bench(call.options);
    process.stdout.write(`${renderResult(result)}\n`);
    missed += result.rows.filter((row) => !isMet(row)).length;
  }
  if (missed > 0) process.stderr.write(`${missed} goal(s) missed\n`);
  return missed === 0 ? 0 : 1;
}

function parseCall(args: string[]) {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        quick: { type: "boolean", default: false },
        rounds: { type: "string", default: "3" },
      },
    });
    const rounds = Number(values.rounds);
    const names = positionals.length > 0 ? positionals : Object.keys(BENCHES);
    const benches = names.flatMap((name) => BENCHES[name] ?? []);
    if (!(Number.isInteger(rounds) && rounds >= 1) || benches.length < names.length) {
      return undefined;
    }
    return { benches, options: { quick: values.quick, rounds } };
  } catch {
    return undefined;
  }
}
