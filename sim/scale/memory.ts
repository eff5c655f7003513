// Memory: a fleet at rest in, what one agent holds out. Clusters, hub and agents share a process here, so an agent is ended,
// and started again with copies of all that it reads, as from a socket: the difference is what it holds.

import { ENDPOINT_SHARE, SERVICE_SHARE } from "../../src/api/hubshare.ts";
import { settledBytes } from "../../bench/measure.ts";
import type { Site } from "../world.ts";
import type { Fleet } from "./fleet.ts";

/** Of each agent, on average. */
export async function measureAgents(fleet: Fleet, sites: readonly Site[]): Promise<number> {
  for (const site of sites) fleet.tally.copying.add(site.index);
  // Once for nothing: when a member comes back all others let go of what they read last, and it must not count as given back.
  await kill(fleet, sites);
  await start(fleet, sites);
  await kill(fleet, sites);
  const before = await measureHeld(fleet);
  await start(fleet, sites);
  const after = await measureHeld(fleet);
  return (after - before) / sites.length;
}

async function kill(fleet: Fleet, sites: readonly Site[]): Promise<void> {
  for (const site of sites) await fleet.kill(site);
}

async function start(fleet: Fleet, sites: readonly Site[]): Promise<void> {
  for (const site of sites) fleet.world.start(site);
  if (!(await fleet.settle())) throw new Error("an agent that was started again does not settle");
}

/** Specs of all shares as JSON: what there is to know. */
export async function measureShares({ world }: Fleet): Promise<number> {
  const specs = [
    ...(await world.hubStore.list(SERVICE_SHARE)).items,
    ...(await world.hubStore.list(ENDPOINT_SHARE)).items,
  ].map(({ spec }) => spec);
  return specs.reduce((sum, spec) => sum + Buffer.byteLength(JSON.stringify(spec)), 0);
}

/** The hub's history grows by every heartbeat, and is nobody's here. */
async function measureHeld({ time, world }: Fleet): Promise<number> {
  time.forgetDead();
  world.hub.compact();
  return settledBytes();
}
