import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createImportWorld, type Heard, type ImportWorld } from "../../test/importWorld.ts";
import { aContribution, aShare, WEB } from "../../test/shares.ts";
import { ENDPOINT_SLICE, type IPFamily, SERVICE } from "../api/builtin.ts";
import { SERVICE_IMPORT } from "../api/mcs.ts";
import { SOURCE_CLUSTER_LABEL } from "../api/names.ts";
import type { KubeObject, Resource } from "../api/object.ts";
import type { Contribution } from "../api/share.ts";
import { familyOf } from "./import.ts";
import type { Liveness } from "./liveness.ts";

const CLUSTERS = ["a", "b", "c", "d"] as const;

const families = fc.constantFrom<readonly IPFamily[]>(
  ["IPv4"],
  ["IPv6"],
  ["IPv4", "IPv6"],
  ["IPv6", "IPv4"],
);
const affinity = fc.constantFrom(
  { sessionAffinity: "None" as const },
  {
    sessionAffinity: "ClientIP" as const,
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
  },
  {
    sessionAffinity: "ClientIP" as const,
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 90 } },
  },
);
const ports = fc.uniqueArray(
  fc.constantFrom("80/TCP", "http 80/TCP", "http 81/TCP", "web 80/TCP h2c", "dns 53/UDP"),
  { selector: (text) => text.split(" ")[0], minLength: 1, maxLength: 3 },
);
const exported = fc.constantFrom({}, { team: "x" }, { team: "y", tier: "1" }, { tier: "2" });

/** What may change of an export, one at a time or all at once. */
const fields = {
  age: fc.nat(3),
  type: fc.constantFrom("ClusterSetIP" as const, "ClusterSetIP" as const, "Headless" as const),
  ports: ports.filter((list) => list.length === 1 || list.every((text) => text.includes(" "))),
  ipFamilies: families,
  affinity,
  labels: exported,
  annotations: exported,
  distribution: fc.constantFrom({}, { trafficDistribution: "PreferClose" }),
  internalTrafficPolicy: fc.constantFrom("Cluster" as const, "Local" as const),
  endpoints: fc.nat(2),
};
type Export = {
  [Field in keyof typeof fields]: (typeof fields)[Field] extends fc.Arbitrary<infer T> ? T : never;
};
const oneField: fc.Arbitrary<Partial<Export>> = fc.oneof(
  ...Object.entries(fields).map(([name, value]) =>
    (value as fc.Arbitrary<unknown>).map((to) => ({ [name]: to })),
  ),
);

function contribute(cluster: string, made: Export): Contribution {
  const { affinity: pair, distribution, endpoints, ...rest } = made;
  const share = aShare(cluster, { ...rest, ...pair, ...distribution });
  const addresses = share.ipFamilies.flatMap((family) =>
    Array.from({ length: endpoints }, (_, at) =>
      family === "IPv4" ? `10.0.${at}.${cluster.charCodeAt(0)}` : `fd00:${cluster}::${at}`,
    ),
  );
  return aContribution(share, addresses);
}

const liveness = fc.constantFrom<Liveness>(
  "live",
  "live",
  "live",
  "flapping",
  "drained",
  "silent",
  "lost",
);

interface State {
  /** Null: the cluster exports nothing. */
  readonly exports: Readonly<Record<string, Export | null>>;
  readonly liveness: Readonly<Record<string, Liveness>>;
  readonly awaited: readonly string[];
}
const anExport = fc.option(fc.record(fields), { freq: 3 });
const state: fc.Arbitrary<State> = fc.record({
  exports: fc.record(Object.fromEntries(CLUSTERS.map((name) => [name, anExport]))),
  liveness: fc.record(Object.fromEntries(CLUSTERS.map((name) => [name, liveness]))),
  awaited: fc.constant([]),
});

/** A change as data, so that a counterexample can be read. */
interface Step {
  readonly cluster: (typeof CLUSTERS)[number];
  readonly to?: Export | null;
  readonly tweak?: Partial<Export>;
  readonly liveness?: Liveness;
  readonly awaited?: readonly string[];
}
const cluster = fc.constantFrom(...CLUSTERS);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ cluster, to: anExport }),
  { weight: 3, arbitrary: fc.record({ cluster, tweak: oneField }) },
  fc.record({ cluster, liveness }),
  // The importer starts again: it knows nothing of some clusters for a while.
  fc.record({ cluster, awaited: fc.subarray([...CLUSTERS]) }),
);

function take(now: State, by: Step): State {
  const old = now.exports[by.cluster] ?? null;
  const tweaked = old === null ? null : { ...old, ...by.tweak };
  return {
    exports: { ...now.exports, [by.cluster]: by.to === undefined ? tweaked : by.to },
    liveness: { ...now.liveness, ...(by.liveness && { [by.cluster]: by.liveness }) },
    awaited: by.awaited ?? now.awaited,
  };
}
/** A beginning and what follows. */
const history = fc.record({ first: state, steps: fc.array(step, { minLength: 1, maxLength: 8 }) });

