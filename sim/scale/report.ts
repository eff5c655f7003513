// Report: what a phase cost in, lines for a person out. Pure.

import type { Layout } from "./layout.ts";
import { type Changes, findPeak, type Phase, type Restart } from "./phase.ts";
import type { Counts } from "./tally.ts";

/** What has to be written once everything is exported, and no more. */
export interface Needed {
  /** ServiceShares, EndpointShares, and one word of each member that it has published all. */
  readonly hubWrites: number;
  /** Import, its address, its status, derived Service; slices; statuses of exports. */
  readonly writes: number;
}

const WRITES_PER_IMPORT = 4;

export function planNeeded({ size, homes, exports }: Layout): Needed {
  let hubWrites = size.clusters;
  let writes = exports.length;
  const importers = new Map<string, number>();
  for (const home of homes) {
    for (const namespace of home) importers.set(namespace, (importers.get(namespace) ?? 0) + 1);
  }
  const services = new Map<string, number>();
  for (const { namespace, name, slices } of exports) {
    const here = importers.get(namespace) ?? 0;
    hubWrites += 1 + slices.length;
    writes += slices.length * here;
    services.set(`${namespace}/${name}`, here);
  }
  for (const here of services.values()) writes += WRITES_PER_IMPORT * here;
  return { hubWrites, writes };
}

export function describeFleet({ size, homes, exports, whole }: Layout): readonly string[] {
  const { clusters, services, endpoints, spread } = size;
  const several = exports.length - services;
  return [
    `${clusters} clusters, ${services} services, ${services * endpoints} endpoints; ${exports.length} exports, ${several} of them second or third ones of a service`,
    `each namespace is in ${spread} clusters and in cluster ${whole}, which imports everything; an ordinary cluster has about ${homes[0]?.size} namespaces`,
    "each agent follows every share of the hub, whatever it imports of it",
  ];
}

export function describeStart(phase: Phase, needed: Needed, agents: number): readonly string[] {
  const { counts } = phase;
  return [
    `quiet after ${seconds(phase.virtualMs)} of virtual time`,
    `hub writes ${counts.hubWrites}, needed ${needed.hubWrites}: ${ratio(counts.hubWrites, needed.hubWrites)}; heartbeats ${counts.heartbeats}`,
    `writes in clusters ${counts.writes}, needed ${needed.writes}: ${ratio(counts.writes, needed.writes)}`,
    ...describeTraffic(counts, agents),
    `most requests in any one second ${findPeak(counts.sentMs.map((atMs) => ({ atMs, amount: 1 })))}`,
  ];
}

export function describeRest({ virtualMs, counts }: Phase): readonly string[] {
  const lastedSeconds = virtualMs / 1_000;
  return [
    `in ${seconds(virtualMs)}: ${perSecond(counts.heartbeats, lastedSeconds)} heartbeats and ${perSecond(counts.sentMs.length - counts.heartbeats, lastedSeconds)} other requests per second, ${bytes(counts.watchBytes / lastedSeconds)} of watches per second; ${counts.hubWrites + counts.writes} other writes`,
  ];
}

export function describeChanges(phase: Changes, agents: number): readonly string[] {
  const { counts, changes, neededWrites } = phase;
  return [
    `${changes} changes: hub writes ${ratio(counts.hubWrites, changes)} of what is needed, writes in clusters ${ratio(counts.writes, neededWrites)}`,
    `${bytes(counts.watchBytes / changes / agents)} to each agent for one change, heartbeats of ${seconds(phase.virtualMs)} included`,
  ];
}

export function describeRestart(phase: Restart, agents: number): readonly string[] {
  const { counts, requests, peak, bound } = phase;
  return [
    `all ${agents} agents follow again ${seconds(phase.followedMs)} after its return, by ${requests} requests`,
    `most in any one second ${peak} (${percent(peak, requests)}), allowed ${bound}; while it was away ${phase.vainPeak}, ${counts.vainMs.length} in all`,
    ...describeTraffic(counts, agents),
    `most bytes listed in any one second ${bytes(phase.peakListBytes)}`,
    `writes but for heartbeats: ${counts.hubWrites + counts.writes}`,
  ];
}

export function describeMemory(held: {
  readonly ordinary: number;
  readonly whole: number;
  readonly shares: number;
}): readonly string[] {
  const { ordinary, whole, shares } = held;
  return [
    `specs of all shares as JSON ${bytes(shares)}`,
    `an ordinary agent holds ${bytes(ordinary)} (${ratio(ordinary, shares)}), the one that imports everything ${bytes(whole)} (${ratio(whole, shares)})`,
  ];
}

function describeTraffic(counts: Counts, agents: number): readonly string[] {
  const { requests, watchBytes, watchEvents, listed } = counts;
  const listBytes = listed.reduce((sum, each) => sum + each.bytes, 0);
  const byVerb = Object.entries(requests).map(([verb, count]) => `${verb} ${count}`);
  return [
    `hub requests: ${byVerb.join(", ")}`,
    `watches ${bytes(watchBytes)} in ${watchEvents} events, ${bytes(watchBytes / agents)} for each agent; lists ${bytes(listBytes)}, ${bytes(listBytes / agents)} for each`,
  ];
}

export function bytes(count: number): string {
  if (count >= 1e9) return `${(count / 1e9).toFixed(2)} GB`;
  if (count >= 1e6) return `${(count / 1e6).toFixed(1)} MB`;
  return `${(count / 1e3).toFixed(1)} kB`;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function perSecond(count: number, lastedSeconds: number): string {
  return (count / lastedSeconds).toFixed(1);
}

function ratio(count: number, needed: number): string {
  return (count / needed).toFixed(3);
}

function percent(part: number, all: number): string {
  return `${((100 * part) / all).toFixed(0)} %`;
}
