// What stories ask of tallies: who answered, what failed and when.

import { describe, expect, test } from "vitest";
import {
  addressesOf,
  clustersOf,
  countFailed,
  countInFlight,
  failuresBeyondFlight,
  failuresOf,
  isAnsweredBy,
  isFrom,
  lastFailureMs,
  over,
} from "./measured.ts";
import type { FlowTally, Tally } from "./programs/tally.ts";

function aFlow(fields: Partial<FlowTally> = {}): FlowTally {
  return {
    protocol: "tcp",
    family: 4,
    sent: 0,
    failed: 0,
    inFlight: 0,
    longestGapMs: 0,
    byPod: {},
    addresses: [],
    failedBy: {},
    failures: [],
    ...fields,
  };
}

function aTally(...flows: readonly FlowTally[]): Tally {
  return { caller: "1", window: 1, stalledMs: 0, flows };
}

const WEST_AND_EDGE = aFlow({ byPod: { "west/web-1": 3, "edge/web-1": 1, "west/web-0": 2 } });

test("a flow is from just those clusters whose pods answered", () => {
  expect(clustersOf(WEST_AND_EDGE)).toEqual(["edge", "west"]);
  expect(isFrom("west", "edge")(WEST_AND_EDGE)).toBe(true);
  expect(isFrom("west")(WEST_AND_EDGE)).toBe(false);
  expect(isFrom("west", "edge", "east")(WEST_AND_EDGE)).toBe(false);
  expect(isFrom("west")(aFlow())).toBe(false);
});

test("every pod that is named has to answer, others may", () => {
  expect(isAnsweredBy(["west/web-0", "edge/web-1"])(WEST_AND_EDGE)).toBe(true);
  expect(isAnsweredBy(["edge/web-0"])(WEST_AND_EDGE)).toBe(false);
});

test("flows of other protocols do not matter", () => {
  const isRight = over(["tcp"], isFrom("east"));
  expect(isRight(WEST_AND_EDGE)).toBe(false);
  expect(isRight({ ...WEST_AND_EDGE, protocol: "udp" })).toBe(true);
});

test("failures of all windows are counted, told in words, and the last of them is found", () => {
  const early = { atMs: 1_000, reason: "timeout", what: "no answer from 10.1.0.1" } as const;
  const late = { atMs: 61_500, reason: "refused", what: "10.1.0.1 port 70" } as const;
  const windows = [
    aTally(aFlow({ sent: 5, failed: 1, failures: [late] }), aFlow()),
    aTally(aFlow({ family: 6, protocol: "udp", sent: 5, failed: 60, failures: [early] })),
  ];
  expect(countFailed(windows)).toBe(61);
  expect(lastFailureMs(windows)).toBe(61_500);
  expect(lastFailureMs([aTally(aFlow())])).toBeUndefined();
  expect(windows.flatMap(failuresOf)).toEqual([
    "tcp over IPv4 at 00:01:01.500: refused: 10.1.0.1 port 70",
    "udp over IPv6 at 00:00:01.000: timeout: no answer from 10.1.0.1",
  ]);
});

describe("a request that failed was in flight", () => {
  const lost = { atMs: 1_000, reason: "timeout", what: "no answer within 1000 ms" } as const;
  const aLoss = { sent: 9, failed: 1, failedBy: { timeout: 1 }, failures: [lost] };
  const before = aTally(aFlow({ protocol: "udp", sent: 9, byPod: { "west/web-0": 9 } }));
  const after = { "edge/web-0": 8 };

  test("when it was a datagram without an answer, and its flow moved to another pod", () => {
    const windows = [before, aTally(aFlow({ protocol: "udp", ...aLoss, byPod: after }))];
    expect(failuresBeyondFlight(windows)).toEqual([]);
    expect(countInFlight(windows)).toBe(1);
  });

  const notInFlight: Readonly<Record<string, Partial<FlowTally>>> = {
    "the flow stayed where it was": { ...aLoss, byPod: { "west/web-0": 8 } },
    "it is more than one for each move": {
      ...aLoss,
      failed: 2,
      failedBy: { timeout: 2 },
      failures: [lost, lost],
      byPod: after,
    },
    "it was refused": {
      ...aLoss,
      failedBy: { refused: 1 },
      failures: [{ ...lost, reason: "refused" }],
      byPod: after,
    },
  };
  test.each(Object.entries(notInFlight))("but not when %s", (_, fields) => {
    const windows = [before, aTally(aFlow({ protocol: "udp", ...fields }))];
    expect(failuresBeyondFlight(windows)).toHaveLength(fields.failed!);
    expect(countInFlight(windows)).toBe(0);
  });

  test("but never a connection", () => {
    const windows = [before, aTally(aFlow({ ...aLoss, byPod: { ...after, "west/web-0": 1 } }))];
    expect(failuresBeyondFlight(windows)).toHaveLength(1);
  });
});

test("addresses are told apart by family, each once", () => {
  const windows = [
    aTally(aFlow({ addresses: ["10.101.0.7"] }), aFlow({ family: 6, addresses: ["fd42::7"] })),
    aTally(aFlow({ addresses: ["10.101.0.7"] }), aFlow({ addresses: ["10.101.0.8"] })),
  ];
  expect(addressesOf(windows, 4)).toEqual(["10.101.0.7", "10.101.0.8"]);
  expect(addressesOf(windows, 6)).toEqual(["fd42::7"]);
});
