// Data plane, pure: the tallies of callers in, what stories ask of them out: who answered, what failed, and when.

import type { FlowProtocol, FlowTally, Tally } from "./programs/tally.ts";

export type IsRight = (flow: FlowTally) => boolean;

export function answersOf({ sent, failed }: FlowTally): number {
  return sent - failed;
}

/** "cluster/pod", sorted. */
export function podsOf({ byPod }: FlowTally): readonly string[] {
  return Object.keys(byPod).toSorted();
}

export function clustersOf(flow: FlowTally): readonly string[] {
  return [...new Set(podsOf(flow).map((pod) => pod.slice(0, pod.indexOf("/"))))];
}

/** All answers come from these clusters, and each of them gives some. */
export function isFrom(...clusters: readonly string[]): IsRight {
  return (flow) => clustersOf(flow).join() === clusters.toSorted().join();
}

/** Each of these pods gives answers, whoever else does. */
export function isAnsweredBy(pods: readonly string[]): IsRight {
  return ({ byPod }) => pods.every((pod) => (byPod[pod] ?? 0) > 0);
}

/** Only flows of these protocols matter. */
export function over(protocols: readonly FlowProtocol[], isRight: IsRight): IsRight {
  return (flow) => !protocols.includes(flow.protocol) || isRight(flow);
}

/** Who answered flows of these protocols in any of the windows. */
export function answerersOf(
  tallies: readonly Tally[],
  protocols: readonly FlowProtocol[],
): readonly string[] {
  const flows = tallies.flatMap((tally) => tally.flows);
  const clusters = flows
    .filter(({ protocol }) => protocols.includes(protocol))
    .flatMap((flow) => clustersOf(flow));
  return [...new Set(clusters)].toSorted();
}

/** "tcp over IPv4" */
export function nameOf({ protocol, family }: FlowTally): string {
  return `${protocol} over IPv${family}`;
}

/** In words; the last ones of each flow. */
export function failuresOf(tally: Tally): readonly string[] {
  return tally.flows.flatMap((flow) =>
    flow.failures.map(({ atMs, reason, what, after }) => {
      const at = new Date(atMs).toISOString().slice(11, 23);
      const before = after === undefined ? "" : `, ${after.agoMs} ms after ${after.pod} answered`;
      return `${nameOf(flow)} at ${at}: ${reason}: ${what}${before}`;
    }),
  );
}

/** Of every flow that lost more than the datagrams that were under way when it moved. */
export function failuresBeyondFlight(tallies: readonly Tally[]): readonly string[] {
  return tallies.flatMap((tally) => {
    const flows = tally.flows.filter((flow) => !hasLostInMovesOnly(sameFlows(tallies, flow)));
    return failuresOf({ ...tally, flows });
  });
}

function hasLostInMovesOnly(windows: readonly FlowTally[]): boolean {
  return sum(windows, ({ failed }) => failed) === sum(windows, ({ lostInMove }) => lostInMove);
}

/** Datagrams that were under way when their flow moved. */
export function countLostInMoves(tallies: readonly Tally[]): number {
  return sum(
    tallies.flatMap(({ flows }) => flows),
    ({ lostInMove }) => lostInMove,
  );
}

function sum(flows: readonly FlowTally[], count: (flow: FlowTally) => number): number {
  return flows.reduce((total, flow) => total + count(flow), 0);
}

function sameFlows(tallies: readonly Tally[], flow: FlowTally): readonly FlowTally[] {
  return tallies.flatMap(({ flows }) => flows.filter((each) => nameOf(each) === nameOf(flow)));
}

export function countFailed(tallies: readonly Tally[]): number {
  return sum(
    tallies.flatMap(({ flows }) => flows),
    ({ failed }) => failed,
  );
}

/** When the last request that failed was asked, since the machine started; undefined when nothing failed. */
export function lastFailureMs(tallies: readonly Tally[]): number | undefined {
  const times = tallies
    .flatMap(({ flows }) => flows)
    .flatMap(({ failures }) => failures.map((failure) => failure.askedMs));
  return times.length === 0 ? undefined : Math.max(...times);
}

/** Where the requests of all windows went, by family. */
export function addressesOf(tallies: readonly Tally[], family: 4 | 6): readonly string[] {
  const flows = tallies.flatMap((tally) => tally.flows).filter((flow) => flow.family === family);
  return [...new Set(flows.flatMap(({ addresses }) => addresses))].toSorted();
}
