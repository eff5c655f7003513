// Command: `npm run simulate:scale -- --clusters 250`. How large a fleet is in; what its start, rest, changes and the restart of
// its hub cost, printed as it goes, out. Exits with 1 when something is not as it should be, with 2 for a wrong call.

import { parseArgs } from "node:util";
import { prepareDefinitions } from "../world.ts";
import { Fleet } from "./fleet.ts";
import { planLayout, type Size } from "./layout.ts";
import { measureAgents, measureShares } from "./memory.ts";
import { changeSlices, rest, restartHub, startFleet, type Phase } from "./phase.ts";
import {
  bytes,
  describeChanges,
  describeFleet,
  describeMemory,
  describeRest,
  describeRestart,
  describeStart,
  planNeeded,
} from "./report.ts";

const USAGE =
  "usage: npm run simulate:scale -- [--clusters 250] [--services 5000] [--endpoints 100] [--spread 5] [--seed 1]\n";
const REST_MS = 120_000;
const CHANGES = 300;
/** Measured together: one alone is little beside the rest of the process. */
const MEASURED_AGENTS = 3;
const PROGRESS_MS = 15_000;
const began = performance.now();

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  const call = parseCall(args);
  if (call === undefined) {
    process.stderr.write(USAGE);
    return 2;
  }
  const layout = planLayout(call.size);
  const agents = call.size.clusters;
  const definitions = await prepareDefinitions();
  const fleet = new Fleet({ layout, seed: call.seed, definitions });
  for (const line of describeFleet(layout)) say(line);
  await fleet.fill();
  say("the clusters are filled; agents start within 5 s");
  const problems: string[] = [];
  const tell = (name: string, { problems: found }: Phase, lines: readonly string[]): void => {
    for (const line of lines) say(`${name}: ${line}`);
    for (const sentence of found) say(`${name}: NOT AS IT SHOULD BE: ${sentence}`);
    problems.push(...found);
  };
  try {
    const started = await startFleet(fleet, createProgress(fleet));
    tell("start", started, describeStart(started, planNeeded(layout), agents));
    if (started.problems.length > 0) return 1;
    const rested = await rest(fleet, REST_MS);
    tell("rest", rested, describeRest(rested));
    const changed = await changeSlices(fleet, CHANGES);
    tell("changes", changed, describeChanges(changed, agents));
    for (const forgets of [false, true]) {
      const restarted = await restartHub(fleet, forgets);
      const name = forgets ? "hub away for 60 s, its history lost" : "hub away for 60 s";
      tell(name, restarted, describeRestart(restarted, agents));
    }
    const shares = await measureShares(fleet);
    const ordinary = await measureAgents(fleet, fleet.sites.slice(0, MEASURED_AGENTS));
    const whole = await measureAgents(fleet, [fleet.world.site(layout.whole)]);
    for (const line of describeMemory({ ordinary, whole, shares })) say(`memory: ${line}`);
  } finally {
    fleet.end();
  }
  say(problems.length === 0 ? "all is as it should be" : `${problems.length} things are not`);
  return problems.length === 0 ? 0 : 1;
}

function createProgress(fleet: Fleet): () => void {
  let toldMs = performance.now();
  return () => {
    const nowMs = performance.now();
    if (nowMs - toldMs < PROGRESS_MS) return;
    toldMs = nowMs;
    const synced = fleet.sites.filter(({ running }) => running?.agent.isSynced() === true).length;
    const idle = fleet.sites.filter(({ running }) => running?.agent.isIdle() === true).length;
    say(`… second ${Math.round(fleet.time.nowMs / 1_000)}: ${synced} agents in step, ${idle} idle`);
  };
}

function say(line: string): void {
  const at = Math.round((performance.now() - began) / 1_000);
  const { rss } = process.memoryUsage();
  process.stdout.write(`${String(at).padStart(4)} s ${bytes(rss).padStart(8)}  ${line}\n`);
}

function parseCall(args: string[]): { readonly size: Size; readonly seed: number } | undefined {
  try {
    const { values } = parseArgs({
      args,
      options: {
        clusters: { type: "string", default: "250" },
        services: { type: "string", default: "5000" },
        endpoints: { type: "string", default: "100" },
        spread: { type: "string", default: "5" },
        seed: { type: "string", default: "1" },
      },
    });
    const size = {
      clusters: parseNumber(values.clusters),
      services: parseNumber(values.services),
      endpoints: parseNumber(values.endpoints),
      spread: parseNumber(values.spread),
    };
    return { size, seed: parseNumber(values.seed) };
  } catch {
    return undefined;
  }
}

function parseNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new RangeError(`${text} is no number`);
  return value;
}
