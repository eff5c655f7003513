// Hunt: a mutant and seeds in; the first world that it is found in out, and the rule that it breaks there.

import { runCrew } from "../crew.ts";
import type { Answer, Order } from "../worker.ts";
import { bundleMutant } from "./bundle.ts";
import type { Mutant } from "./mutant.ts";

export interface Find {
  readonly seed: number;
  readonly rule: string;
  readonly sentence: string;
}

export interface Hunted {
  /** Undefined: no world showed it. */
  readonly find: Find | undefined;
  readonly worlds: number;
}

export async function hunt(
  mutant: Mutant,
  seeds: Iterable<number>,
  options: { readonly jobs: number },
): Promise<Hunted> {
  const state: { find: Find | undefined; worlds: number } = { find: undefined, worlds: 0 };
  await runCrew(toOrders(mutant, seeds), {
    jobs: options.jobs,
    code: await bundleMutant(mutant),
    shrinkBudget: 0,
    onAnswer: ({ seed, outcome }: Answer) => {
      state.worlds += 1;
      const [first] = outcome.violations;
      if (first === undefined) return true;
      state.find ??= { seed, rule: first.rule, sentence: first.sentence };
      return false;
    },
  });
  return state;
}

function* toOrders({ hasDrains = false }: Mutant, seeds: Iterable<number>): Iterable<Order> {
  for (const seed of seeds) yield { seed, hasDrains };
}

/** The seed that is known to show it, then those of any simulation. */
export function* listSeeds({ seed }: Pick<Mutant, "seed">, budget: number): Iterable<number> {
  yield seed;
  for (let other = 1; other < budget; other += 1) if (other !== seed) yield other;
}
