// The queue's contract, point by point, on virtual time. As laws over random schedules: queueLaws.test.ts.

import { expect, onTestFinished, test } from "vitest";
import { settle, VirtualClock } from "../../test/clock.ts";
import { type Clock, sleep } from "../ports/clock.ts";
import { StoreError } from "../ports/store.ts";
import { createQueue, type Failure, type Outcome, type QueueOptions } from "./queue.ts";

type Handler = QueueOptions["handler"];

function aQueue(handler: Handler, options: Partial<QueueOptions> = {}) {
  const clock = new VirtualClock();
  const failures: Failure[] = [];
  const overflows: string[] = [];
  const runs: { key: string; atMs: number }[] = [];
  const startMs = clock.monotonic();
  const queue = createQueue({
    clock,
    random: () => 1,
    handler(key, signal) {
      runs.push({ key, atMs: clock.monotonic() - startMs });
      return handler(key, signal);
    },
    keys: () => [],
    onFailure: (failure) => failures.push(failure),
    onOverflow: ({ key }) => overflows.push(key),
    ...options,
  });
  queue.start();
  return { clock, queue, failures, overflows, runs, keysRun: () => runs.map((run) => run.key) };
}

async function done(): Promise<Outcome> {
  return "done";
}

function taking(clockOf: () => VirtualClock, ms: number): Handler {
  return async () => {
    await sleep(clockOf(), ms);
    return "done";
  };
}

test("a key added many times before a worker takes it runs once", async () => {
  const { clock, queue, keysRun } = aQueue(done);
  for (const key of ["a", "b", "a", "a", "b"]) queue.add(key);
  await clock.advance(0);
  expect(keysRun()).toEqual(["a", "b"]);
});

test("adding never runs the handler on the caller's stack", async () => {
  const { clock, queue, runs } = aQueue(done);
  queue.add("a");
  expect(runs).toEqual([]);
  await clock.advance(0);
  expect(runs).toHaveLength(1);
});

test("a key added for later starts when the rest of the turn is over, and is no less in the queue until then", async () => {
  const { clock, queue, keysRun } = aQueue(done);
  const order: string[] = [];
  clock.schedule(0, () => order.push(`sent, run: ${keysRun().join()}`));
  queue.addLater("a");
  queue.addLater("a");
  await settle();
  expect(keysRun()).toEqual([]);
  expect(queue.snapshot().waiting).toBe(1);
  await clock.advance(0);
  expect(order).toEqual(["sent, run: "]);
  expect(keysRun()).toEqual(["a"]);
  expect(clock.pendingTimers).toBe(0);
});

test("a sweep of keys that wait for nothing leaves timers their turn", async () => {
  const virtual = new VirtualClock();
  let workedMs = 0;
  const clock: Clock = {
    now: () => virtual.now() + workedMs,
    monotonic: () => virtual.monotonic() + workedMs,
    schedule: (delayMs, callback) => virtual.schedule(delayMs, callback),
  };
  const { queue, runs } = aQueue(
    async () => {
      workedMs += 0.5;
      return "done";
    },
    { clock },
  );
  const runsAtTurns: number[] = [];
  const tick = (): void => {
    runsAtTurns.push(runs.length);
    if (runs.length < 2_000) clock.schedule(0, tick);
  };
  for (let key = 0; key < 2_000; key++) queue.add(`key-${key}`);
  clock.schedule(0, tick);
  await virtual.advance(0);
  expect(runs).toHaveLength(2_000);
  const between = runsAtTurns.map((count, at) => count - (runsAtTurns[at - 1] ?? 0));
  expect(Math.max(...between)).toBe(40);
});

test("a sweep that takes no time is done in one turn", async () => {
  const { clock, queue, runs } = aQueue(done);
  for (let key = 0; key < 2_000; key++) queue.add(`key-${key}`);
  await settle();
  expect(runs).toHaveLength(2_000);
  expect(clock.pendingTimers).toBe(0);
});

