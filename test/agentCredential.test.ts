import { describe, expect, onTestFinished, test } from "vitest";
import { VirtualClock } from "./clock.ts";
import { seededRandom } from "./embedded.ts";
import { NAMESPACE, SECRET } from "../src/api/builtin.ts";
import { type ClusterId, SYSTEM_NAMESPACE } from "../src/api/names.ts";
import { EmbeddedCluster } from "../src/embedded/cluster.ts";
import { HUB_SECRET, parseCredential, renderCredential } from "../src/hub/credential.ts";
import type { Log, LogFields } from "../src/ports/log.ts";
import { keepCredential } from "../src/controllers/credential.ts";

const HOUR_MS = 3_600_000;
const CREDENTIAL = {
  cluster: "east" as ClusterId,
  server: "https://hub.example.com:6443",
  claim: "0".repeat(64),
};

/** What the hub hands out: a token says when it was made. */
function tokenOf(clock: VirtualClock, mark: string): string {
  const payload = { iat: Math.floor(clock.now() / 1_000), mark };
  return `e30.${Buffer.from(JSON.stringify(payload)).toString("base64url")}.sig-${mark}`;
}

async function aMember(options: { readonly token?: string } = {}) {
  const clock = new VirtualClock();
  const cluster = new EmbeddedCluster({ name: "east", clock, random: seededRandom(1) });
  const store = cluster.store({ userAgent: "agent" });
  await store.create(NAMESPACE, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: SYSTEM_NAMESPACE },
  });
  const credential = { ...CREDENTIAL, token: options.token ?? tokenOf(clock, "first") };
  await store.create(SECRET, renderCredential(credential));
  const asked: number[] = [];
  const warned: string[] = [];
  const state: { failure: Error | undefined; moves: number } = { failure: undefined, moves: 0 };
  const ignore = (): void => undefined;
  const log: Log = {
    debug: ignore,
    info: ignore,
    warn: (message: string, fields: LogFields = {}) =>
      void warned.push(`${message} ${JSON.stringify(fields)}`),
    error: ignore,
    with: () => log,
  };
  const keeper = keepCredential({
    store,
    credential,
    requestToken: async () => {
      asked.push(clock.monotonic());
      if (state.failure !== undefined) throw state.failure;
      return tokenOf(clock, `renewed-${asked.length}`);
    },
    onMoved: () => {
      state.moves += 1;
    },
    clock,
    random: seededRandom(7),
    log,
  });
  const stored = async () => {
    const parsed = parseCredential((await store.get(SECRET, HUB_SECRET))!);
    return parsed.ok ? parsed.value : undefined;
  };
  const rejoin = async (changes: Partial<typeof credential>): Promise<void> => {
    const secret = (await store.get(SECRET, HUB_SECRET))!;
    await store.replace(SECRET, renderCredential({ ...credential, ...changes }, secret));
  };
  onTestFinished(async () => {
    const stopped = keeper.stop();
    await clock.advance(0);
    await stopped;
  });
  return { clock, cluster, keeper, credential, asked, warned, state, stored, rejoin };
}

