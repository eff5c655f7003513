// Table: every mutant hunted through the worlds of a plain simulation in; name, the first world that shows it, how many were
// run until then and the rule that it breaks there out, line by line.

import { hunt, type Hunted } from "./hunt.ts";
import type { Mutant } from "./mutant.ts";

/** The names of those that no world showed. */
export async function printHunts(
  mutants: readonly Mutant[],
  options: {
    readonly seeds: number;
    readonly jobs: number;
    readonly print: (line: string) => void;
  },
): Promise<readonly string[]> {
  const { seeds, jobs, print } = options;
  const width = Math.max(...mutants.map(({ name }) => name.length));
  const missed: string[] = [];
  print(`${"mutant".padEnd(width)}  seed  worlds  rule`);
  for (const mutant of mutants) {
    const hunted = await hunt(mutant, listFromOne(mutant, seeds), { jobs });
    if (hunted.find === undefined) missed.push(mutant.name);
    print(renderHunt(mutant.name.padEnd(width), hunted));
  }
  return missed;
}

function renderHunt(name: string, { find, worlds }: Hunted): string {
  const count = String(worlds).padStart(6);
  if (find === undefined) return `${name}  none  ${count}  not found`;
  return `${name}  ${String(find.seed).padStart(4)}  ${count}  ${find.rule}: ${find.sentence}`;
}

/** The one on record comes last: some need more worlds than anybody has the patience for. */
function* listFromOne({ seed }: Mutant, seeds: number): Iterable<number> {
  for (let other = 1; other <= seeds; other += 1) yield other;
  if (seed > seeds) yield seed;
}
