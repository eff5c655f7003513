import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { CONFIG_MAP, type ConfigMap, LEASE, type Lease } from "../api/builtin.ts";
import type { Resource } from "../api/object.ts";
import { type Store, StoreError, type StoreErrorCode } from "../ports/store.ts";
import { createContact } from "./contact.ts";

const MAP: ConfigMap = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { namespace: "a", name: "b" },
};
const RENEWED: Lease = { ...MAP, apiVersion: "coordination.k8s.io/v1", kind: "Lease" };

/** Counts what reaches the server, which answers with an error, not at all, or well. */
function aServer() {
  const clock = new VirtualClock();
  const state: { failure: StoreErrorCode | "hang" | undefined; asked: string[]; cut: number } = {
    failure: undefined,
    asked: [],
    cut: 0,
  };
  async function answer<T>(what: string, result: T, signal?: AbortSignal): Promise<T> {
    state.asked.push(what);
    if (state.failure === "hang") {
      return new Promise((_, reject) => {
        signal?.addEventListener("abort", () => {
          state.cut += 1;
          reject(signal.reason);
        });
      });
    }
    if (state.failure !== undefined) throw new StoreError(state.failure, "no");
    return result;
  }
  const write = (resource: Resource, object: unknown, options?: { signal?: AbortSignal }) =>
    answer(`write ${resource.plural}`, object, options?.signal);
  const server = {
    get: (resource: Resource) => answer(`get ${resource.plural}`, undefined),
    list: () => answer("list", { items: [], resourceVersion: "1" }),
    watch: (_: Resource, options: { onOpen?: () => void }) => {
      options.onOpen?.();
      return answer("watch", undefined);
    },
    create: write,
    replace: write,
    apply: write,
    delete: write,
  } as unknown as Store;
  const contact = createContact({ store: server, clock });
  const returns: number[] = [];
  contact.onReturn(() => returns.push(clock.monotonic()));
  const put = (): Promise<unknown> => contact.store.replace(CONFIG_MAP, MAP);
  const renew = (): Promise<unknown> => contact.store.replace(LEASE, RENEWED);
  return { clock, state, contact, returns, put, renew };
}
const ignore = (): void => undefined;

describe("a server that goes away", () => {
  test("is away when a Lease cannot be renewed: other writes are then turned away without asking it", async () => {
    const { state, contact, put, renew } = aServer();
    state.failure = "Unreachable";
    await renew().catch(ignore);
    expect(contact.isAway()).toBe(true);
    await expect(put()).rejects.toMatchObject({ code: "Unavailable" });
    expect(state.asked).toEqual(["write leases"]);
  });

  test("is away after ten requests in a row without an answer, not after nine", async () => {
    const { state, contact, put } = aServer();
    state.failure = "Unavailable";
    for (let count = 1; count <= 9; count += 1) await put().catch(ignore);
    expect(contact.isAway()).toBe(false);
    await put().catch(ignore);
    expect(contact.isAway()).toBe(true);
  });

  test("is not away when it refuses, however often", async () => {
    const { state, contact, put, renew } = aServer();
    state.failure = "Forbidden";
    for (let count = 1; count <= 20; count += 1) await put().catch(ignore);
    await renew().catch(ignore);
    expect(contact.isAway()).toBe(false);
  });

  test("that says nothing: a renewal ends after four seconds, and takes the writes that hang with it", async () => {
    const { clock, state, contact, put, renew } = aServer();
    state.failure = "hang";
    const hanging = [put(), put(), renew()];
    const ended = Promise.allSettled(hanging);
    await clock.advance(3_999);
    expect(contact.isAway()).toBe(false);
    await clock.advance(1);
    const outcomes = await ended;
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(contact.isAway()).toBe(true);
    expect(state.cut).toBe(3);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe("a server that comes back", () => {
  test.each([
    [
      "a renewal",
      (contact: ReturnType<typeof createContact>) => contact.store.replace(LEASE, RENEWED),
    ],
    ["a list", (contact: ReturnType<typeof createContact>) => contact.store.list(CONFIG_MAP)],
    [
      "a watch that opens",
      (contact: ReturnType<typeof createContact>) =>
        contact.store.watch(CONFIG_MAP, { resourceVersion: "1" }, ignore),
    ],
  ])("is told once, by %s that is answered", async (_, ask) => {
    const { state, contact, returns, put, renew } = aServer();
    state.failure = "Unreachable";
    await renew().catch(ignore);
    state.failure = undefined;
    await ask(contact);
    await ask(contact);
    expect(returns).toHaveLength(1);
    await put();
    expect(state.asked.at(-1)).toBe("write configmaps");
  });

  test("says how long nothing was heard", async () => {
    const { clock, contact, put, state } = aServer();
    await put();
    await clock.advance(5_000);
    state.failure = "Timeout";
    await put().catch(ignore);
    expect(contact.silentMs()).toBe(5_000);
    state.failure = "Conflict";
    await put().catch(ignore);
    expect(contact.silentMs()).toBe(0);
  });
});

test("a thousand writes at once reach the server at a rate that it can bear, renewals at once", async () => {
  const { clock, state, put, renew } = aServer();
  const all = Promise.all(Array.from({ length: 1_000 }, put));
  await clock.advance(0);
  expect(state.asked).toHaveLength(200);
  await renew();
  expect(state.asked).toHaveLength(201);
  await clock.advance(1_000);
  expect(state.asked).toHaveLength(301);
  await clock.advance(7_000);
  await all;
  expect(state.asked).toHaveLength(1_001);
  expect(clock.pendingTimers).toBe(0);
});

test("who stops waiting for its turn never asks", async () => {
  const { clock, state, contact } = aServer();
  const stop = new AbortController();
  const all = Promise.allSettled(
    Array.from({ length: 250 }, () =>
      contact.store.create(CONFIG_MAP, MAP, { signal: stop.signal }),
    ),
  );
  await clock.advance(0);
  stop.abort(new Error("stopped"));
  await clock.advance(10_000);
  await all;
  expect(state.asked).toHaveLength(200);
});
