// The election on virtual time and an embedded cluster: who leads, from when, until when, and what may be written.

import { describe, expect, onTestFinished, test } from "vitest";
import { settle } from "../../test/clock.ts";
import { ElectionWorld, LEASES } from "../../test/electionWorld.ts";

const NEVER = Number.POSITIVE_INFINITY;
const MICRO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const AWAY = { match: LEASES, disconnect: true } as const;

/** Every test ends the same way: nobody ever clashed, and nothing is left behind. */
function aWorld(seed = 1): ElectionWorld {
  const world = new ElectionWorld(seed);
  onTestFinished(async () => {
    await world.stop();
    expect(world.clashes).toEqual([]);
    expect(world.clock.pendingTimers).toBe(0);
  });
  return world;
}

async function aLeader(world: ElectionWorld, identity = "one") {
  const leader = world.start(identity);
  await world.advance(1_000);
  expect(world.writers()).toEqual([identity]);
  return leader;
}

describe("the Lease", () => {
  test("that is not there is made and taken at once", async () => {
    const world = aWorld();
    world.start("one");
    await settle();
    expect(world.writers()).toEqual(["one"]);
    expect(world.lease()?.spec).toMatchObject({
      holderIdentity: "one",
      leaseDurationSeconds: 10,
      leaseTransitions: 0,
      acquireTime: expect.stringMatching(MICRO_TIME),
      renewTime: expect.stringMatching(MICRO_TIME),
    });
  });

  test("that nobody holds is taken at once, and the change of hands is counted", async () => {
    const world = aWorld();
    world.put({ holderIdentity: "", leaseTransitions: 6 });
    world.start("one");
    await settle();
    expect(world.writers()).toEqual(["one"]);
    expect(world.lease()?.spec?.leaseTransitions).toBe(7);
  });

  test.each(["2001-01-01T00:00:00.000000Z", "2099-01-01T00:00:00.000000Z"])(
    "of another, renewed at %s by its own clock, is taken after 10 s without a change",
    async (renewTime) => {
      const world = aWorld();
      world.put({ holderIdentity: "other", leaseDurationSeconds: 10, renewTime });
      world.start("one");
      await world.advance(9_900);
      expect(world.writers()).toEqual([]);
      await world.advance(200);
      expect(world.writers()).toEqual(["one"]);
    },
  );

  test("whose holder asks for longer is left to it for longer, but not for ever", async () => {
    const world = aWorld();
    world.put({ holderIdentity: "other", leaseDurationSeconds: 20 });
    world.start("one");
    await world.advance(19_900);
    expect(world.writers()).toEqual([]);
    await world.advance(200);
    expect(world.writers()).toEqual(["one"]);
    const greedy = aWorld();
    greedy.put({ holderIdentity: "other", leaseDurationSeconds: 1_000_000 });
    greedy.start("one");
    expect(await greedy.advanceUntil(70_000, () => greedy.writers().length > 0)).toBeLessThan(
      NEVER,
    );
  });

  test("is renewed about every 3 s: acquireTime stays, renewTime moves", async () => {
    const world = aWorld();
    await aLeader(world);
    const first = world.lease();
    const seen = new Set<string | undefined>();
    for (let step = 0; step < 600; step++) {
      await world.advance(100);
      seen.add(world.lease()?.spec?.renewTime);
      expect(world.writers()).toEqual(["one"]);
    }
    expect(world.lease()?.spec?.acquireTime).toBe(first?.spec?.acquireTime);
    expect(seen.size).toBeGreaterThanOrEqual(18);
    expect(seen.size).toBeLessThanOrEqual(23);
  });
});

