// Schedule: a seed in, everything that happens to a world from outside out, as plain data: replayed as it is, made smaller by
// leaving steps out. Pure.

import type { Random } from "../src/ports/clock.ts";
import { type Action, type EndpointState, PORT_SETS, type ServicePlace } from "./action.ts";
import { between, createStream, flip, pick, pickWeighted } from "./chance.ts";
import { drawCrash, drawFault, drawHubFault, drawLoss } from "./drawfault.ts";
import type { Fault } from "./fault.ts";
import type { Lie } from "./lie.ts";
import type { Latency } from "./line.ts";
import { drawCalm, drawStories } from "./story.ts";

export interface Setting {
  /** How many clusters there are; each has its place in the lists below. */
  readonly clusters: number;
  /** Those that are members from the start. */
  readonly members: readonly boolean[];
  /** How wrong the wall clocks are: of each cluster, the hub's last. */
  readonly skewsMs: readonly number[];
  readonly latency: Latency;
  readonly activeMs: number;
  /** From here on only faults happen, and not to all clusters; absent: everything happens at all times. */
  readonly steadyFromMs?: number;
  /** Agents die, and nothing else goes wrong: then more can be asked of those that live. */
  readonly onlyCrashes?: true;
}

export type Membership =
  | { readonly member: "join"; readonly cluster: number }
  | { readonly member: "leave"; readonly cluster: number }
  /** Leaves, and joins under another id. */
  | { readonly member: "rename"; readonly cluster: number }
  /** Its traffic is to go elsewhere, or not any more: sim/drain.ts. */
  | { readonly member: "drain" | "undrain"; readonly cluster: number };

export type Step = { readonly atMs: number } & (Action | Fault | Lie | Membership);

export interface Schedule {
  readonly seed: number;
  readonly setting: Setting;
  readonly steps: readonly Step[];
}

/** Some steps of a schedule, and some of its clusters: what is left when it has been made smaller. */
export interface Part {
  /** Positions of the steps that are kept. */
  readonly steps: readonly number[];
  /** Clusters that never join. */
  readonly absent: readonly number[];
}

/** The same world with less happening. */
export function takePart(schedule: Schedule, part: Part): Schedule {
  const { setting, steps } = schedule;
  const kept = part.steps.flatMap((at) => steps[at] ?? []);
  const members = setting.members.map((is, at) => is && !part.absent.includes(at));
  return { ...schedule, setting: { ...setting, members }, steps: kept };
}

const NAMESPACES = ["shop", "bank"];
const NAMES = ["web", "db"];

const QUIET_BEFORE_MS = 60_000;
/** Most mistakes need few clusters; some need many. */
const SIZES = [2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 6, 8];

export function drawSchedule(seed: number): Schedule {
  const random = createStream(seed, "schedule");
  const stories = createStream(seed, "stories");
  const setting = drawProfile(stories, drawSetting(random));
  const { steadyFromMs } = setting;
  const steps: Step[] = [];
  // Something to lose before anything is lost.
  for (let cluster = 0; cluster < setting.clusters; cluster += 1) {
    steps.push(...drawBeginning(random, cluster));
  }
  steps.push(...(steadyFromMs === undefined ? drawTurmoil : drawAdversity)(random, setting));
  steps.push(
    ...(steadyFromMs === undefined
      ? drawStories(stories, setting)
      : drawCalm(stories, setting, steadyFromMs - QUIET_BEFORE_MS)),
  );
  return { seed, setting, steps: steps.toSorted((a, b) => a.atMs - b.atMs) };
}

