// The check of the simulation itself: deliberate bugs in, each found within its budget of worlds. A bug that is not found
// means that the simulated world is too kind.

import { describe, expect, it } from "vitest";
import { countOccurrences, readOriginal } from "./mutation/bundle.ts";
import { hunt, listSeeds } from "./mutation/hunt.ts";
import { MUTANTS } from "./mutation/mutants.ts";
import { runCrew } from "./crew.ts";

/**
 * The first is the one on record; more are tried when schedules have come to be drawn otherwise. Then put those that
 * `npm run simulate -- --mutants` finds on record, and this is quick again.
 */
const BUDGET = 60;
/** Worlds are counted, not seconds: this is for machines that have much else to do. */
const PATIENCE_MS = 600_000;

describe("mutants", () => {
  it("are at least a dozen, each with a name of its own", () => {
    const names = new Set(MUTANTS.map(({ name }) => name));
    expect(names.size).toBe(MUTANTS.length);
    expect(names.size).toBeGreaterThanOrEqual(12);
  });

  it.each(MUTANTS)("replace text that is there once: $name", async (mutant) => {
    expect(countOccurrences(await readOriginal(mutant), mutant)).toBe(1);
    expect(mutant.to).not.toBe(mutant.from);
  });

  it.each(MUTANTS)(
    "are found: $name",
    async (mutant) => {
      const { find } = await hunt(mutant, listSeeds(mutant, BUDGET), { jobs: 1 });
      expect(find).toBeDefined();
    },
    PATIENCE_MS,
  );

  it(
    "are what broke the rules: the same worlds hold without them",
    async () => {
      const orders = new Map(
        MUTANTS.map(({ seed, hasDrains = false }) => [`${seed} ${hasDrains}`, { seed, hasDrains }]),
      );
      const broken: string[] = [];
      await runCrew(orders.values(), {
        jobs: 2,
        shrinkBudget: 0,
        onAnswer: ({ seed, outcome }) => {
          broken.push(...outcome.violations.map(({ rule }) => `seed ${seed}: ${rule}`));
        },
      });
      expect(broken).toEqual([]);
    },
    PATIENCE_MS,
  );
});
