import { describe, expect, onTestFinished, test } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { id } from "../../test/shares.ts";
import type { Log, LogFields } from "../ports/log.ts";
import { watchLiveness } from "./liveness.ts";

/** Members send heartbeats every five seconds unless they are gone; all on one virtual clock. */
function open(options: { readonly members: readonly string[]; readonly self?: string }) {
  const clock = new VirtualClock();
  const heardAtMs = new Map(options.members.map((name) => [name, clock.monotonic()]));
  const gone = new Set<string>();
  const told: LogFields[] = [];
  let changes = 0;
  const ignore = (): void => undefined;
  const note = (_: string, fields: LogFields = {}): number => told.push(fields);
  const log: Log = {
    debug: ignore,
    info: note,
    warn: note,
    error: ignore,
    with: () => log,
  };
  const watch = watchLiveness({
    contacts: () =>
      [...heardAtMs].map(([name, atMs]) => ({
        cluster: id(name),
        silentMs: clock.monotonic() - atMs,
      })),
    ...(options.self === undefined ? {} : { self: id(options.self) }),
    clock,
    onChange: () => {
      changes += 1;
    },
    log,
  });
  onTestFinished(() => watch.stop());

  function beat(): void {
    for (const name of heardAtMs.keys()) {
      if (!gone.has(name)) heardAtMs.set(name, clock.monotonic());
    }
  }
  return {
    clock,
    told,
    changes: () => changes,
    livenessOf: (name: string) => watch.livenessOf(id(name)),
    lose: (...names: readonly string[]) => {
      for (const name of names) gone.add(name);
    },
    find: (...names: readonly string[]) => {
      for (const name of names) gone.delete(name);
      beat();
    },
    forget: (name: string) => heardAtMs.delete(name),
    async pass(seconds: number): Promise<void> {
      for (let second = 0; second < seconds; second += 1) {
        if (second % 5 === 0) beat();
        await clock.advance(1_000);
      }
    },
    stop: () => watch.stop(),
  };
}

test("everybody is live until known otherwise, members or not", () => {
  const world = open({ members: ["a", "b"] });
  expect(world.livenessOf("a")).toBe("live");
  expect(world.livenessOf("stranger")).toBe("live");
});

test("R65, R66: a member turns silent, then lost, and is live within a second of being heard; each is told once", async () => {
  const world = open({ members: ["a", "b", "c"] });
  world.lose("b");
  await world.pass(19);
  expect(world.livenessOf("b")).toBe("live");
  await world.pass(2);
  expect(world.livenessOf("b")).toBe("silent");
  await world.pass(10);
  expect(world.livenessOf("b")).toBe("lost");
  await world.pass(600);
  world.find("b");
  await world.pass(1);
  expect(world.livenessOf("b")).toBe("live");
  expect(world.told).toEqual(
    ["silent", "lost", "live"].map((liveness) => ({ source: "b", liveness })),
  );
  expect(world.changes()).toBe(3);
});

test("two that change at once are one change", async () => {
  const world = open({ members: ["a", "b", "c", "d", "e"] });
  world.lose("b", "c");
  await world.pass(25);
  expect(world.told).toHaveLength(2);
  expect(world.changes()).toBe(1);
});

test("a member that left is live for whoever asks: nobody waits for it", async () => {
  const world = open({ members: ["a", "b", "c"] });
  world.lose("b");
  await world.pass(60);
  world.forget("b");
  await world.pass(1);
  expect(world.livenessOf("b")).toBe("live");
});

describe("a watcher that is a member itself", () => {
  test("R65: cut off for hours it judges nobody; back, it counts silence from then", async () => {
    const world = open({ members: ["me", "b", "c", "d", "e"], self: "me" });
    world.lose("me", "b");
    await world.pass(10_000);
    expect(world.told).toEqual([]);
    // B is gone for good, but nobody could know while nobody listened.
    world.find("me");
    await world.pass(19);
    expect(world.livenessOf("b")).toBe("live");
    await world.pass(2);
    expect(world.livenessOf("b")).toBe("silent");
    await world.pass(10);
    expect(world.livenessOf("b")).toBe("lost");
  });

  test("R65: cut off it never judges anybody before it knows that it is", async () => {
    const world = open({ members: ["me", "b", "c", "d"], self: "me" });
    await world.pass(3);
    world.lose("me", "b", "c", "d");
    await world.pass(600);
    expect(world.changes()).toBe(0);
    world.find("me", "b", "c", "d");
    await world.pass(600);
    expect(world.changes()).toBe(0);
  });

  test("R65: one of two loses the other", async () => {
    const world = open({ members: ["me", "b"], self: "me" });
    world.lose("b");
    await world.pass(31);
    expect(world.livenessOf("b")).toBe("lost");
  });

  test("a process that was stopped for an hour loses nobody when it goes on", async () => {
    const world = open({ members: ["me", "b", "c"], self: "me" });
    await world.pass(10);
    await world.clock.advance(3_600_000);
    world.find("me");
    await world.pass(60);
    expect(world.changes()).toBe(0);
  });
});

test("stopped, it leaves no timer behind and tells nothing more", async () => {
  const world = open({ members: ["a", "b", "c"] });
  world.lose("b");
  await world.pass(10);
  await world.stop();
  expect(world.clock.pendingTimers).toBe(0);
  await world.pass(60);
  expect(world.changes()).toBe(0);
});