/** Everything at any time. */
function drawTurmoil(random: Random, setting: Setting): readonly Step[] {
  const { activeMs } = setting;
  const all = [...Array(setting.clusters).keys()];
  const atMs = (): number => drawTime(random, 0, activeMs);
  const steps: Step[] = [];
  for (let left = between(random, 5, 40); left > 0; left -= 1) {
    steps.push({ atMs: atMs(), ...drawAction(random, setting) });
  }
  for (let left = flip(random, 0.1) ? 0 : between(random, 1, 14); left > 0; left -= 1) {
    const draw = setting.onlyCrashes === true ? drawCrash : drawFault;
    steps.push({ atMs: atMs(), ...draw(random, all) });
  }
  for (let left = flip(random, 0.5) ? 0 : between(random, 1, 3); left > 0; left -= 1) {
    const member = pickWeighted(random, { join: 1, leave: 1, rename: 1 });
    steps.push({ atMs: atMs(), member, cluster: drawCluster(random, setting) });
  }
  return steps;
}

/** Users first, then faults that spare at least one cluster. */
function drawAdversity(random: Random, setting: Setting): readonly Step[] {
  const { activeMs, steadyFromMs = 0, clusters } = setting;
  const spared = between(random, 0, clusters - 1);
  const others = [...Array(clusters).keys()].filter((at) => at !== spared);
  const victims = others.slice(0, between(random, 1, others.length));
  const steps: Step[] = [];
  for (let left = between(random, 0, 20); left > 0; left -= 1) {
    const atMs = drawTime(random, 0, steadyFromMs - QUIET_BEFORE_MS);
    steps.push({ atMs, ...drawAction(random, setting) });
  }
  if (flip(random, 0.15)) return [...steps, ...drawLoss(random, spared, steadyFromMs)];
  // Most members silent at once are not lost, and from three members on the hub's own troubles are told from theirs.
  const isTheHub = setting.members.filter(Boolean).length >= 3 && flip(random, 0.3);
  for (let left = between(random, 2, isTheHub ? 4 : 12); left > 0; left -= 1) {
    const atMs = drawTime(random, steadyFromMs, activeMs);
    steps.push({
      atMs,
      ...(isTheHub ? drawHubFault(random, spared) : drawFault(random, victims)),
    });
  }
  return steps;
}

function drawSetting(random: Random): Setting {
  const clusters = pick(random, SIZES);
  const isSkewed = flip(random, 0.5);
  return {
    clusters,
    members: Array.from({ length: clusters }, (_, at) => at < 2 || flip(random, 0.85)),
    skewsMs: Array.from({ length: clusters + 1 }, () =>
      isSkewed ? between(random, -600_000, 600_000) : 0,
    ),
    latency: pick(random, [
      { lowMs: 1, highMs: 10 },
      { lowMs: 2, highMs: 60 },
      { lowMs: 20, highMs: 400 },
    ]),
    ...(flip(random, 0.4)
      ? { steadyFromMs: 80_000, activeMs: 80_000 + pick(random, [60_000, 120_000, 300_000]) }
      : { activeMs: pick(random, [60_000, 120_000, 180_000, 300_000]) }),
  };
}

function drawProfile(random: Random, setting: Setting): Setting {
  if (setting.steadyFromMs !== undefined || !flip(random, 0.25)) return setting;
  return { ...setting, onlyCrashes: true };
}

function drawBeginning(random: Random, cluster: number): Step[] {
  const steps: Step[] = [];
  const atMs = (): number => between(random, 0, 15_000);
  for (const namespace of NAMESPACES) {
    if (flip(random, 0.85)) steps.push({ atMs: 0, do: "namespace", cluster, namespace });
    for (const name of NAMES) {
      if (!flip(random, 0.5)) continue;
      const place = { cluster, namespace, name };
      const at = atMs();
      steps.push({ atMs: at, do: "service", ...place, shape: drawShape(random) });
      if (flip(random, 0.9)) steps.push({ atMs: at, ...drawEndpoints(random, place) });
      if (flip(random, 0.7)) steps.push({ atMs: atMs(), ...drawExport(random, place) });
    }
  }
  return steps;
}

/** Often the same moment for two things: what happens at once is where mistakes are. */
function drawTime(random: Random, fromMs: number, untilMs: number): number {
  const ms = between(random, 0, untilMs - fromMs);
  return fromMs + (flip(random, 0.4) ? Math.floor(ms / 15_000) * 15_000 : ms);
}

