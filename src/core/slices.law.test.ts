import * as fc from "fast-check";
import { expect, test } from "vitest";
import { aContribution, aShare, id } from "../../test/shares.ts";
import type { EndpointSlice } from "../api/builtin.ts";
import { SOURCE_CLUSTER_LABEL } from "../api/names.ts";
import type { Contribution, WhenLost } from "../api/share.ts";
import { viewMerged } from "./import.ts";
import type { Liveness } from "./liveness.ts";
import { mergeShares } from "./merge.ts";
import { planSlices } from "./slices.ts";
import type { Write } from "./write.ts";

const CLUSTERS = ["a", "b", "c", "d"] as const;
type States = Readonly<Record<string, Liveness>>;

const source = fc.record({
  whenLost: fc.constantFrom<WhenLost | undefined>(undefined, "withdraw", "unready", "keep"),
  ports: fc.constantFrom(["http 80/TCP"], ["http 80/TCP", "admin 81/TCP"], ["admin 81/TCP"]),
  ready: fc.boolean(),
  isDual: fc.boolean(),
});
const liveness = fc.constantFrom<Liveness>("live", "live", "flapping", "drained", "silent", "lost");
const clusterset = fc.record({
  sources: fc.record(Object.fromEntries(CLUSTERS.map((name) => [name, source]))),
  states: fc.record(Object.fromEntries(CLUSTERS.map((name) => [name, liveness]))),
  awaited: fc.subarray([...CLUSTERS]),
});

function contribute(
  name: string,
  from: typeof source extends fc.Arbitrary<infer T> ? T : never,
): Contribution {
  const { whenLost, ports, ready, isDual } = from;
  const said = whenLost === undefined ? {} : { whenLost };
  const share = aShare(name, { ports, ipFamilies: ["IPv4", "IPv6"], ...said });
  const { endpoints } = aContribution(share, isDual ? ["10.0.0.1", "fd00::1"] : ["10.0.0.1"]);
  const turned = endpoints.map((one) => ({
    ...one,
    endpoints: one.endpoints.map((endpoint) => ({ ...endpoint, conditions: { ready } })),
  }));
  return { share, endpoints: turned };
}

function plan(
  contributions: readonly Contribution[],
  observed: readonly EndpointSlice[],
  situation: {
    readonly states: States;
    readonly awaited?: readonly string[];
    readonly all?: readonly Contribution[];
  },
): readonly Write[] {
  const { states, awaited = [], all = contributions } = situation;
  const merged = mergeShares(all.map(({ share }) => share));
  if (merged === undefined) throw new Error("nothing was merged");
  return planSlices(
    {
      cluster: id("a"),
      view: viewMerged(merged, { families: ["IPv4", "IPv6"], derivedName: "derived-web" }),
      contributions,
      livenessOf: (cluster) => states[cluster] ?? "live",
      isAwaited: (cluster) => awaited.includes(cluster),
    },
    observed,
  );
}

function write(observed: readonly EndpointSlice[], writes: readonly Write[]) {
  const slices = new Map(observed.map((slice) => [slice.metadata.name, slice]));
  for (const one of writes) {
    if (one.verb === "delete") slices.delete(one.ref.name);
    else slices.set(one.object.metadata.name, one.object as EndpointSlice);
  }
  return [...slices.values()];
}

