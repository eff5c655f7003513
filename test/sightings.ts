// Test tool: a world of central or of agents in, what a person who may read everything sees of it out.

import { onTestFinished } from "vitest";
import type { HubDepth } from "../src/controllers/sight.ts";
import { sightCluster, sightHub } from "../src/controllers/sight.ts";
import { explainService, type ServiceExplanation } from "../src/core/clusterset/explain.ts";
import type { Explanation } from "../src/core/clusterset/explanation.ts";
import type { Observation } from "../src/core/clusterset/sighting.ts";
import type { ServiceKey } from "../src/api/names.ts";
import type { Clock } from "../src/ports/clock.ts";
import type { Store } from "../src/ports/store.ts";
import { AgentWorld } from "./agentWorld.ts";
import { CentralWorld } from "./centralWorld.ts";

interface Seen {
  readonly id: string;
  readonly store: Store;
}

/** All know the namespace; central is at work and everything is in step. Gone when the test ends. */
export async function openCentral(...ids: readonly string[]) {
  const world = await CentralWorld.open(...ids);
  onTestFinished(() => world.during(world.stop()));
  world.start();
  await world.pass(5);
  const [east, west, edge] = world.sites;
  return { world, east: east!, west: west!, edge: edge! };
}

/** The same with agents and a hub. */
export async function openAgents(...ids: readonly string[]) {
  const world = await AgentWorld.open(...ids);
  onTestFinished(() => world.during(world.stop()));
  world.start();
  await world.pass(10);
  const [east, west] = world.sites;
  return { world, east: east!, west: west! };
}

const describe = (error: unknown): string => String(error);

function sight(clock: Clock, { id, store }: Seen, namespace?: string) {
  const { signal } = new AbortController();
  return sightCluster({ store, clock, signal, describe, name: id, givenId: id, namespace });
}

/** `through` replaces a store: what a person reaches is not what central reaches. */
export async function observeCentral(
  world: CentralWorld,
  options: { readonly only?: readonly string[]; readonly through?: Record<string, Store> } = {},
): Promise<Observation> {
  const sites = world.sites.filter(({ site }) => options.only?.includes(site.id) ?? true);
  const sighted = await Promise.all(
    sites.map(({ site }) =>
      sight(world.clock, { id: site.id, store: options.through?.[site.id] ?? site.store }),
    ),
  );
  return { sightings: sighted.map(({ sighting }) => sighting), nowMs: world.clock.now() };
}

/** With the hub's address on every sighting, as the Secret of a joined cluster would have it. */
export async function observeAgents(
  world: AgentWorld,
  options: { readonly only?: readonly string[]; readonly depth?: HubDepth } = {},
): Promise<Observation> {
  const { clock } = world;
  const sites = world.sites.filter(({ id }) => options.only?.includes(id) ?? true);
  const sighted = await Promise.all(
    sites.map(({ id, site }) => sight(clock, { id, store: site.store })),
  );
  const server = "https://hub.example.org";
  const hub = await sightHub({
    store: world.hubStore,
    clock,
    signal: new AbortController().signal,
    describe,
    credential: { cluster: world.sites[0]!.id, server, claim: "" },
    depth: options.depth ?? "endpoints",
  });
  return {
    sightings: sighted.map(({ sighting }) => ({ ...sighting, hub: server })),
    hub,
    nowMs: clock.now(),
  };
}

/** What is said at one place of the tree: "in west", "from east", "10.1.0.1". */
export function at(observation: Observation, ...path: readonly string[]): Explanation {
  let node: Explanation = mustExplain(observation);
  for (const what of path) {
    const found = node.parts.find((part) => part.what === what);
    if (found === undefined) {
      const there = node.parts.map((part) => part.what).join(", ");
      throw new Error(`no "${what}" in "${node.what}": ${there}`);
    }
    node = found;
  }
  return node;
}

export function mustExplain(observation: Observation, service = "shop/web"): ServiceExplanation {
  const explained = explainService(observation, service as ServiceKey);
  if (explained === undefined) throw new Error(`nobody knows ${service}`);
  return explained;
}

/** All that is not good, down to the endpoints: "in west > from east > 10.1.0.1: why". */
export function complaints(node: Explanation, path = ""): readonly string[] {
  return node.parts.flatMap((part) => {
    const here = path === "" ? part.what : `${path} > ${part.what}`;
    const own = part.verdict === "good" ? [] : [`${here}: ${part.why}`];
    return [...own, ...complaints(part, here)];
  });
}