test.each(["add", "addLater"] as const)(
  "before start, keys of %s are kept and not worked on",
  async (verb) => {
    const clock = new VirtualClock();
    const seen: string[] = [];
    const queue = createQueue({
      clock,
      random: () => 0,
      handler: async (key) => {
        seen.push(key);
        return "done";
      },
      keys: () => [],
      onFailure: () => undefined,
      onOverflow: () => undefined,
    });
    queue[verb]("a");
    queue[verb]("b");
    await clock.advance(50);
    expect(seen).toEqual([]);
    queue.start();
    await clock.advance(0);
    expect(seen).toEqual(["a", "b"]);
  },
);

test("a key added while it is worked on runs once more afterwards, however often it was added", async () => {
  const made = aQueue(taking(() => made.clock, 10));
  made.queue.add("a");
  await made.clock.advance(5);
  for (let i = 0; i < 3; i++) made.queue.add("a");
  await made.clock.advance(4);
  expect(made.runs).toHaveLength(1);
  await made.clock.advance(100);
  expect(made.runs.map((run) => run.atMs)).toEqual([0, 10]);
});

test("as many keys as there are workers run in parallel, and no more", async () => {
  const made = aQueue(
    taking(() => made.clock, 10),
    { workers: 2 },
  );
  for (const key of ["a", "b", "c"]) made.queue.add(key);
  await made.clock.advance(9);
  expect(made.queue.snapshot()).toMatchObject({ running: 2, waiting: 1, longestRunningMs: 9 });
  await made.clock.advance(1);
  expect(made.runs).toEqual([
    { key: "a", atMs: 0 },
    { key: "b", atMs: 0 },
    { key: "c", atMs: 10 },
  ]);
});

test("as many workers as you like may listen to the signal without Node warning of a leak", async () => {
  const warnings: string[] = [];
  const note = ({ message }: Error): void => void warnings.push(message);
  process.on("warning", note);
  onTestFinished(() => void process.off("warning", note));
  let listening = 0;
  const { clock, queue } = aQueue(
    async (_, signal) => {
      signal.addEventListener("abort", () => undefined);
      listening += 1;
      return "done";
    },
    { workers: 32 },
  );
  for (let i = 0; i < 32; i++) queue.add(`key-${i}`);
  await clock.advance(0);
  // Warnings are given in the next turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  expect(listening).toBe(32);
  expect(warnings).toEqual([]);
});

test("adding a delayed key makes it run now, and the delay is forgotten", async () => {
  const { clock, queue, runs } = aQueue(async () => (runs.length < 2 ? { afterMs: 100 } : "done"));
  queue.add("a");
  await clock.advance(10);
  queue.add("a");
  await clock.advance(1_000);
  expect(runs.map((run) => run.atMs)).toEqual([0, 10]);
});

test("a key added before its handler looks once more need not run again", async () => {
  const made = aQueue(async (key) => {
    await sleep(made.clock, 10);
    made.queue.looks(key);
    await sleep(made.clock, 10);
    return "done";
  });
  made.queue.add("a");
  await made.clock.advance(5);
  made.queue.add("a");
  made.queue.add("b");
  await made.clock.advance(1_000);
  expect(made.keysRun()).toEqual(["a", "b"]);
  made.queue.add("a");
  await made.clock.advance(15);
  made.queue.add("a");
  await made.clock.advance(1_000);
  expect(made.keysRun()).toEqual(["a", "b", "a", "a"]);
});

test("a handler that asks to look again is called again after that long", async () => {
  const { clock, queue, runs } = aQueue(async () => (runs.length < 3 ? { afterMs: 40 } : "done"));
  queue.add("a");
  await clock.advance(1_000);
  expect(runs.map((run) => run.atMs)).toEqual([0, 40, 80]);
  expect(queue.snapshot()).toMatchObject({ waiting: 0, delayed: 0, running: 0 });
});

