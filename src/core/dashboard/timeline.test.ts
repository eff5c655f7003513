import { expect, test } from "vitest";
import type { ClusterState, ServicePart, ServiceState } from "../../dashboard/state.ts";
import { findHappenings, type Look, type Witness } from "./timeline.ts";

const KNOWN: Witness = {
  hasBeenRead: () => true,
  canBeRead: () => true,
  isMembershipKnown: () => true,
  isDoubtful: () => false,
};

function aCluster(id: string, liveness: ClusterState["liveness"] = "live"): ClusterState {
  const why = `Told of ${id}. And more.`;
  return { id, liveness, why, zones: [], exports: 0, problems: [] };
}

function aPart(
  cluster: string,
  sources: Readonly<Record<string, number>>,
  ready?: number,
): ServicePart {
  return {
    cluster,
    exported: ready !== undefined,
    ...(ready === undefined ? {} : { offered: { ready, total: 2 } }),
    ips: [],
    sources: Object.entries(sources).map(([source, count]) => ({
      cluster: source,
      ready: count,
      total: 2,
    })),
  };
}

function aService(parts: readonly ServicePart[], conflicts: readonly string[] = []): ServiceState {
  return {
    key: "shop/web",
    type: "ClusterSetIP",
    ports: [],
    verdict: "well",
    why: "",
    conflicts,
    parts,
  };
}

function look(clusters: readonly ClusterState[], service?: ServiceState): Look {
  return {
    clusters: new Map(clusters.map((one) => [one.id, one])),
    services: new Map([["shop/web", service]]),
  };
}

function tell(before: Look, after: Look, witness = KNOWN): readonly string[] {
  return findHappenings(before, after, witness).map(({ kind, sentence }) => `${kind}: ${sentence}`);
}

const BOTH = [aCluster("east"), aCluster("west")];

test("nothing happens between two looks that see the same", () => {
  const same = look(BOTH, aService([aPart("east", { east: 2 }, 2)]));
  expect(tell(same, same)).toEqual([]);
});

test("who comes and who goes is told", () => {
  expect(tell(look([aCluster("east")]), look([aCluster("west")]))).toEqual([
    "joined: west is part of the clusterset.",
    "left: east is no longer part of the clusterset.",
  ]);
});

test("who comes and goes because somebody is asked for the first time is not told", () => {
  const unread = { ...KNOWN, isMembershipKnown: () => false };
  expect(tell(look([aCluster("east")]), look([aCluster("west")]), unread)).toEqual([]);
});

test.each([
  ["live", "silent", ["lost: east is not heard any more. Told of east."]],
  ["silent", "lost", []],
  ["live", "lost", ["lost: east is not heard any more. Told of east."]],
  ["lost", "live", ["returned: east is back, and live."]],
  ["lost", "flapping", ["returned: east is back, and flapping."]],
  ["live", "drained", ["drained: east is drained. Told of east. And more."]],
  ["drained", "live", ["undrained: east is used again."]],
  ["drained", "lost", ["lost: east is not heard any more. Told of east."]],
  ["live", "unknown", []],
  ["lost", "unknown", []],
  ["unknown", "live", []],
  ["live", "flapping", []],
] as const)("from %s to %s", (was, is, told) => {
  expect(tell(look([aCluster("east", was)]), look([aCluster("east", is)]))).toEqual(told);
});

test("exports that come and go are told, but not those of a cluster that was not read before", () => {
  const none = look(BOTH);
  const one = look(BOTH, aService([aPart("east", {}, 2)]));
  expect(tell(none, one)).toEqual(["exported: east exports shop/web."]);
  expect(tell(one, none)).toEqual(["unexported: east does not export shop/web any more."]);
  expect(tell(none, one, { ...KNOWN, hasBeenRead: () => false })).toEqual([]);
  expect(tell(one, none, { ...KNOWN, canBeRead: () => false })).toEqual([]);
});

test("each sentence of a conflict is told when it comes, and the end when all are gone", () => {
  const parts = [aPart("east", {}, 2)];
  const [calm, one, two] = [[], ["A."], ["A.", "B."]].map((all) =>
    look(BOTH, aService(parts, all)),
  );
  expect(tell(calm!, one!)).toEqual(["conflict: shop/web: A."]);
  expect(tell(one!, two!)).toEqual(["conflict: shop/web: B."]);
  expect(tell(two!, one!)).toEqual([]);
  expect(tell(two!, calm!)).toEqual(["resolved: The exports of shop/web agree again."]);
});

const SPREAD = aService([
  aPart("east", { east: 2, west: 2 }, 2),
  aPart("west", {}, 2),
  aPart("edge", { east: 2, west: 2 }),
]);
const MOVED = aService([
  aPart("east", { east: 2 }, 2),
  aPart("west", {}, 2),
  aPart("edge", { east: 2 }),
]);

test("traffic that leaves a source in trouble for others is a failover, told once for all importing clusters", () => {
  const sentence =
    "failover: Clients of shop/web in east and edge are led to east instead of west.";
  const before = look(BOTH, SPREAD);
  expect(tell(before, look([aCluster("east"), aCluster("west", "lost")], MOVED))).toContain(
    sentence,
  );
  const doubtful = { ...KNOWN, isDoubtful: (id: string) => id === "west" };
  expect(tell(before, look(BOTH, MOVED), doubtful)).toEqual([sentence]);
  const unready = aService(
    MOVED.parts.map((part) => (part.cluster === "west" ? aPart("west", {}, 0) : part)),
  );
  expect(tell(before, look(BOTH, unready))).toEqual([sentence]);
});

test("traffic that leaves a source that is well, has unexported, or leaves nobody behind is no failover", () => {
  const before = look(BOTH, SPREAD);
  expect(tell(before, look(BOTH, MOVED))).toEqual([]);
  const unexported = aService([aPart("east", { east: 2 }, 2), aPart("edge", { east: 2 })]);
  const doubtful = { ...KNOWN, isDoubtful: () => true };
  expect(tell(before, look(BOTH, unexported), doubtful)).toEqual([
    "unexported: west does not export shop/web any more.",
  ]);
  const nobody = aService(SPREAD.parts.map((part) => ({ ...part, sources: [] })));
  expect(tell(before, look(BOTH, nobody), doubtful)).toEqual([]);
});