describe("a second candidate", () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    "leads within 15 s of a crash, whenever it comes (%i)",
    async (seed) => {
      const world = aWorld(seed);
      const one = await aLeader(world);
      world.start("two", { seed: seed + 100 });
      await world.advance(7_000 + seed * 370);
      one.suspend();
      const tookMs = await world.advanceUntil(15_000, () => world.writers().includes("two"));
      expect(tookMs).toBeLessThanOrEqual(15_000);
      expect(world.lease()?.spec?.leaseTransitions).toBe(1);
    },
  );

  test("leads within a poll of a graceful stop, after the first has ended its work", async () => {
    const world = aWorld();
    const one = await aLeader(world);
    const two = world.start("two");
    await world.advance(5_000);
    expect(two.terms).toBe(0);
    await one.stop();
    expect(one.isWorking).toBe(false);
    expect(one.mayWrite()).toBe(false);
    expect(world.lease()?.spec?.holderIdentity).toBe("");
    expect(await world.advanceUntil(2_300, () => two.mayWrite())).toBeLessThan(NEVER);
  });

  test("does not take a Lease at once that vanished under its holder, who does not know yet", async () => {
    const world = aWorld();
    const one = await aLeader(world);
    const two = world.start("two");
    await world.advance(3_000);
    one.suspend();
    world.remove();
    await world.advance(6_500);
    expect(two.terms).toBe(0);
    expect(await world.advanceUntil(8_000, () => two.mayWrite())).toBeLessThan(NEVER);
  });

  test("of the same name is a stranger: it waits, and never both may write", async () => {
    const world = aWorld();
    await aLeader(world, "twin");
    const second = world.start("twin");
    await world.advance(60_000);
    expect(second.terms).toBe(0);
  });
});

describe("a leader", () => {
  test("that was suspended while another took over writes nothing when it wakes", async () => {
    const world = aWorld();
    const one = await aLeader(world);
    const two = world.start("two");
    await world.advance(4_000);
    one.suspend();
    await world.advanceUntil(15_000, () => two.mayWrite());
    await world.advance(2_000);
    const before = world.notes.length;
    one.resume();
    await world.advance(60_000);
    expect(new Set(world.notes.slice(before))).toEqual(new Set(["two"]));
    expect(one.leadership?.signal.aborted).toBe(true);
    expect(one.isWorking).toBe(false);
    expect(one.said).toContainEqual({
      message: "lost the leadership",
      fields: { why: "the lease could not be renewed in time" },
    });
  });

  test("that was suspended in the middle of a renewal does not count it from when it woke", async () => {
    const world = aWorld();
    const one = await aLeader(world);
    const slow = world.cluster.faults.add({ match: { ...LEASES, verb: "update" }, delayMs: 500 });
    await world.advanceUntil(5_000, () => slow.hits > 0);
    one.suspend();
    await world.advance(9_000);
    one.resume();
    expect(one.mayWrite()).toBe(false);
    await world.clock.advance(0);
    expect(one.leadership?.signal.aborted).toBe(true);
  });

  test("steps down at its next renewal when it finds another holder", async () => {
    const world = aWorld();
    const one = await aLeader(world);
    world.put({ ...world.lease()?.spec, holderIdentity: "other" });
    await world.advance(3_400);
    expect(one.mayWrite()).toBe(false);
    expect(one.isWorking).toBe(false);
    expect(one.said).toContainEqual({
      message: "lost the leadership",
      fields: { why: "other holds the lease" },
    });
  });

  test("steps down when the Lease is gone, and competes for a new one", async () => {
    const world = aWorld();
    const one = await aLeader(world);
    world.remove();
    await world.advance(5_000);
    expect(one.terms).toBe(2);
    expect(one.mayWrite()).toBe(true);
  });

  test("outlasts an API server that is away for 4 s", async () => {
    const world = aWorld();
    const one = await aLeader(world);
    const away = world.cluster.faults.add(AWAY);
    await world.advance(4_000);
    away.remove();
    await world.advance(10_000);
    expect(one.terms).toBe(1);
    expect(one.mayWrite()).toBe(true);
  });

  test.each([
    ["is away", AWAY],
    ["hangs", { match: LEASES, delayMs: 40_000 }],
    ["fails", { match: LEASES, fail: { status: 500 } }],
    [
      "asks it to come back in an hour",
      { match: LEASES, fail: { status: 429, retryAfterSeconds: 3_600 } },
    ],
  ] as const)(
    "of an API server that %s gives up after 8 s, and leads again when it is back",
    async (_, rule) => {
      const world = aWorld();
      const one = await aLeader(world);
      const fault = world.cluster.faults.add(rule);
      await world.advance(8_100);
      expect(one.mayWrite()).toBe(false);
      expect(one.isWorking).toBe(false);
      await world.advance(120_000);
      fault.remove();
      expect(await world.advanceUntil(6_000, () => one.mayWrite())).toBeLessThan(NEVER);
      expect(world.lease()?.spec?.leaseTransitions).toBe(0);
    },
  );

  test("reads back a renewal whose answer was lost, and goes on", async () => {
    const world = aWorld();
    const one = await aLeader(world);
    const lost = world.cluster.faults.add({
      match: { ...LEASES, verb: "update" },
      disconnect: true,
      afterWrite: true,
    });
    // Longer than the trust in any one renewal: each was counted although none was answered.
    await world.advance(30_000);
    expect(lost.hits).toBeGreaterThan(5);
    expect(one.terms).toBe(1);
    expect(one.mayWrite()).toBe(true);
  });

  test("whose claim was answered by silence leads once, with the claim counted once", async () => {
    const world = aWorld();
    world.put({ holderIdentity: "", leaseTransitions: 3 });
    const match = { ...LEASES, verb: "update" as const };
    world.cluster.faults.add({ match, disconnect: true, afterWrite: true, times: 1 });
    const one = world.start("one");
    await world.advance(3_000);
    expect(one.terms).toBe(1);
    expect(world.lease()?.spec?.leaseTransitions).toBe(4);
  });

  test("whose wall clock leaps, as after a sleep of the machine, writes nothing before it renewed", async () => {
    const world = aWorld();
    const one = await aLeader(world);
    world.clock.stepWall(3_600_000);
    expect(one.mayWrite()).toBe(false);
    await world.advance(3_400);
    expect(one.mayWrite()).toBe(true);
    world.clock.stepWall(-7_200_000);
    expect(one.mayWrite()).toBe(true);
    expect(one.terms).toBe(1);
  });
});

