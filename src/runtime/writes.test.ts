import { expect, test } from "vitest";
import { SERVICE } from "../api/builtin.ts";
import { type Store, StoreError } from "../ports/store.ts";
import { countWrites } from "./writes.ts";

const WEB = { apiVersion: "v1", kind: "Service", metadata: { namespace: "shop", name: "web" } };

function aStore(answer: () => Promise<unknown>): Store {
  return { create: answer, replace: answer, apply: answer, delete: answer } as unknown as Store;
}

async function resultsOf(answer: () => Promise<unknown>, signal?: AbortSignal) {
  const { store, writes } = countWrites(aStore(answer));
  const options = { fieldManager: "m", ...(signal === undefined ? {} : { signal }) };
  await store.apply(SERVICE, WEB, options).catch(() => undefined);
  return writes();
}

test("counts are there at zero for what is usually written", () => {
  const { writes } = countWrites(
    aStore(() => Promise.resolve()),
    [[SERVICE, "apply"]],
  );
  expect(writes()).toEqual(
    ["done", "refused", "failed"].map((result) => ({
      kind: "Service",
      verb: "apply",
      result,
      count: 0,
    })),
  );
});

test("a write counts by its kind, its verb and how it ended", async () => {
  const count = { kind: "Service", verb: "apply", count: 1 };
  const refusal = new StoreError("Invalid", "no");
  expect(await resultsOf(() => Promise.resolve(WEB))).toEqual([{ ...count, result: "done" }]);
  expect(await resultsOf(() => Promise.reject(refusal))).toEqual([{ ...count, result: "refused" }]);
  for (const code of ["Unreachable", "Timeout", "Internal", "TooManyRequests"] as const) {
    const failure = new StoreError(code, "no");
    expect(await resultsOf(() => Promise.reject(failure))).toEqual([
      { ...count, result: "failed" },
    ]);
  }
});

test("neither a dry run nor one that was called off is a write", async () => {
  const { store, writes } = countWrites(aStore(() => Promise.resolve(WEB)));
  await store.create(SERVICE, WEB, { dryRun: true });
  expect(writes()).toEqual([]);
  const reason = new Error("stopped");
  const answer = () => Promise.reject(reason);
  expect(await resultsOf(answer, AbortSignal.abort(reason))).toEqual([]);
});

test("hands on the very answer of the store", () => {
  const answer = Promise.resolve(WEB);
  const { store } = countWrites(aStore(() => answer));
  expect(store.apply(SERVICE, WEB, { fieldManager: "m" })).toBe(answer);
});
