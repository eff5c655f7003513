import { expect, onTestFinished, test } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { id } from "../../test/shares.ts";
import type { Log } from "../ports/log.ts";
import { type Answer, createExporter } from "./exporter.ts";
import type { FinishedSpan } from "./tracer.ts";

function aSpan(name: string): FinishedSpan {
  return {
    context: { traceId: "1".repeat(32), spanId: "2".repeat(16) },
    cluster: id("east"),
    name,
    startMs: 0,
    endMs: 0,
    attributes: {},
    links: [],
  };
}

const TAKEN: Answer = { is: "taken", rejected: 0 };

/** A collector that answers as it is told; "nothing": never. */
function anExporter(first: Answer | "nothing" | "away" = TAKEN) {
  const clock = new VirtualClock();
  const state = { answer: first };
  const batches: string[][] = [];
  const said: string[] = [];
  const say = (message: string): void => void said.push(message);
  const log: Log = {
    debug: () => undefined,
    info: say,
    warn: say,
    error: say,
    with: () => log,
  };
  const exporter = createExporter({
    clock,
    random: () => 0.5,
    log,
    send: (spans) => {
      batches.push(spans.map(({ name }) => name));
      if (state.answer === "nothing") return new Promise(() => undefined);
      if (state.answer === "away") return Promise.reject(new Error("connect ECONNREFUSED"));
      return Promise.resolve(state.answer);
    },
  });
  const add = (from: number, to: number): void => {
    for (let n = from; n <= to; n += 1) exporter.add(aSpan(`${n}`));
  };
  onTestFinished(() => expect(clock.pendingTimers).toBe(0));
  const stop = async (): Promise<void> => {
    const stopped = exporter.stop();
    await clock.advance(3_000);
    await stopped;
  };
  return { clock, state, batches, said, exporter, add, stop };
}

test("spans wait five seconds for others, and go together", async () => {
  const { clock, batches, exporter, add, stop } = anExporter();
  add(1, 1);
  await clock.advance(4_000);
  add(2, 2);
  expect(batches).toEqual([]);
  await clock.advance(1_000);
  expect(batches).toEqual([["1", "2"]]);
  await clock.advance(60_000);
  expect(batches).toHaveLength(1);
  expect(exporter.counts()).toEqual({ sent: 2, dropped: 0, refused: 0 });
  await stop();
});

test("512 spans go at once, and no request holds more", async () => {
  const { clock, batches, exporter, add, stop } = anExporter();
  add(1, 1_100);
  await clock.advance(0);
  expect(batches.map((batch) => batch.length)).toEqual([512, 512]);
  await clock.advance(5_000);
  expect(batches.map((batch) => batch.length)).toEqual([512, 512, 76]);
  expect(exporter.counts().sent).toBe(1_100);
  await stop();
});

test("a collector that is away is told of later, without the oldest for which there was no room", async () => {
  const { clock, state, batches, said, exporter, add, stop } = anExporter("away");
  add(1, 512);
  await clock.advance(0);
  add(513, 512 + 4_096 + 100);
  await clock.advance(5_000);
  expect(exporter.counts()).toEqual({ sent: 0, dropped: 512 + 100, refused: 0 });
  state.answer = TAKEN;
  await clock.advance(120_000);
  expect(exporter.counts()).toEqual({ sent: 4_096, dropped: 512 + 100, refused: 0 });
  expect(batches.at(-1)?.at(-1)).toBe(`${512 + 4_096 + 100}`);
  expect(said).toEqual(["collector does not take traces", "collector takes traces again"]);
  await stop();
});

test("a collector that stays away is asked less and less, and said to be away once", async () => {
  const { clock, batches, said, exporter, add, stop } = anExporter("away");
  for (let hour = 0; hour < 5; hour += 1) {
    add(1, 2_000);
    await clock.advance(60 * 60_000);
  }
  // Once in 45 seconds on average, after the first minutes.
  expect(batches.length).toBeGreaterThan(300);
  expect(batches.length).toBeLessThan(500);
  expect(said).toEqual(["collector does not take traces"]);
  // No more than so many are ever kept.
  const { dropped, sent } = exporter.counts();
  expect(sent).toBe(0);
  expect(10_000 - dropped).toBeLessThanOrEqual(512 + 4_096);
  expect(10_000 - dropped).toBeGreaterThanOrEqual(4_096 - 512);
  await stop();
});

test("a collector that never answers holds up one request, for ten seconds", async () => {
  const { clock, state, batches, said, exporter, add, stop } = anExporter("nothing");
  add(1, 1);
  await clock.advance(5_000);
  add(2, 600);
  await clock.advance(9_000);
  expect(batches).toEqual([["1"]]);
  state.answer = TAKEN;
  await clock.advance(3_000);
  expect(batches[1]).toEqual(["1"]);
  await clock.advance(6_000);
  expect(exporter.counts().sent).toBe(600);
  expect(said).toEqual(["collector does not take traces", "collector takes traces again"]);
  await stop();
});

test("what a collector refuses is not sent again", async () => {
  const why = "it answered 500";
  const { clock, state, batches, said, exporter, add, stop } = anExporter({ is: "refused", why });
  add(1, 3);
  await clock.advance(60_000);
  expect(batches).toEqual([["1", "2", "3"]]);
  expect(exporter.counts()).toEqual({ sent: 0, dropped: 0, refused: 3 });
  state.answer = { is: "taken", rejected: 1, why: "too old" };
  add(4, 5);
  await clock.advance(60_000);
  expect(exporter.counts()).toEqual({ sent: 1, dropped: 0, refused: 4 });
  expect(said).toEqual(["collector does not take traces"]);
  await stop();
});

test("a collector that asks for time gets it, within reason", async () => {
  const later: Answer = { is: "later", why: "it answered 429", afterMs: 20_000 };
  const { clock, state, batches, exporter, add, stop } = anExporter(later);
  add(1, 1);
  await clock.advance(5_000);
  state.answer = { ...later, afterMs: 24 * 60 * 60_000 };
  await clock.advance(19_999);
  expect(batches).toHaveLength(1);
  await clock.advance(1);
  expect(batches).toHaveLength(2);
  state.answer = TAKEN;
  await clock.advance(60_000);
  expect(exporter.counts().sent).toBe(1);
  await stop();
});

test("the end sends what is left, and takes no more", async () => {
  const { clock, batches, exporter, add } = anExporter();
  add(1, 3);
  await exporter.stop();
  expect(batches).toEqual([["1", "2", "3"]]);
  add(4, 4);
  await clock.advance(60_000);
  expect(batches).toHaveLength(1);
});

test.each(["away", "nothing"] as const)(
  "the end does not wait for a collector from which comes: %s",
  async (answer) => {
    const { said, batches, add, stop } = anExporter(answer);
    add(1, 1_000);
    // Within three seconds, which is all the time that this gives.
    await stop();
    expect(batches.length).toBeLessThanOrEqual(2);
    expect(said).toEqual(["collector does not take traces", "spans are left that nobody took"]);
  },
);

test("an end in the middle of a pause tries once more", async () => {
  const { clock, state, exporter, add, stop } = anExporter("away");
  add(1, 1);
  await clock.advance(60_000);
  state.answer = TAKEN;
  await stop();
  expect(exporter.counts().sent).toBe(1);
});
