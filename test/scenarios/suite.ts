// Scenario suite: one set of stories about services in several clusters, told against whatever serves the clusters.

import { afterAll, beforeAll, describe, test } from "vitest";
import { NO_CONTROLLERS } from "../contract/server.ts";
import { type Fleet, prepareFleet } from "./fleet.ts";
import { openWorld, type World } from "./world.ts";

export type Mode = "central" | "agents";

export interface Needs {
  /** At least so many clusters; "all": once, with every cluster of the fleet. */
  readonly clusters?: 2 | 3 | "all";
  /** The last cluster of the world knows IPv4 only. */
  readonly singleStack?: boolean;
  /** Service accounts, EndpointSlices from Pods, namespaces that empty: skipped, aloud, where nobody sees to them. */
  readonly controllers?: boolean;
  /** What keeps the clusters in step; absent: either. */
  readonly mode?: Mode;
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
const TIMEOUT_MS = 180_000;

export function runScenarios(
  server: {
    readonly name: string;
    readonly open: () => Promise<Fleet>;
    readonly hasSingleStack: boolean;
    readonly mode: Mode;
  },
  topics: Readonly<Record<string, Topic>>,
): void {
  describe(`services of several clusters, ${server.mode}, ${server.name}`, () => {
    let fleet: Fleet;
    beforeAll(async () => {
      fleet = await prepareFleet(await server.open());
    }, TIMEOUT_MS);
    afterAll(() => fleet.close());

    function define(size: Size, scenario: Scenario): void {
      // oxlint-disable-next-line vitest/valid-title, vitest/expect-expect -- sentence and assertions are the scenario's
      test(scenario.sentence, { timeout: TIMEOUT_MS }, async ({ skip }) => {
        skip(scenario.needs.controllers === true && !fleet.hasControllers, NO_CONTROLLERS);
        const members = fleet.clusters.slice(0, size === "all" ? undefined : size);
        const isSingle = scenario.needs.singleStack === true;
        const world = await openWorld(
          isSingle ? [...members.slice(0, -1), fleet.singleStack!] : members,
          await fleet.openHub?.(),
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

    const chapters = Object.entries(topics).flatMap(([name, topic]) => {
      const scenarios: Scenario[] = [];
      topic((sentence, tell, needs = {}) => scenarios.push({ sentence, tell, needs }));
      return SIZES.map((size) => ({
        name,
        size,
        told: scenarios.filter(({ needs }) => isTold(size, needs, server)),
      }));
    });
    for (const { name, size, told } of chapters) {
      const together = told.filter(({ needs }) => needs.alone !== true);
      if (together.length === 0) continue;
      describe.concurrent(`${name}, ${size} clusters`, () => {
        for (const scenario of together) define(size, scenario);
      });
    }
    for (const { name, size, told } of chapters) {
      const alone = told.filter(({ needs }) => needs.alone === true);
      if (alone.length === 0) continue;
      describe(`${name}, ${size} clusters, alone`, () => {
        for (const scenario of alone) define(size, scenario);
      });
    }
  });
}

function isTold(
  size: Size,
  needs: Needs,
  server: { readonly hasSingleStack: boolean; readonly mode: Mode },
): boolean {
  const { clusters = 2, singleStack = false, mode = server.mode } = needs;
  if (mode !== server.mode || (singleStack && !server.hasSingleStack)) return false;
  return clusters === "all" || size === "all" ? clusters === size : size >= clusters;
}
