// The law of the election, under whatever befalls it: at no time may two write, and when all is well again one may.

import { expect, test } from "vitest";
import { drawFault, ElectionWorld } from "../../test/electionWorld.ts";
import { seededRandom } from "../../test/embedded.ts";

const STORIES = 30;
const TURNS = 40;
const NAMES = ["one", "two", "three"];

test.each(Array.from({ length: STORIES }, (_, seed) => seed))(
  "at no time may two write, and in the end one may (story %i)",
  async (seed) => {
    const random = seededRandom(seed + 1_000);
    const world = new ElectionWorld(seed);
    for (const [at, name] of NAMES.entries()) world.start(name, { seed: seed * 10 + at });
    const pick = () => world.candidates[Math.floor(random() * world.candidates.length)];
    let led = 0;
    for (let turn = 0; turn < TURNS; turn++) {
      const chance = random();
      if (chance < 0.3) pick()?.suspend();
      else if (chance < 0.6) pick()?.resume();
      else if (chance < 0.85) world.cluster.faults.add(drawFault(NAMES, random));
      else world.cluster.faults.clear();
      await world.advance(random() * 6_000);
      led += world.writers().length;
      expect(world.clashes).toEqual([]);
    }
    for (const candidate of world.candidates) candidate.resume();
    world.cluster.faults.clear();
    await world.advance(60_000);
    expect(world.clashes).toEqual([]);
    expect(world.writers()).toHaveLength(1);
    // A story in which nobody ever led would tell nothing.
    expect(led).toBeGreaterThan(0);
    await world.stop();
    expect(world.clock.pendingTimers).toBe(0);
    expect(world.lease()?.spec?.holderIdentity).toBe("");
  },
);