test("a handler that asks for no time at all still lets time pass", async () => {
  const { clock, queue, runs } = aQueue(async () => ({ afterMs: 0 }));
  queue.add("a");
  await clock.advance(10);
  expect(runs).toHaveLength(11);
});

test("failures back off exponentially from base to cap, per key, and are reported", async () => {
  const { clock, queue, runs, failures } = aQueue(
    async (key) => {
      if (key === "bad") throw new Error("no luck");
      return "done";
    },
    { backoff: { baseMs: 10, capMs: 50 } },
  );
  queue.add("bad");
  queue.add("good");
  await clock.advance(200);
  const bad = runs.filter((run) => run.key === "bad").map((run) => run.atMs);
  expect(bad).toEqual([0, 10, 30, 70, 120, 170]);
  expect(runs.filter((run) => run.key === "good")).toHaveLength(1);
  expect(failures[2]).toMatchObject({ key: "bad", failures: 3, retryInMs: 40 });
});

test("a handler that throws before its first await, or answers nonsense, counts as failed", async () => {
  const answers: Handler[] = [
    () => {
      throw new Error("at once");
    },
    async () => ({ afterMs: Number.NaN }),
    done,
  ];
  const { clock, queue, runs, failures } = aQueue((key, signal) =>
    answers[runs.length - 1]!(key, signal),
  );
  queue.add("a");
  await clock.advance(1_000);
  expect(failures.map((failure) => failure.failures)).toEqual([1, 2]);
  expect(runs).toHaveLength(3);
});

test("a run that does not throw resets the back-off", async () => {
  const script = ["throw", "throw", "after", "throw", "done", "throw", "done"];
  const { clock, queue, runs, failures } = aQueue(async () => {
    const end = script[runs.length - 1];
    if (end === "throw") throw new Error("no luck");
    return end === "after" ? { afterMs: 10 } : "done";
  });
  queue.add("a");
  await clock.advance(1_000);
  queue.add("a");
  await clock.advance(1_000);
  expect(failures.map((failure) => failure.failures)).toEqual([1, 2, 1, 1]);
});

test("adding a key that backs off runs it at once: what happened may be the cure", async () => {
  const { clock, queue, runs } = aQueue(
    async () => {
      if (runs.length === 1) throw new Error("no luck");
      return "done";
    },
    { backoff: { baseMs: 60_000, capMs: 60_000 } },
  );
  queue.add("a");
  await clock.advance(100);
  queue.add("a");
  await clock.advance(100_000);
  expect(runs.map((run) => run.atMs)).toEqual([0, 100]);
});

test("a server that says how long to stay away is obeyed, even when the key is added meanwhile", async () => {
  const { clock, queue, runs } = aQueue(async () => {
    if (runs.length === 1) {
      throw new StoreError("TooManyRequests", "busy", { retryAfterSeconds: 10 });
    }
    return "done";
  });
  queue.add("a");
  await clock.advance(1_000);
  queue.add("a");
  await clock.advance(60_000);
  // Ten seconds and the tenth that spreads clients.
  expect(runs.map((run) => run.atMs)).toEqual([0, 11_000]);
});

test("past the maximum, keys are refused loudly and a later pass over all keys brings them in", async () => {
  const all = ["a", "b", "c", "d", "e", "f"];
  const made = aQueue(
    taking(() => made.clock, 10),
    { workers: 1, maxKeys: 2, keys: () => all },
  );
  for (const key of all) made.queue.add(key);
  expect(made.overflows).toEqual(["c"]);
  await made.clock.advance(10_000);
  expect(new Set(made.keysRun())).toEqual(new Set(all));
  // The pass ends: it does not go round for ever.
  expect(made.runs.length).toBeLessThanOrEqual(2 + all.length);
  expect(made.queue.snapshot()).toMatchObject({ waiting: 0, delayed: 0, running: 0 });
});

