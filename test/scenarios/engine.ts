// Scenario suite: what keeps the clusters of a world in step: central, or an agent in each with a hub between them.

import { startCentral } from "../../src/controllers/central.ts";
import type { Policy } from "../../src/core/policy.ts";
import type { Clock, Random } from "../../src/ports/clock.ts";
import type { Log } from "../../src/ports/log.ts";
import type { Site } from "./site.ts";

export interface EngineOptions {
  readonly members: readonly Site[];
  /** Id by site; without an entry the cluster has to say itself who it is. */
  readonly ids: Readonly<Record<string, string>>;
  readonly policy: Policy;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Engine {
  /** How many members are at work. */
  joined(): number;
  isIdle(): boolean;
  stop(): Promise<void>;
}

export function startCentralEngine({ members, ids, ...options }: EngineOptions): Engine {
  const central = startCentral({
    ...options,
    members: members.map((site) => {
      const givenId = ids[site.id];
      const member = { name: site.id, store: site.line.store };
      return givenId === undefined ? member : { ...member, givenId };
    }),
  });
  return {
    joined: () => central.joined().length,
    isIdle: () => central.isIdle(),
    stop: () => central.stop(),
  };
}