function drawCluster(random: Random, { clusters }: Setting): number {
  return between(random, 0, clusters - 1);
}

function drawPlace(random: Random, setting: Setting): ServicePlace {
  const cluster = drawCluster(random, setting);
  return { cluster, namespace: pick(random, NAMESPACES), name: pick(random, NAMES) };
}

interface Drawn {
  readonly random: Random;
  readonly place: ServicePlace;
}

const ACTIONS: Readonly<
  Record<Action["do"], { readonly weight: number; readonly draw: (drawn: Drawn) => Action }>
> = {
  service: {
    weight: 3,
    draw: ({ random, place }) => ({ do: "service", ...place, shape: drawShape(random) }),
  },
  "delete service": { weight: 1, draw: ({ place }) => ({ do: "delete service", ...place }) },
  export: { weight: 3, draw: ({ random, place }) => drawExport(random, place) },
  unexport: { weight: 2, draw: ({ place }) => ({ do: "unexport", ...place }) },
  endpoints: { weight: 6, draw: ({ random, place }) => drawEndpoints(random, place) },
  "delete endpoints": {
    weight: 1,
    draw: ({ random, place }) => ({
      do: "delete endpoints",
      ...place,
      slice: between(random, 0, 1),
    }),
  },
  meddle: {
    weight: 1,
    draw: ({ random, place }) => ({
      do: "meddle",
      ...place,
      with: pick(random, ["slices", "service", "import"]),
    }),
  },
  namespace: {
    weight: 1,
    draw: ({ place: { cluster, namespace } }) => ({ do: "namespace", cluster, namespace }),
  },
  "delete namespace": {
    weight: 0.5,
    draw: ({ place: { cluster, namespace } }) => ({ do: "delete namespace", cluster, namespace }),
  },
  drain: { weight: 0.5, draw: ({ place: { cluster } }) => ({ do: "drain", cluster }) },
};

function drawAction(random: Random, setting: Setting): Action {
  const place = drawPlace(random, setting);
  return drawOne(random, ACTIONS).draw({ random, place });
}

function drawOne<T extends { readonly weight: number }>(
  random: Random,
  table: Readonly<Record<string, T>>,
): T {
  const weights = Object.fromEntries(
    Object.entries(table).map(([key, { weight }]) => [key, weight]),
  );
  const drawn = table[pickWeighted(random, weights)];
  if (drawn === undefined) throw new RangeError("there is nothing to draw");
  return drawn;
}

function drawShape(random: Random): Extract<Action, { readonly do: "service" }>["shape"] {
  return {
    type: pickWeighted(random, { ClusterIP: 7, Headless: 2, ExternalName: 0.4 }),
    ports: flip(random, 0.6) ? 0 : between(random, 0, PORT_SETS.length - 1),
    affinity: flip(random, 0.2) ? "ClientIP" : "None",
    ...(flip(random, 0.15) ? { distribution: "PreferClose" } : {}),
  };
}

function drawExport(random: Random, place: ServicePlace): Action {
  return {
    do: "export",
    ...place,
    ...(flip(random, 0.2) ? { labels: { tier: pick(random, ["gold", "blue"]) } } : {}),
    ...(flip(random, 0.15)
      ? { whenLost: pick(random, ["withdraw", "unready", "keep", "nonsense"]) }
      : {}),
  };
}

function drawEndpoints(random: Random, place: ServicePlace): Action {
  const states: readonly EndpointState[] = ["ready", "ready", "ready", "unready", "terminating"];
  const hosts = new Set(
    Array.from({ length: between(random, 0, 3) }, () => between(random, 1, 30)),
  );
  const endpoints = [...hosts].map((host) => ({ host, state: pick(random, states) }));
  return { do: "endpoints", ...place, slice: flip(random, 0.7) ? 0 : 1, endpoints };
}
