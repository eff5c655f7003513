// Stories: chance in, a few steps that belong together out. What happens to one service by its user and what goes wrong at
// the same moment rarely meet when each is drawn for itself. Pure.

import type { Random } from "../src/ports/clock.ts";
import type { Action, ServicePlace } from "./action.ts";
import { between, flip, pick, pickWeighted } from "./chance.ts";
import type { Fault } from "./fault.ts";
import type { Lie } from "./lie.ts";
import type { Setting, Step } from "./schedule.ts";

interface Stage {
  readonly random: Random;
  readonly setting: Setting;
  /** When it begins to matter; what has to be there is made before. */
  readonly atMs: number;
  readonly place: ServicePlace;
  /** Another cluster. */
  readonly other: number;
}

const PREPARED_MS = 15_000;
const LONGEST_MS = 30_000;
/** More than an agent works on at a time. */
const CROWD = 20;

/** Twice what others find a service by. */
const TAKEN_AWAY = [
  "serviceshares",
  "serviceshares",
  "endpointshares",
  "serviceimports",
  "services",
  "endpointslices",
];

const STORIES = { blind, cutShort, refused, hurried, lied, moved, crowded } satisfies Readonly<
  Record<string, (stage: Stage) => readonly Step[]>
>;
type Story = keyof typeof STORIES;

const IN_TURMOIL = { blind: 2, cutShort: 2, refused: 2, hurried: 2, lied: 2 } satisfies Partial<
  Record<Story, number>
>;
const AMONG_CRASHES = { moved: 3, cutShort: 1, lied: 1 } satisfies Partial<Record<Story, number>>;

export function drawStories(random: Random, setting: Setting): readonly Step[] {
  if (setting.onlyCrashes !== true) {
    const count = flip(random, 0.4) ? 0 : between(random, 1, 3);
    return Array.from({ length: count }, () =>
      STORIES[pickWeighted(random, IN_TURMOIL)](drawStage(random, setting)),
    ).flat();
  }
  if (setting.clusters <= 3 && flip(random, 0.4)) return crowded(drawStage(random, setting));
  return Array.from({ length: between(random, 1, 2) }, () =>
    STORIES[pickWeighted(random, AMONG_CRASHES)](drawStage(random, setting)),
  ).flat();
}

/** In calm times: members may lie and users be in a hurry, and nothing is wrong with anybody's line. */
export function drawCalm(random: Random, setting: Setting, untilMs: number): readonly Step[] {
  const stage = { ...drawStage(random, setting), atMs: between(random, PREPARED_MS, untilMs) };
  const lies = flip(random, 0.2) ? lied(stage) : [];
  const count = flip(random, 0.5) ? 0 : between(random, 1, 3);
  const disputes = Array.from({ length: count }, (_, at) => {
    const place = { ...stage.place, name: `solo-${at}` };
    const far = { ...place, cluster: stage.other };
    let nextMs = stage.atMs;
    const flips = Array.from({ length: between(random, 2, 5) }, (__, each): Step => {
      nextMs += between(random, 1, 400);
      return { atMs: nextMs, ...disagree(far, each % 2 === 0) };
    });
    return [...prepare(place, 0), ...prepare(far, 0), ...flips];
  });
  return [...lies, ...disputes.flat()];
}

function drawStage(random: Random, setting: Setting): Stage {
  const { clusters, activeMs } = setting;
  const cluster = between(random, 0, clusters - 1);
  return {
    random,
    setting,
    atMs: between(random, PREPARED_MS + 5_000, activeMs - LONGEST_MS),
    place: {
      cluster,
      namespace: "shop", // Half the time one that nothing else happens to.
      name: pick(random, ["web", "db", "solo", "solo"]),
    },
    other: (cluster + between(random, 1, clusters - 1)) % clusters,
  };
}

/** Exported, with endpoints. */
function prepare(place: ServicePlace, atMs: number): Step[] {
  const { cluster, namespace } = place;
  const actions: readonly Action[] = [
    { do: "namespace", cluster, namespace },
    { do: "service", ...place, shape: { type: "ClusterIP", ports: 0, affinity: "None" } },
    endpointsOf(place, [1, 2]),
    { do: "export", ...place },
  ];
  return actions.map((action) => ({ atMs, ...action }));
}

function endpointsOf(place: ServicePlace, hosts: readonly number[]): Action {
  const endpoints = hosts.map((host) => ({ host, state: "ready" as const }));
  return { do: "endpoints", ...place, slice: 0, endpoints };
}

function drawChange(random: Random, place: ServicePlace): Action {
  return endpointsOf(place, [between(random, 3, 30)]);
}

function drawRemoval(random: Random, place: ServicePlace): Action {
  const kind = pick(random, ["unexport", "delete service", "delete endpoints"] as const);
  return kind === "delete endpoints" ? { do: kind, ...place, slice: 0 } : { do: kind, ...place };
}

/** Things go while nobody can see it. */
function blind({ random, atMs, place, other }: Stage): readonly Step[] {
  const to = pick(random, ["own", "hub"] as const);
  const watcher = to === "own" ? place.cluster : other;
  const forMs = pick(random, [6_000, 12_000, 25_000]);
  return [
    ...prepare(place, atMs - PREPARED_MS),
    ...(flip(random, 0.5) ? prepare({ ...place, cluster: other }, atMs - PREPARED_MS) : []),
    {
      atMs,
      fault: "partition",
      cluster: watcher,
      to,
      loses: ["requests", "answers"],
      refuses: true,
      forMs,
    },
    { atMs: atMs + between(random, 100, forMs - 100), ...drawRemoval(random, place) },
  ];
}