const sourceOf = ({ metadata }: EndpointSlice) => metadata.labels?.[SOURCE_CLUSTER_LABEL] ?? "";
/** Families and ports that lead to a ready endpoint. */
function served(slices: readonly EndpointSlice[]): ReadonlySet<string> {
  return new Set(
    slices
      .filter(({ endpoints }) => endpoints.some(({ conditions }) => conditions?.ready === true))
      .flatMap(({ addressType, ports = [] }) => ports.map(({ name }) => `${addressType} ${name}`)),
  );
}
const byName = (a: EndpointSlice, b: EndpointSlice) =>
  (a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1;

test("the order of sources makes no difference, and the plan of its own output is empty", () => {
  fc.assert(
    fc.property(clusterset, ({ sources, states }) => {
      const all = Object.entries(sources).map(([name, from]) => contribute(name, from));
      const slices = write([], plan(all, [], { states }));
      const reversed = write([], plan(all.toReversed(), [], { states }));
      expect(reversed.toSorted(byName)).toEqual(slices.toSorted(byName));
      expect(plan(all, slices, { states })).toEqual([]);
    }),
  );
});

test("that a source flaps or is drained never takes away what nobody else serves", () => {
  fc.assert(
    fc.property(clusterset, ({ sources, states }) => {
      const all = Object.entries(sources).map(([name, from]) => contribute(name, from));
      const trusting = Object.fromEntries(
        Object.entries(states).map(([name, is]) => [
          name,
          is === "flapping" || is === "drained" ? "live" : is,
        ]),
      );
      const damped = write([], plan(all, [], { states }));
      expect(served(damped)).toEqual(served(write([], plan(all, [], { states: trusting }))));
    }),
  );
});

test("whoever is drained, every route that has a ready endpoint somewhere keeps one, elsewhere if there is one", () => {
  fc.assert(
    fc.property(clusterset, fc.subarray([...CLUSTERS]), ({ sources }, drained) => {
      const all = Object.entries(sources).map(([name, from]) => contribute(name, from));
      const states = Object.fromEntries(drained.map((name) => [name, "drained" as const]));
      const before = write([], plan(all, [], { states: {} }));
      const after = write(before, plan(all, before, { states }));
      expect(served(after)).toEqual(served(before));
      const others = served(after.filter((slice) => !drained.includes(sourceOf(slice) as "a")));
      for (const slice of after.filter((one) => drained.includes(sourceOf(one) as "a"))) {
        const isNeeded = (slice.ports ?? []).some(
          ({ name }) => !others.has(`${slice.addressType} ${name}`),
        );
        expect(isNeeded ? 0 : served([slice]).size).toBe(0);
      }
      expect(write(after, plan(all, after, { states: {} })).toSorted(byName)).toEqual(
        before.toSorted(byName),
      );
    }),
  );
});

test("R65, R66: what is lost goes, turns not ready or stays, as its export asks; the same after a restart", () => {
  fc.assert(
    fc.property(clusterset, fc.constantFrom(...CLUSTERS), ({ sources }, lost) => {
      const all = Object.entries(sources).map(([name, from]) => contribute(name, from));
      const present = write([], plan(all, [], { states: {} }));
      const states: States = { [lost]: "lost" };
      const known = write(present, plan(all, present, { states }));
      const others = all.filter(({ share }) => share.cluster !== lost);
      const unheard = plan(others, present, { states, awaited: [lost], all });
      expect(write(present, unheard).toSorted(byName)).toEqual(known.toSorted(byName));
      const left = known.filter((slice) => sourceOf(slice) === lost);
      const before = present.filter((slice) => sourceOf(slice) === lost);
      const { whenLost = "withdraw", ready } = sources[lost]!;
      expect(left).toHaveLength(whenLost === "withdraw" ? 0 : before.length);
      expect(served(left).size > 0).toBe(whenLost === "keep" && ready && before.length > 0);
    }),
  );
});

test("R66: nothing of a source that is awaited is deleted before it is lost", () => {
  fc.assert(
    fc.property(clusterset, ({ sources, states, awaited }) => {
      const all = Object.entries(sources).map(([name, from]) => contribute(name, from));
      const present = write([], plan(all, [], { states: {} }));
      const heard = all.filter(({ share }) => !awaited.includes(share.cluster as "a"));
      const after = write(present, plan(heard, present, { states, awaited, all }));
      for (const name of awaited.filter((one) => states[one] !== "lost")) {
        const of = (slices: readonly EndpointSlice[]) =>
          slices.filter((slice) => sourceOf(slice) === name).length;
        expect(of(after)).toBe(of(present));
      }
    }),
  );
});
