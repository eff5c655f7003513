// Phases: a fleet in, what each thing that happens to it costs out: the start, rest, changes, the hub's restart. What must not be
// is said by problems; none is the good answer.

import { findDifferences } from "./check.ts";
import type { Fleet } from "./fleet.ts";
import type { Counts } from "./tally.ts";

export interface Phase {
  readonly virtualMs: number;
  readonly counts: Counts;
  readonly problems: readonly string[];
}

export interface Changes extends Phase {
  readonly changes: number;
  readonly neededWrites: number;
}

export interface Restart extends Phase {
  /** From the hub's return until every agent follows it again. */
  readonly followedMs: number;
  /** Requests that the hub got in that time, heartbeats included, and the most of them in any one second. */
  readonly requests: number;
  readonly peak: number;
  readonly bound: number;
  /** The most in any one second while there was no hub. */
  readonly vainPeak: number;
  readonly peakListBytes: number;
}

const MOST_SENTENCES = 5;
const CHANGES_PER_SECOND = 50;
const AWAY_MS = 60_000;
/** After the hub's return: longer than any pause of an agent. */
const AFTERWARDS_MS = 60_000;
const LOOK_MS = 100;
/** A stream that ends at once, because the hub has forgotten, is none that follows. */
const STEADY_MS = 2_000;

export async function startFleet(fleet: Fleet, onStep?: () => void): Promise<Phase> {
  const fromMs = fleet.time.nowMs;
  fleet.tally.take();
  fleet.start();
  return finish(fleet, fromMs, await settle(fleet, onStep));
}

export async function rest(fleet: Fleet, ms: number): Promise<Phase> {
  const fromMs = fleet.time.nowMs;
  fleet.tally.take();
  await fleet.advance(ms);
  const phase = await finish(fleet, fromMs, []);
  return { ...phase, problems: [...phase.problems, ...findWrites(phase.counts)] };
}

/** Of as many slices one endpoint each, each slice once, so that no two changes can be told as one. */
export async function changeSlices(fleet: Fleet, most: number): Promise<Changes> {
  const { layout } = fleet;
  const places = layout.exports.flatMap(({ slices, namespace }, at) =>
    slices.map((_, slice) => ({ at, slice, namespace })),
  );
  const changes = Math.min(most, places.length);
  const fromMs = fleet.time.nowMs;
  fleet.tally.take();
  let neededWrites = 0;
  for (let change = 0; change < changes; change += 1) {
    const place = places[Math.floor((change * places.length) / changes)];
    if (place === undefined) throw new RangeError("no such slice");
    await fleet.change(place);
    neededWrites += layout.homes.filter((home) => home.has(place.namespace)).length;
    await fleet.advance(1_000 / CHANGES_PER_SECOND);
  }
  return { ...(await finish(fleet, fromMs, await settle(fleet))), changes, neededWrites };
}

/** `forgets`: its history is compacted while it is away, so that everybody has to list everything again. */
export async function restartHub(fleet: Fleet, forgets: boolean): Promise<Restart> {
  const { tally, time } = fleet;
  tally.take();
  const fromMs = time.nowMs;
  const bringBack = fleet.loseHub();
  await fleet.advance(AWAY_MS);
  if (forgets) fleet.world.hub.compact();
  bringBack();
  const backMs = time.nowMs;
  let blindMs = backMs;
  let followedMs: number | undefined;
  while (time.nowMs < backMs + AFTERWARDS_MS) {
    await fleet.advance(LOOK_MS);
    if (!fleet.isFollowing()) blindMs = time.nowMs;
    else if (time.nowMs - blindMs >= STEADY_MS) followedMs ??= blindMs - backMs;
  }
  const phase = await finish(fleet, fromMs, []);
  const { counts } = phase;
  const untilMs = backMs + (followedMs ?? AFTERWARDS_MS);
  const sent = counts.sentMs.filter((ms) => ms <= untilMs);
  const peak = findPeak(sent.map((atMs) => ({ atMs, amount: 1 })));
  const bound = boundPeak(sent.length, fleet.sites.length);
  return {
    ...phase,
    followedMs: followedMs ?? AFTERWARDS_MS,
    requests: sent.length,
    peak,
    bound,
    vainPeak: findPeak(counts.vainMs.map((atMs) => ({ atMs, amount: 1 }))),
    peakListBytes: findPeak(counts.listed.map(({ atMs, bytes }) => ({ atMs, amount: bytes }))),
    problems: [
      ...phase.problems,
      ...findWrites(counts),
      ...(peak > bound ? [`the hub got ${peak} requests in one second, more than ${bound}`] : []),
      ...(followedMs !== undefined ? [] : ["not every agent follows the hub again"]),
    ],
  };
}

/**
 * An agent without a hub tries it by a heartbeat every 2.5 to 5 s, and all else follows the first that is answered: of all agents at
 * most 40 % come back in one second, and half is allowed. Two standard deviations are added, which small fleets need.
 */
export function boundPeak(requests: number, agents: number): number {
  return Math.ceil(requests * Math.min(1, 0.5 + 1 / Math.sqrt(agents)));
}

/** The most within any one second, wherever it begins. */
export function findPeak(
  all: readonly { readonly atMs: number; readonly amount: number }[],
): number {
  const sorted = all.toSorted((a, b) => a.atMs - b.atMs);
  let peak = 0;
  let sum = 0;
  let first = 0;
  for (const { atMs, amount } of sorted) {
    sum += amount;
    for (let old = sorted[first]; old !== undefined && old.atMs <= atMs - 1_000; ) {
      sum -= old.amount;
      first += 1;
      old = sorted[first];
    }
    peak = Math.max(peak, sum);
  }
  return peak;
}

async function settle(fleet: Fleet, onStep?: () => void): Promise<readonly string[]> {
  return (await fleet.settle(onStep)) ? [] : ["the fleet does not come to rest"];
}

async function finish(fleet: Fleet, fromMs: number, problems: readonly string[]): Promise<Phase> {
  const virtualMs = fleet.time.nowMs - fromMs;
  const counts = fleet.tally.take();
  const differences = await findDifferences(fleet);
  const more = differences.length - MOST_SENTENCES;
  return {
    virtualMs,
    counts,
    problems: [
      ...problems,
      ...differences.slice(0, MOST_SENTENCES),
      ...(more > 0 ? [`and ${more} more differences`] : []),
    ],
  };
}

/** Nothing has changed, so nothing but heartbeats may be written. */
function findWrites({ hubWrites, writes, examples }: Counts): readonly string[] {
  if (hubWrites + writes === 0) return [];
  return [`${hubWrites + writes} writes were made for nothing, such as: ${examples.join("; ")}`];
}