/** An agent dies in the middle of taking something away. */
function cutShort({ random, setting, atMs, place }: Stage): readonly Step[] {
  const crash: Fault = {
    fault: "crash",
    cluster: place.cluster,
    call: 1,
    only: { verb: "delete", plural: pick(random, TAKEN_AWAY) },
    at: pick(random, ["before", "after", "after"] as const),
    withinMs: 4_000,
    downMs: pick(random, [0, 1_000, 4_000, 10_000]),
  };
  const { cluster, namespace } = place;
  const removal: Action = flip(random, 0.5)
    ? { do: "delete namespace", cluster, namespace }
    : { do: pick(random, ["unexport", "delete service"] as const), ...place };
  const slow: Step = {
    atMs: atMs + 1_000,
    fault: "slow",
    cluster: place.cluster,
    to: "own",
    delayMs: 3_000,
    forMs: 15_000,
  };
  return [
    ...prepare(place, atMs - PREPARED_MS),
    { atMs, ...crash },
    { atMs, ...removal },
    // Then the next one has read the hub long before its own cluster.
    ...(flip(random, setting.onlyCrashes === true ? 0 : 0.6) ? [slow] : []),
  ];
}

/** The hub takes everything but what has to be told now. */
function refused({ random, atMs, place }: Stage): readonly Step[] {
  const errors: Fault = {
    fault: "errors",
    cluster: place.cluster,
    to: "hub",
    failure: {
      status: pick(random, [409, 409, 409, 500]),
      afterWrite: false,
      share: 1,
      plural: "endpointshares",
    },
    forMs: pick(random, [5_000, 12_000, 25_000]),
  };
  return [
    ...prepare(place, atMs - PREPARED_MS),
    { atMs, ...errors },
    { atMs: atMs + between(random, 500, 4_000), ...drawChange(random, place) },
  ];
}

/** Everybody is quicker than the API server: what they do falls into work that is under way. */
function hurried({ random, atMs, place, other }: Stage): readonly Step[] {
  const line = { cluster: place.cluster, to: "own", forMs: 9_000 } as const;
  // Not so slow that heartbeats fail: whoever is heard again is looked at again.
  const ms = pick(random, [800, 1_500, 4_000]);
  const far = { ...place, cluster: other };
  const slow: Fault = flip(random, 0.7)
    ? { fault: "slow", ...line, delayMs: ms }
    : { fault: "late answers", ...line, ms };
  const isDispute = flip(random, 0.6);
  let nextMs = atMs;
  const hurry = Array.from({ length: between(random, 3, 6) }, (_, at): Step => {
    nextMs += between(random, 100, 1_500);
    if (isDispute) return { atMs: nextMs, ...disagree(far, at % 2 === 0) };
    const what = pick(random, ["import", "import", "service", "slices"] as const);
    const meddle: Action = { do: "meddle", ...place, with: what };
    return { atMs: nextMs, ...(flip(random, 0.5) ? meddle : drawChange(random, far)) };
  });
  return [
    ...prepare(place, atMs - PREPARED_MS),
    ...prepare(far, atMs - PREPARED_MS),
    { atMs, ...slow },
    ...hurry,
  ];
}

/** With all others, who have no affinity. */
function disagree(place: ServicePlace, isNow: boolean): Action {
  const affinity = isNow ? "ClientIP" : "None";
  return { do: "service", ...place, shape: { type: "ClusterIP", ports: 0, affinity } };
}

function lied({ random, atMs, place, other }: Stage): readonly Step[] {
  const host = between(random, 200, 230);
  const lie: Lie = {
    lie: pick(random, ["address", "address", "name"] as const),
    ...place,
    as: other,
    address: pick(random, [`10.${other + 1}.0.${host}`, `10.96.0.${host}`, "127.0.0.1"]),
  };
  return [
    { atMs: atMs - PREPARED_MS, do: "namespace", cluster: other, namespace: place.namespace },
    ...(flip(random, 0.5) ? prepare({ ...place, cluster: other }, atMs - PREPARED_MS) : []),
    { atMs, ...lie },
  ];
}

/** A service moves to another cluster, whose agent is not there at the moment. */
function moved({ random, setting, atMs, place, other }: Stage): readonly Step[] {
  const nomad = { ...place, name: "nomad" };
  const crash: Fault = {
    fault: "crash",
    cluster: other,
    call: 1,
    at: "before",
    withinMs: 1_000,
    downMs: between(random, 19_000, 23_000),
  };
  const homes = [...Array(setting.clusters).keys()].map(
    (cluster): Step => ({
      atMs: atMs - PREPARED_MS,
      do: "namespace",
      cluster,
      namespace: nomad.namespace,
    }),
  );
  return [
    ...homes,
    ...prepare(nomad, atMs - PREPARED_MS),
    { atMs, ...crash },
    ...prepare({ ...nomad, cluster: other }, atMs + 3_000),
    { atMs: atMs + between(random, 14_000, 17_000), do: "unexport", ...nomad },
  ];
}

/** All that a cluster shares is another when its agent is back, and is more than it can tell at once. */
function crowded({ random, atMs, place }: Stage): readonly Step[] {
  const { cluster } = place;
  const crash: Fault = {
    fault: "crash",
    cluster,
    call: 1,
    at: "before",
    withinMs: 1_000,
    downMs: pick(random, [5_000, 12_000, 20_000]),
  };
  return [
    ...Array.from({ length: CROWD }, (_, at) =>
      prepare({ ...place, name: `crowd-${at}` }, atMs - PREPARED_MS),
    ).flat(),
    { atMs, ...crash },
    { atMs: atMs + 2_000, do: "drain", cluster },
  ];
}
