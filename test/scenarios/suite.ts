// Scenario suite: one set of stories about services in several clusters, told against whatever serves the clusters.

import { afterAll, beforeAll, describe, test } from "vitest";
import { type Fleet, prepareFleet } from "./fleet.ts";
import { openWorld, type World } from "./world.ts";

export interface Needs {
  /** At least so many clusters; "all": once, with every cluster of the fleet. */
  readonly clusters?: 2 | 3 | "all";
  /** The last cluster of the world knows IPv4 only. */
  readonly singleStack?: boolean;
  /** Touches what clusters have only one of: nothing else may run meanwhile. */
  readonly alone?: boolean;
}

export type DefineScenario = (
  sentence: string,
  tell: (world: World) => Promise<void>,
  needs?: Needs,
) => void;

export type Topic = (scenario: DefineScenario) => void;

interface Scenario {
  readonly sentence: string;
  readonly tell: (world: World) => Promise<void>;
  readonly needs: Needs;
}

const SIZES = [2, 3, "all"] as const;
type Size = (typeof SIZES)[number];
const TIMEOUT_MS = 90_000;

export function runScenarios(
  server: {
    readonly name: string;
    readonly open: () => Promise<Fleet>;
    readonly hasSingleStack: boolean;
  },
  topics: Readonly<Record<string, Topic>>,
): void {
  describe(`services of several clusters, ${server.name}`, () => {
    let fleet: Fleet;
    beforeAll(async () => {
      fleet = await prepareFleet(await server.open());
    }, TIMEOUT_MS);
    afterAll(() => fleet.close());

    function define(size: Size, scenario: Scenario): void {
      const run = scenario.needs.alone === true ? test.sequential : test.concurrent;
      run(scenario.sentence, { timeout: TIMEOUT_MS }, async () => {
        const members = fleet.clusters.slice(0, size === "all" ? undefined : size);
        const isSingle = scenario.needs.singleStack === true;
        const world = await openWorld(
          isSingle ? [...members.slice(0, -1), fleet.singleStack!] : members,
        );
        try {
          await scenario.tell(world);
        } catch (error) {
          throw world.explain(error);
        } finally {
          await world.close();
        }
      });
    }

    for (const [name, topic] of Object.entries(topics)) {
      const scenarios: Scenario[] = [];
      topic((sentence, tell, needs = {}) => scenarios.push({ sentence, tell, needs }));
      for (const size of SIZES) {
        const told = scenarios.filter(({ needs }) => isTold(size, needs, server.hasSingleStack));
        if (told.length === 0) continue;
        describe(`${name}, ${size} clusters`, () => {
          for (const scenario of told) define(size, scenario);
        });
      }
    }
  });
}

function isTold(size: Size, needs: Needs, hasSingleStack: boolean): boolean {
  const { clusters = 2, singleStack = false } = needs;
  if (singleStack && !hasSingleStack) return false;
  return clusters === "all" || size === "all" ? clusters === size : size >= clusters;
}