function hear({ exports, liveness: judged, awaited }: State): Heard {
  const contributions = Object.entries(exports).flatMap(([cluster, one]) =>
    one === null || awaited.includes(cluster) ? [] : [contribute(cluster, one)],
  );
  return { contributions, liveness: judged, awaited };
}

/** What everybody can see of the result: not when it was written nor which addresses it happened to get. */
function look(world: ImportWorld): unknown {
  const scrub = (object: KubeObject): unknown =>
    JSON.parse(JSON.stringify(object), (key, value: unknown) => {
      if (["uid", "resourceVersion", "generation", "observedGeneration"].includes(key)) {
        return undefined;
      }
      if (key === "clusterIP") return familyOf(String(value));
      if (key === "ips" || key === "clusterIPs") return (value as string[]).map(familyOf);
      return value;
    });
  const byName = (a: KubeObject, b: KubeObject): number =>
    (a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1;
  const resources: readonly Resource[] = [SERVICE_IMPORT, SERVICE, ENDPOINT_SLICE];
  return resources.map((resource) => world.server.list(resource).toSorted(byName).map(scrub));
}

function settled(heard: Heard): ImportWorld {
  const world = createImportWorld();
  world.settle(heard);
  return world;
}

function slicesOf(world: ImportWorld, cluster: string) {
  return world.server
    .observe(WEB)
    .slices.filter(({ metadata }) => metadata.labels?.[SOURCE_CLUSTER_LABEL] === cluster);
}

test("from scratch the plan comes to an end, and the plan of its own output is empty", () => {
  fc.assert(
    fc.property(state, (one) => {
      const world = settled(hear(one));
      expect(world.plan(hear(one))).toEqual([]);
    }),
  );
});

test("R21: the order of contributions makes no difference", () => {
  fc.assert(
    fc.property(state, (one) => {
      const { contributions = [], ...rest } = hear(one);
      const reversed = { ...rest, contributions: contributions.toReversed() };
      expect(look(settled(reversed))).toEqual(look(settled(hear(one))));
    }),
  );
});

test("R15, R22: whatever happened before, the result is that of the present exports alone", () => {
  fc.assert(
    fc.property(history, ({ first, steps }) => {
      const world = createImportWorld();
      let now = first;
      world.settle(hear(now));
      for (const by of steps) {
        now = take(now, by);
        world.settle(hear(now));
        expect(world.plan(hear(now))).toEqual([]);
      }
      const all = hear({ ...now, awaited: [] });
      world.settle(all);
      expect(look(world)).toEqual(look(settled(all)));
    }),
  );
});

test("R57: the virtual IP stays the same as long as the import lives and its first family stays", () => {
  fc.assert(
    fc.property(history, ({ first, steps }) => {
      const world = createImportWorld();
      let now = first;
      world.settle(hear(now));
      for (const by of steps) {
        const before = world.server.observe(WEB).serviceImport?.spec?.ips ?? [];
        now = take(now, by);
        world.settle(hear(now));
        const after = world.server.observe(WEB).serviceImport?.spec?.ips ?? [];
        const [was, is] = [before[0], after[0]];
        if (was === undefined || is === undefined || familyOf(was) !== familyOf(is)) continue;
        expect(is).toBe(was);
      }
    }),
  );
});

test("R15: while an export remains, the import is neither deleted nor made anew", () => {
  fc.assert(
    fc.property(history, ({ first, steps }) => {
      const world = createImportWorld();
      let now = first;
      world.settle(hear(now));
      for (const by of steps) {
        const before = world.server.observe(WEB).serviceImport?.metadata.uid;
        now = take(now, by);
        const heard = hear(now);
        world.settle(heard);
        const after = world.server.observe(WEB).serviceImport?.metadata.uid;
        const isExported = (heard.contributions ?? []).length > 0;
        expect(before === undefined || !isExported || after === before).toBe(true);
      }
    }),
  );
});

test("R66: while a source is awaited nothing of it is taken away", () => {
  fc.assert(
    fc.property(state, fc.constantFrom(...CLUSTERS), (one, awaited) => {
      const live = { ...one, liveness: {} };
      const world = settled(hear(live));
      const before = slicesOf(world, awaited);
      const spec = world.server.observe(WEB).serviceImport?.spec;
      world.settle(hear({ ...live, awaited: [awaited] }));
      expect(slicesOf(world, awaited)).toEqual(before);
      expect(world.server.observe(WEB).serviceImport?.spec).toEqual(spec);
    }),
  );
});

test("R65, R66: of a lost source the endpoints are gone, but its part in the import stays", () => {
  fc.assert(
    fc.property(state, fc.constantFrom(...CLUSTERS), (one, lost) => {
      const live = { ...one, liveness: {} };
      const world = settled(hear(live));
      const { spec, status } = world.server.observe(WEB).serviceImport ?? {};
      world.settle(hear({ ...live, liveness: { [lost]: "lost" } }));
      expect(slicesOf(world, lost)).toEqual([]);
      expect(world.server.observe(WEB).serviceImport?.spec).toEqual(spec);
      expect(world.server.observe(WEB).serviceImport?.status).toEqual(status);
    }),
  );
});