describe("a token is renewed", () => {
  test("within the day after it was made, written back, and again the next day", async () => {
    const { clock, keeper, asked, stored } = await aMember();
    await clock.advance(19 * HOUR_MS);
    expect(asked).toHaveLength(0);
    await clock.advance(5 * HOUR_MS);
    expect(asked).toHaveLength(1);
    expect(keeper.current()).toContain("renewed-1");
    expect(await stored()).toMatchObject({ ...CREDENTIAL, token: keeper.current() });
    await clock.advance(24 * HOUR_MS);
    expect(asked).toHaveLength(2);
  });

  test("soon, when it is older than a day, or does not say", async () => {
    const old = await aMember({ token: `e30.${Buffer.from('{"iat":1}').toString("base64url")}.s` });
    await old.clock.advance(1_000);
    expect(old.asked).toHaveLength(1);
    const opaque = await aMember({ token: "opaque" });
    await opaque.clock.advance(HOUR_MS);
    expect(opaque.asked).toHaveLength(1);
  });

  test("not sooner for a clock that is behind the hub's", async () => {
    const { clock, asked } = await aMember();
    clock.stepWall(-10 * 24 * HOUR_MS);
    await clock.advance(25 * HOUR_MS);
    expect(asked).toHaveLength(1);
  });

  test("again after a failure, ever less often, and the old one goes on", async () => {
    const { clock, keeper, credential, asked, state, warned } = await aMember();
    state.failure = new Error("the hub is away");
    await clock.advance(48 * HOUR_MS);
    expect(keeper.current()).toBe(credential.token);
    expect(warned[0]).toContain("the hub is away");
    expect(asked.length).toBeGreaterThan(24);
    expect(asked.length).toBeLessThan(80);
    state.failure = undefined;
    await clock.advance(HOUR_MS);
    expect(keeper.current()).toContain("renewed");
  });

  test("and used also when it cannot be written back", async () => {
    const { clock, cluster, keeper, stored, credential } = await aMember();
    cluster.faults.add({
      match: { resource: "secrets", verb: "update" },
      fail: { status: 403, reason: "Forbidden" },
    });
    await clock.advance(24 * HOUR_MS);
    expect(keeper.current()).toContain("renewed");
    expect((await stored())?.token).toBe(credential.token);
  });

  test("and written back later, when that failed once", async () => {
    const { clock, cluster, keeper, asked, stored } = await aMember();
    const fault = cluster.faults.add({
      match: { resource: "secrets", verb: "update" },
      fail: { status: 500, reason: "InternalError" },
    });
    await clock.advance(24 * HOUR_MS);
    fault.remove();
    await clock.advance(HOUR_MS);
    expect(asked).toHaveLength(1);
    expect((await stored())?.token).toBe(keeper.current());
  });

  test("and the next one over it, when it was written back and the answer was lost", async () => {
    const { clock, cluster, keeper, stored } = await aMember();
    const fault = cluster.faults.add({
      match: { resource: "secrets", verb: "update" },
      fail: { status: 500, reason: "InternalError" },
      afterWrite: true,
    });
    await clock.advance(24 * HOUR_MS);
    fault.remove();
    await clock.advance(24 * HOUR_MS);
    expect(keeper.current()).toContain("renewed-2");
    expect((await stored())?.token).toBe(keeper.current());
  });

  test("but never over the token of somebody who joined the cluster anew meanwhile", async () => {
    const { clock, rejoin, stored } = await aMember();
    await rejoin({ token: "joined-again" });
    await clock.advance(24 * HOUR_MS);
    expect((await stored())?.token).toBe("joined-again");
  });
});

describe("a token that the hub refuses", () => {
  test("is replaced by that of whoever joined the cluster anew", async () => {
    const { keeper, credential, rejoin } = await aMember();
    await rejoin({ token: "joined-again" });
    expect(await keeper.refresh(credential.token)).toBe(true);
    expect(keeper.current()).toBe("joined-again");
    // Somebody else was refused with the old one at the same time.
    expect(await keeper.refresh(credential.token)).toBe(true);
  });

  test("stays while there is no other, and the Secret is not read for every refusal", async () => {
    const { clock, cluster, keeper, credential } = await aMember();
    const reads = cluster.faults.add({ match: { resource: "secrets", verb: "get" }, delayMs: 0 });
    const refusals = [1, 2, 3].map(() => keeper.refresh(credential.token));
    await clock.advance(0);
    expect(await Promise.all(refusals)).toEqual([false, false, false]);
    expect(await keeper.refresh(credential.token)).toBe(false);
    expect(reads.hits).toBe(1);
    await clock.advance(5_000);
    expect(await keeper.refresh(credential.token)).toBe(false);
    expect(reads.hits).toBe(2);
  });

  test.each([
    ["hub", { server: "https://other.example.com:6443", token: "there" }],
    ["id", { cluster: "elsewhere" as ClusterId, token: "there" }],
  ])("of a cluster that joined under another %s means to start anew", async (_, changes) => {
    const { keeper, credential, rejoin, state } = await aMember();
    await rejoin(changes);
    expect(await keeper.refresh(credential.token)).toBe(false);
    expect(state.moves).toBe(1);
    expect(keeper.current()).toBe(credential.token);
  });
});

test("who stops leaves no timer behind, also in the middle of a renewal", async () => {
  const { clock, cluster, keeper } = await aMember();
  const before = clock.pendingTimers;
  cluster.faults.add({ match: { resource: "secrets" }, delayMs: 20_000 });
  await clock.advance(24 * HOUR_MS);
  const stopped = keeper.stop();
  await clock.advance(0);
  await stopped;
  expect(clock.pendingTimers).toBeLessThanOrEqual(before);
});