test("stop starts nothing more, tells running handlers, and waits for them", async () => {
  const ends: string[] = [];
  const made = aQueue(
    async (key, signal) => {
      if (key === "delayed") return { afterMs: 10 };
      await sleep(made.clock, 1_000, signal).catch(() => undefined);
      await sleep(made.clock, 5);
      ends.push(key);
      return "done";
    },
    { workers: 1 },
  );
  for (const key of ["delayed", "running", "waiting"]) made.queue.add(key);
  await made.clock.advance(1);
  const stopped = made.queue.stop();
  made.queue.add("late");
  await made.clock.advance(5);
  await expect(stopped).resolves.toEqual([]);
  await made.clock.advance(10_000);
  expect(ends).toEqual(["running"]);
  expect(made.keysRun()).toEqual(["delayed", "running"]);
  expect(made.clock.pendingTimers).toBe(0);
});

test("stop gives up on a handler that does not end within the bound, and names its key", async () => {
  const { clock, queue } = aQueue(() => new Promise(() => undefined), { drainMs: 500 });
  queue.add("stuck");
  await clock.advance(1);
  const stopped = queue.stop();
  await clock.advance(500);
  await expect(stopped).resolves.toEqual(["stuck"]);
  expect(queue.snapshot()).toMatchObject({ running: 1, waiting: 0, delayed: 0 });
  expect(clock.pendingTimers).toBe(0);
});

test("a rate limit holds over all keys: a burst, then the steady rate", async () => {
  const { clock, queue, runs } = aQueue(done, { rateLimit: { perSecond: 10, burst: 3 } });
  for (let i = 0; i < 6; i++) queue.add(`key-${i}`);
  await clock.advance(1_000);
  expect(runs.map((run) => run.atMs)).toEqual([0, 0, 0, 100, 200, 300]);
});

test("totals exist at zero before the first event and follow what happens", async () => {
  const made = aQueue(async () => {
    await sleep(made.clock, 7);
    if (made.runs.length === 1) throw new Error("once");
    return made.runs.length === 2 ? { afterMs: 10 } : "done";
  });
  const nothing = { outcomes: { done: 0, again: 0, error: 0 }, overflows: 0, oldestMs: 0 };
  expect(made.queue.snapshot()).toMatchObject(nothing);
  made.queue.add("a");
  await made.clock.advance(100);
  expect(made.queue.snapshot()).toMatchObject({ outcomes: { done: 1, again: 1, error: 1 } });
});

test("tells how long the next key has waited, and for how long nothing has moved", async () => {
  const made = aQueue(() => sleep(made.clock, 40).then(() => "done" as const), { workers: 1 });
  made.queue.add("a");
  await made.clock.advance(0);
  made.queue.add("b");
  await made.clock.advance(30);
  expect(made.queue.snapshot()).toMatchObject({ oldestMs: 30, stillMs: 30, longestRunningMs: 30 });
  // Nobody waits: then it is no stand-still, however long the last one takes.
  await made.clock.advance(20);
  expect(made.queue.snapshot()).toMatchObject({ oldestMs: 0, stillMs: 0, longestRunningMs: 10 });
});

test("does not stand still while it has not been started", async () => {
  const clock = new VirtualClock();
  const queue = createQueue({
    clock,
    random: () => 0,
    handler: () => Promise.resolve("done"),
    keys: () => [],
    onFailure: () => undefined,
    onOverflow: () => undefined,
  });
  queue.add("a");
  await clock.advance(1_000);
  expect(queue.snapshot()).toMatchObject({ waiting: 1, oldestMs: 1_000, stillMs: 0 });
  queue.start();
  await clock.advance(0);
  expect(queue.snapshot()).toMatchObject({ waiting: 0, outcomes: { done: 1 } });
});

test("twenty thousand waiting keys are worked off in order", async () => {
  const { clock, queue, keysRun } = aQueue(done);
  const keys = Array.from({ length: 20_000 }, (_, i) => `key-${i}`);
  for (const key of keys) queue.add(key);
  await clock.advance(0);
  expect(keysRun()).toEqual(keys);
});
