// Bench: runs the named benches (all without a name) and prints ratios to a floor measured in the same run, because absolute
// times say more about the machine than about us. Wiring only.

import { runChangeBench } from "./change.ts";
import { runColdBench, runGrowthBench } from "./cold.ts";
import { runDnsBench } from "./dns.ts";
import { runListBench } from "./list.ts";
import { readMachine } from "./machine.ts";
import { runMemoryBench } from "./memory.ts";
import { type Benches, runCall } from "./run.ts";

const BENCHES: Benches = {
  list: runListBench,
  change: runChangeBench,
  cold: runColdBench,
  growth: runGrowthBench,
  memory: runMemoryBench,
  dns: runDnsBench,
};

process.exitCode = await runCall(process.argv.slice(2), {
  benches: BENCHES,
  readMachine,
  print: (text) => process.stdout.write(text),
  printError: (text) => process.stderr.write(text),
});