describe("the work", () => {
  test("that ends by itself ends the election, and leaves the Lease to nobody", async () => {
    const world = aWorld();
    const one = world.start("one", { work: () => Promise.resolve() });
    await one.end;
    expect(world.lease()?.spec?.holderIdentity).toBe("");
    expect(one.mayWrite()).toBe(false);
  });

  test("that fails fails the election with the same error, and leaves the Lease to nobody", async () => {
    const world = aWorld();
    const error = new Error("no such thing");
    const one = world.start("one", { work: () => Promise.reject(error) });
    await expect(one.end).rejects.toBe(error);
    expect(world.lease()?.spec?.holderIdentity).toBe("");
  });

  test("may write its last while it ends, and the Lease is released only then", async () => {
    const world = aWorld();
    let finish!: () => void;
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const one = world.start("one", { work: () => finished });
    await world.advance(1_000);
    const end = one.stop();
    await world.advance(3_000);
    expect(one.mayWrite()).toBe(true);
    expect(world.lease()?.spec?.holderIdentity).toBe("one");
    finish();
    await end;
    expect(world.lease()?.spec?.holderIdentity).toBe("");
  });

  test("that does not end keeps the Lease until it runs out, may write no more, and is told of", async () => {
    const world = aWorld();
    const one = world.start("one", { work: () => new Promise(() => undefined) });
    await world.advance(1_000);
    const end = one.stop();
    await world.advance(5_100);
    await end;
    expect(one.mayWrite()).toBe(false);
    expect(world.lease()?.spec?.holderIdentity).toBe("one");
    expect(one.said.map(({ message }) => message)).toContain("the work of a leader does not end");
  });

  test("of a lost term that does not end never writes again, even when its process leads anew", async () => {
    const world = aWorld();
    const one = world.start("one", { work: () => new Promise(() => undefined) });
    await world.advance(1_000);
    const first = one.leadership;
    const away = world.cluster.faults.add(AWAY);
    await world.advance(9_000);
    away.remove();
    await world.advanceUntil(15_000, () => one.terms === 2);
    expect(one.mayWrite()).toBe(true);
    expect(first?.mayWrite()).toBe(false);
  });

  test("is not started by a process that was stopped before", async () => {
    const world = aWorld();
    const one = world.start("one");
    await one.stop();
    await world.advance(30_000);
    expect(one.mayWrite()).toBe(false);
    expect(world.lease()?.spec?.holderIdentity ?? "").toBe("");
  });
});

test("a Lease that cannot be released in time is left to run out", async () => {
  const world = aWorld();
  const one = await aLeader(world);
  world.cluster.faults.add({ match: LEASES, delayMs: 40_000 });
  const end = one.stop();
  await world.advance(2_600);
  await end;
  expect(one.said.map(({ message }) => message)).toContain("lease was not released");
});
