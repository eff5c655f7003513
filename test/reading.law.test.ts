// Laws of the view: whatever users did, once the controllers are at rest no import and no export is said to be behind, and
// what the view says of conflicts is what the conditions say.

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ENDPOINT_SLICE, SERVICE, type ServiceSpec } from "../src/api/builtin.ts";
import { SERVICE_EXPORT } from "../src/api/mcs.ts";
import { WHEN_LOST_ANNOTATION } from "../src/api/names.ts";
import { viewClusterset } from "../src/core/clusterset/view.ts";
import type { Observation } from "../src/core/clusterset/sighting.ts";
import { AgentWorld } from "./agentWorld.ts";
import { CentralWorld } from "./centralWorld.ts";
import { anEndpoint, HEADLESS } from "./scenarios/objects.ts";
import type { Site } from "./scenarios/site.ts";
import { observeAgents, observeCentral } from "./sightings.ts";

interface World {
  readonly sites: readonly { readonly site: Site }[];
  pass(seconds: number): Promise<void>;
}

const RUNS = 20;
/** Whole worlds, each with real controllers: a busy machine takes its time. */
const TIMEOUT_MS = 300_000;
const NAMES = ["web", "db"] as const;
const UNREADY = { conditions: { ready: false, serving: false, terminating: false } };
const SPECS: readonly ServiceSpec[] = [
  {},
  HEADLESS,
  { ports: [{ name: "http", protocol: "TCP", port: 8000, targetPort: 8080 }] },
  { ports: [{ port: 80, protocol: "TCP" }] },
  {
    ports: [
      { name: "http", protocol: "TCP", port: 80, appProtocol: "http" },
      { name: "dns", protocol: "UDP", port: 53 },
    ],
  },
  { sessionAffinity: "ClientIP", internalTrafficPolicy: "Local" },
  { trafficDistribution: "PreferClose" },
];

const act = fc.record({
  site: fc.nat(2),
  name: fc.constantFrom(...NAMES),
  what: fc.constantFrom("offer", "offer", "unexport", "endpoints", "forget", "mark", "labels"),
  spec: fc.nat(SPECS.length - 1),
  host: fc.integer({ min: 1, max: 200 }),
});
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;

/** What the cluster refuses, because it is there already or not at all, is not done. */
async function perform(world: World, { site: index, name, what, spec, host }: Act): Promise<void> {
  const { site } = world.sites[index]!;
  const addresses = [
    anEndpoint(`10.${index + 1}.0.${host}`, { zone: "a", nodeName: "n-1", hostname: `h-${host}` }),
    anEndpoint(`10.${index + 1}.1.${host}`, host % 3 === 0 ? UNREADY : {}),
    // Not declared for anybody: agents of other clusters do not take it in.
    ...(host % 5 === 0 ? [anEndpoint(`10.77.0.${host}`)] : []),
  ];
  const edits: Record<string, () => Promise<unknown>> = {
    offer: () => site.offer(name, addresses, SPECS[spec]),
    unexport: () => site.unexport(name),
    endpoints: async () => {
      const slice = await site.get(ENDPOINT_SLICE, site.sliceName(name));
      if (slice === undefined) return;
      await site.store.replace(ENDPOINT_SLICE, { ...slice, endpoints: addresses });
    },
    forget: async () => {
      await site.delete(SERVICE, name);
      await site.delete(ENDPOINT_SLICE, site.sliceName(name));
    },
    mark: async () => {
      const found = await site.get(SERVICE_EXPORT, name);
      if (found === undefined) return;
      const annotations = { [WHEN_LOST_ANNOTATION]: host % 2 === 0 ? "keep" : "whatever" };
      await site.store.replace(SERVICE_EXPORT, {
        ...found,
        metadata: { ...found.metadata, annotations },
      });
    },
    labels: async () => {
      const found = await site.get(SERVICE_EXPORT, name);
      if (found === undefined) return;
      const exported = { exportedLabels: { tier: String(host) } };
      await site.store.replace(SERVICE_EXPORT, { ...found, spec: exported });
    },
  };
  await edits[what]!().catch(() => undefined);
  await world.pass(host % 2);
}

/** Whatever the view says that should not be said of a world at rest. */
function findFaults(observation: Observation): readonly string[] {
  return viewClusterset(observation).services.flatMap(({ service, exports, imports }) => [
    ...[...exports, ...imports].flatMap(({ cluster, behind }) =>
      behind === undefined ? [] : `${service} in ${cluster} is behind: ${behind}`,
    ),
    ...imports.flatMap(({ cluster, sources }) =>
      sources.flatMap((source) =>
        source.liveness === "live"
          ? []
          : `${cluster} takes ${source.cluster} for ${source.liveness}`,
      ),
    ),
    ...exports.flatMap(({ cluster, conditions, conflicts, valid }) => {
      const written = conditions.find(({ type }) => type === "Conflict")?.reason;
      const seen = conflicts.map(({ reason }) => reason).join(",") || "NoConflicts";
      return written === (valid ? seen : undefined)
        ? []
        : `${service} in ${cluster}: ${written}, ${seen}`;
    }),
  ]);
}

test("of central at rest nothing is said to be behind", { timeout: TIMEOUT_MS }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 3, maxLength: 12 }), async (acts) => {
      const world = await CentralWorld.open("east", "edge", "west");
      world.start();
      await world.pass(3);
      for (const each of acts) await perform(world, each);
      await world.pass(15);
      expect(findFaults(await observeCentral(world))).toEqual([]);
      await world.during(world.stop());
    }),
    { numRuns: RUNS, seed: 7 },
  );
});

test("of agents at rest nothing is said to be behind, whether all clusters are asked or one", {
  timeout: TIMEOUT_MS,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 3, maxLength: 12 }), async (acts) => {
      const world = await AgentWorld.open("east", "edge", "west");
      world.start();
      await world.pass(8);
      for (const each of acts) await perform(world, each);
      await world.pass(20);
      expect(findFaults(await observeAgents(world))).toEqual([]);
      const alone = viewClusterset(await observeAgents(world, { only: ["edge"] }));
      for (const { imports } of alone.services) {
        for (const { behind } of imports) expect(behind).toBeUndefined();
      }
      await world.during(world.stop());
    }),
    { numRuns: RUNS, seed: 11 },
  );
});
