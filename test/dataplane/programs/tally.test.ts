import { describe, expect, test } from "vitest";
import { createFlowCounter, type FlowCounter, type FlowProtocol, type Outcome } from "./tally.ts";

const GOOD: Outcome = { address: "10.101.0.7", cluster: "west", pod: "web-0" };
const LATE: Outcome = { address: "10.101.0.7", reason: "timeout", what: "no answer" };
const NAMELESS: Outcome = { reason: "name not found", what: "NXDOMAIN" };

function aCounter(startedAtMs = 0, protocol: FlowProtocol = "tcp"): FlowCounter {
  return createFlowCounter({ protocol, family: 6 }, startedAtMs);
}

function ask(counter: FlowCounter, outcome: Outcome, nowMs: number): void {
  counter.begin();
  counter.end(outcome, { askedMs: nowMs - 50, nowMs, wallMs: 1_000_000 + nowMs });
}

test("every request that ended is counted, well or not, and every answer under the pod that gave it", () => {
  const counter = aCounter();
  ask(counter, GOOD, 100);
  ask(counter, { ...GOOD, cluster: "east" }, 200);
  ask(counter, LATE, 300);
  ask(counter, NAMELESS, 400);
  ask(counter, GOOD, 500);
  expect(counter.read(500)).toMatchObject({
    protocol: "tcp",
    family: 6,
    sent: 5,
    failed: 2,
    byPod: { "west/web-0": 2, "east/web-0": 1 },
    failedBy: { timeout: 1, "name not found": 1 },
    failures: [
      {
        atMs: 1_000_300,
        askedMs: 250,
        reason: "timeout",
        what: "no answer",
        after: { pod: "east/web-0", agoMs: 100 },
      },
      { atMs: 1_000_400, reason: "name not found", after: { pod: "east/web-0", agoMs: 200 } },
    ],
  });
});

test("a request in flight is told, and not counted as sent before it ends", () => {
  const counter = aCounter();
  counter.begin();
  expect(counter.read(50)).toMatchObject({ sent: 0, failed: 0, inFlight: 1 });
  counter.end(LATE, { askedMs: 0, nowMs: 60, wallMs: 60 });
  expect(counter.read(60)).toMatchObject({ sent: 1, failed: 1, inFlight: 0 });
});

test("the longest gap is between good answers: failures do not end it", () => {
  const counter = aCounter();
  ask(counter, GOOD, 100);
  ask(counter, LATE, 1200);
  ask(counter, LATE, 2300);
  ask(counter, GOOD, 2400);
  ask(counter, GOOD, 2500);
  expect(counter.read(2500).longestGapMs).toBe(2300);
});

test("the gap that is still open counts", () => {
  const counter = aCounter();
  ask(counter, GOOD, 100);
  ask(counter, GOOD, 200);
  expect(counter.read(5200).longestGapMs).toBe(5000);
});

test("without any good answer the gap runs from the start", () => {
  const counter = aCounter(1000);
  ask(counter, LATE, 2000);
  expect(counter.read(4000).longestGapMs).toBe(3000);
});

test("a new window counts from zero, and a gap runs on into it", () => {
  const counter = aCounter();
  ask(counter, GOOD, 100);
  ask(counter, LATE, 1100);
  counter.mark();
  expect(counter.read(1200)).toMatchObject({ sent: 0, failed: 0, byPod: {}, failures: [] });
  ask(counter, GOOD, 3100);
  expect(counter.read(3100)).toMatchObject({ sent: 1, failed: 0, longestGapMs: 3000 });
});

test("a long gap of the window before is not one of the next", () => {
  const counter = aCounter();
  ask(counter, GOOD, 9000);
  counter.mark();
  ask(counter, GOOD, 9100);
  expect(counter.read(9100).longestGapMs).toBe(100);
});

test("a request belongs to the window in which it ended, and to that one only", () => {
  const counter = aCounter();
  counter.begin();
  const before = counter.read(10);
  counter.mark();
  counter.end(LATE, { askedMs: 0, nowMs: 20, wallMs: 20 });
  expect(before.sent + counter.read(20).sent).toBe(1);
  expect(before.failed + counter.read(20).failed).toBe(1);
});

test("only the last failures are listed, and all of them counted", () => {
  const counter = aCounter();
  for (let i = 1; i <= 120; i += 1) ask(counter, { ...LATE, what: `number ${i}` }, i);
  const { failed, failedBy, failures } = counter.read(120);
  expect(failed).toBe(120);
  expect(failedBy).toEqual({ timeout: 120 });
  expect(failures).toHaveLength(50);
  expect(failures.at(-1)?.what).toBe("number 120");
});

test("more pods than it lists are still counted", () => {
  const counter = aCounter();
  for (let i = 0; i < 1000; i += 1) ask(counter, { ...GOOD, pod: `web-${i}` }, i);
  const { sent, byPod } = counter.read(1000);
  const answers = Object.values(byPod).reduce((sum, count) => sum + count, 0);
  expect(sent).toBe(1000);
  expect(answers).toBe(1000);
  expect(Object.keys(byPod).length).toBeLessThan(300);
});

test("the addresses of failed requests are told too, and those without an address change nothing", () => {
  const counter = aCounter();
  ask(counter, LATE, 1);
  ask(counter, NAMELESS, 2);
  ask(counter, { ...GOOD, address: "10.101.0.8" }, 3);
  expect(counter.read(3).addresses).toEqual(["10.101.0.7", "10.101.0.8"]);
});

describe("a datagram was lost in a move", () => {
  const MOVED: Outcome = { ...GOOD, cluster: "edge" };

  function countLost(outcomes: readonly Outcome[], protocol: FlowProtocol = "udp"): number {
    const counter = aCounter(0, protocol);
    for (const [index, outcome] of outcomes.entries()) ask(counter, outcome, index);
    return counter.read(outcomes.length).lostInMove;
  }

  test("when it alone was not answered between two pods at one address", () => {
    expect(countLost([GOOD, LATE, MOVED])).toBe(1);
    expect(countLost([GOOD, LATE, MOVED, MOVED, LATE, GOOD])).toBe(2);
  });

  const HERE = "10.12.0.5";
  test.each<[string, readonly Outcome[]]>([
    ["the pod stayed the same", [GOOD, LATE, GOOD, MOVED]],
    ["it is not next to the move", [GOOD, LATE, GOOD, GOOD, MOVED]],
    ["it is one of two in a row", [GOOD, LATE, LATE, MOVED]],
    ["it was refused", [GOOD, { ...LATE, reason: "refused" }, MOVED]],
    ["nobody had answered before it", [LATE, MOVED]],
    ["nobody has answered after it", [GOOD, LATE]],
    [
      "each pod has an address of its own, as those of a headless service",
      [GOOD, { ...LATE, address: HERE }, { ...MOVED, address: HERE }],
    ],
    ["it was sent elsewhere", [GOOD, { ...LATE, address: HERE }, MOVED]],
  ])("but not when %s", (_, outcomes) => {
    expect(countLost(outcomes)).toBe(0);
  });

  test.each(["tcp", "http"] as const)("but never over %s", (protocol) => {
    expect(countLost([GOOD, LATE, MOVED], protocol)).toBe(0);
  });

  test("also when a new window began meanwhile, in which it is counted", () => {
    const counter = aCounter(0, "udp");
    ask(counter, GOOD, 1);
    ask(counter, LATE, 2);
    counter.mark();
    ask(counter, MOVED, 3);
    expect(counter.read(3).lostInMove).toBe(1);
    counter.mark();
    expect(counter.read(3).lostInMove).toBe(0);
  });
});
