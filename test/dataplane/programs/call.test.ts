import { expect, onTestFinished, test } from "vitest";
import type { Asker } from "./ask.ts";
import { type CallOptions, type Calling, startCalling } from "./call.ts";
import type { Outcome } from "./tally.ts";

const GOOD: Outcome = { address: "10.0.0.1", cluster: "west", pod: "web-0" };
const BAD: Outcome = { reason: "reset", what: "reset" };

/** Answers when the test says so, and tells it of every request. */
function aHeldAsker() {
  const asked: ((outcome: Outcome) => void)[] = [];
  let onAsk = (): void => {};
  const asker: Asker = {
    ask() {
      return new Promise((resolve) => {
        asked.push(resolve);
        onAsk();
      });
    },
    close() {},
  };
  return {
    asker,
    nth: async (count: number): Promise<(outcome: Outcome) => void> => {
      while (asked.length < count) await new Promise<void>((resolve) => (onAsk = resolve));
      return asked[count - 1]!;
    },
  };
}

function call(asker: Asker, wishes: Partial<CallOptions> = {}): Calling {
  return startCalling({
    flows: [{ flow: { protocol: "tcp", family: 4 }, asker }],
    everyMs: 0,
    hangMs: 60_000,
    id: "here",
    onHang: () => {},
    ...wishes,
  });
}

test("requests of a flow go one after the other, whatever becomes of them", async () => {
  const { asker, nth } = aHeldAsker();
  const calling = call(asker);
  (await nth(1))(GOOD);
  (await nth(2))(BAD);
  const third = await nth(3);
  expect(calling.read().flows[0]).toMatchObject({ sent: 2, failed: 1, inFlight: 1 });
  const stopped = calling.stop();
  third(GOOD);
  await stopped;
  expect(calling.read().flows[0]).toMatchObject({ sent: 3, failed: 1, inFlight: 0 });
});

test("windows follow each other without a request lost or counted twice", async () => {
  let asked = 0;
  const asker: Asker = {
    ask() {
      asked += 1;
      return Promise.resolve(asked % 3 === 0 ? BAD : GOOD);
    },
    close() {},
  };
  const calling = call(asker);
  const windows = [];
  while (windows.length < 20) {
    await new Promise((resolve) => setImmediate(resolve));
    windows.push(calling.mark());
  }
  await calling.stop();
  windows.push(calling.read());
  const counted = windows.map(({ flows }) => flows[0]!);
  expect(counted.reduce((sum, { sent }) => sum + sent, 0)).toBe(asked);
  expect(counted.reduce((sum, { failed }) => sum + failed, 0)).toBe(Math.floor(asked / 3));
  expect(windows.map(({ window }) => window)).toEqual(windows.map((_, index) => index));
});

test("a request that never ends is told: silence must not pass for success", async () => {
  const { asker, nth } = aHeldAsker();
  const what = await new Promise<string>((resolve) => {
    const calling = call(asker, { hangMs: 1, onHang: resolve });
    onTestFinished(async () => {
      const stopped = calling.stop();
      (await nth(1))(BAD);
      await stopped;
    });
  });
  expect(what).toBe("A tcp request over IPv4 did not end in 1 ms.");
});
