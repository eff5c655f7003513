// What stories ask of tallies: who answered, what failed and when.

import { describe, expect, test } from "vitest";
import {
  addressesOf,
  answerersOf,
  clustersOf,
  countFailed,
  countLostInMoves,
  failuresBeyondFlight,
  failuresOf,
  isAnsweredBy,
  isFrom,
  lastFailureMs,
  over,
} from "./measured.ts";
import { aFlow } from "./aFlow.ts";
import type { FlowTally, Tally } from "./programs/tally.ts";

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
  const early = {
    atMs: 1_000,
    askedMs: 1_000,
    reason: "timeout",
    what: "no answer from 10.1.0.1",
  } as const;
  const late = {
    atMs: 31_500,
    askedMs: 61_500,
    reason: "refused",
    what: "10.1.0.1 port 70",
  } as const;
  const windows = [
    aTally(aFlow({ sent: 5, failed: 1, failures: [late] }), aFlow()),
    aTally(aFlow({ family: 6, protocol: "udp", sent: 5, failed: 60, failures: [early] })),
  ];
  expect(countFailed(windows)).toBe(61);
  expect(lastFailureMs(windows)).toBe(61_500);
  expect(lastFailureMs([aTally(aFlow())])).toBeUndefined();
  expect(windows.flatMap(failuresOf)).toEqual([
    "tcp over IPv4 at 00:00:31.500: refused: 10.1.0.1 port 70",
    "udp over IPv6 at 00:00:01.000: timeout: no answer from 10.1.0.1",
  ]);
});

describe("a flow may lose the datagrams that were under way when it moved", () => {
  const lost = {
    atMs: 1_000,
    askedMs: 1_000,
    reason: "timeout",
    what: "no answer within 1000 ms",
  } as const;
  const aLoss = { protocol: "udp", sent: 9, failed: 1, failures: [lost] } as const;

  test("and nothing else", () => {
    const moved = aTally(aFlow({ ...aLoss, lostInMove: 1 }));
    expect(failuresBeyondFlight([moved])).toEqual([]);
    expect(failuresBeyondFlight([moved, aTally(aFlow(aLoss))])).toHaveLength(2);
    expect(countLostInMoves([moved, moved, aTally(aFlow(aLoss))])).toBe(2);
  });

  test("also when the move shows in the window after the loss", () => {
    const after = aTally(aFlow({ protocol: "udp", sent: 9, lostInMove: 1 }));
    expect(failuresBeyondFlight([aTally(aFlow(aLoss)), after])).toEqual([]);
  });

  test("but none for another flow", () => {
    const windows = [aTally(aFlow({ ...aLoss, lostInMove: 1 }), aFlow({ ...aLoss, family: 6 }))];
    expect(failuresBeyondFlight(windows)).toEqual([expect.stringContaining("udp over IPv6")]);
  });
});

test("who answers is told over all windows, by protocol", () => {
  const windows = [aTally(WEST_AND_EDGE), aTally(aFlow({ byPod: { "west/web-0": 1 } }))];
  expect(answerersOf(windows, ["tcp"])).toEqual(["edge", "west"]);
  expect(answerersOf(windows, ["udp", "http"])).toEqual([]);
});

test("addresses are told apart by family, each once", () => {
  const windows = [
    aTally(aFlow({ addresses: ["10.101.0.7"] }), aFlow({ family: 6, addresses: ["fd42::7"] })),
    aTally(aFlow({ addresses: ["10.101.0.7"] }), aFlow({ addresses: ["10.101.0.8"] })),
  ];
  expect(addressesOf(windows, 4)).toEqual(["10.101.0.7", "10.101.0.8"]);
  expect(addressesOf(windows, 6)).toEqual(["fd42::7"]);
});
