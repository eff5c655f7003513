// Faults: each does what it says to the requests it names, and to no others.

import { describe, expect, test } from "vitest";
import { TestCluster } from "../../test/embedded.ts";
import { Disconnected } from "./fault.ts";
import type { ObjectAnswer } from "./types.ts";

const MAPS = "/api/v1/namespaces/default/configmaps";

function ask(
  test: TestCluster,
  method: "GET" | "POST" | "DELETE",
  path: string,
  options: { readonly body?: never; readonly userAgent?: string } = {},
): Promise<ObjectAnswer> {
  const url = new URL(path, "http://x");
  const request = { method, path: url.pathname, query: url.searchParams, ...options };
  return test.cluster.request(request) as Promise<ObjectAnswer>;
}

function post(test: TestCluster, name: string, userAgent = "test"): Promise<ObjectAnswer> {
  return ask(test, "POST", MAPS, { body: { metadata: { name } } as never, userAgent });
}

describe("a failing rule", () => {
  test("answers with its status, reason and Retry-After, and does not do the work", async () => {
    const test = new TestCluster();
    const fault = test.cluster.faults.add({
      match: { verb: "create", resource: "configmaps" },
      fail: { status: 429, retryAfterSeconds: 3 },
    });
    const answer = await post(test, "a");
    expect(answer).toMatchObject({ status: 429, retryAfterSeconds: 3 });
    expect(answer.body).toMatchObject({ kind: "Status", reason: "TooManyRequests" });
    expect(test.call("GET", `${MAPS}/a`).status).toBe(404);
    expect(fault.hits).toBe(1);
  });

  test("ends after so many times, or when it is removed", async () => {
    const test = new TestCluster();
    const twice = test.cluster.faults.add({ times: 2, fail: { status: 500 } });
    const statuses = [];
    for (const name of ["a", "b", "c"]) statuses.push((await post(test, name)).status);
    expect(statuses).toEqual([500, 500, 201]);
    expect(twice.hits).toBe(2);
    const always = test.cluster.faults.add({ fail: { status: 503 } });
    expect((await post(test, "d")).status).toBe(503);
    always.remove();
    expect((await post(test, "d")).status).toBe(201);
  });

  test.each([
    ["verb", { verb: "delete" }],
    ["resource", { resource: "secrets" }],
    ["group", { group: "discovery.k8s.io" }],
    ["namespace", { namespace: "other" }],
    ["name", { name: "b" }],
    ["user agent", { userAgent: "someone" }],
    ["predicate", { where: () => false }],
  ] as const)("leaves requests of another %s alone", async (_what, match) => {
    const test = new TestCluster();
    const fault = test.cluster.faults.add({ match, fail: { status: 500 } });
    expect((await post(test, "a")).status).toBe(201);
    expect(fault.hits).toBe(0);
  });

  test("after the write leaves the write in place", async () => {
    const test = new TestCluster();
    test.cluster.faults.add({ afterWrite: true, times: 1, fail: { status: 504 } });
    expect((await post(test, "a")).status).toBe(504);
    expect(test.call("GET", `${MAPS}/a`).status).toBe(200);
  });
});

test("a disconnect rejects, with or without the write", async () => {
  const test = new TestCluster();
  test.cluster.faults.add({ match: { userAgent: "early" }, disconnect: true });
  test.cluster.faults.add({ match: { userAgent: "late" }, disconnect: true, afterWrite: true });
  await expect(post(test, "a", "early")).rejects.toThrow(Disconnected);
  await expect(post(test, "b", "late")).rejects.toThrow(Disconnected);
  expect(test.call("GET", `${MAPS}/a`).status).toBe(404);
  expect(test.call("GET", `${MAPS}/b`).status).toBe(200);
});

test("a delay holds the request back on the injected clock", async () => {
  const test = new TestCluster();
  test.cluster.faults.add({ delayMs: 500 });
  let status: number | undefined;
  const pending = post(test, "a").then((answer) => {
    status = answer.status;
    return answer;
  });
  await test.clock.advance(499);
  expect(status).toBeUndefined();
  expect(test.cluster.idle()).toBe(false);
  await test.clock.advance(1);
  await pending;
  expect(status).toBe(201);
});

test("stale reads answer gets and lists as of some revisions ago", async () => {
  const test = new TestCluster();
  test.must("POST", MAPS, { metadata: { name: "a" }, data: { v: "1" } });
  test.must("PUT", `${MAPS}/a`, { metadata: { name: "a" }, data: { v: "2" } });
  test.must("POST", MAPS, { metadata: { name: "b" } });
  const now = test.cluster.revision;
  test.cluster.faults.add({ staleRevisions: 2 });
  expect((await ask(test, "GET", `${MAPS}/a`)).body).toMatchObject({ data: { v: "1" } });
  expect((await ask(test, "GET", `${MAPS}/b`)).status).toBe(404);
  const list = await ask(test, "GET", MAPS);
  expect(list.body).toMatchObject({
    metadata: { resourceVersion: `${now - 2}` },
    items: [{ data: { v: "1" } }],
  });
});

describe("watches", () => {
  test("that match are cut when the rule is added, and new ones are refused while it fails them", async () => {
    const test = new TestCluster();
    const maps = test.watch(`${MAPS}?watch=1`);
    const secrets = test.watch("/api/v1/secrets?watch=1");
    const fault = test.cluster.faults.add({
      match: { verb: "watch", resource: "configmaps" },
      dropWatches: true,
      fail: { status: 503 },
    });
    expect(maps.end).toEqual({ clean: false });
    expect(secrets.end).toBeUndefined();
    expect((await ask(test, "GET", `${MAPS}?watch=1`)).status).toBe(503);
    expect(fault.hits).toBe(2);
  });

  test("with a delivery delay get every event, late and in order, and then catch up", async () => {
    const test = new TestCluster();
    const watch = test.watch(`${MAPS}?watch=1`);
    const names = (): unknown[] =>
      watch.events.map(({ object }) => (object["metadata"] as { readonly name: string }).name);
    const fault = test.cluster.faults.add({ match: { verb: "watch" }, watchDelayMs: 100 });
    test.must("POST", MAPS, { metadata: { name: "a" } });
    await test.clock.advance(50);
    fault.remove();
    // No longer delayed itself, but it may not overtake.
    test.must("POST", MAPS, { metadata: { name: "b" } });
    expect(names()).toEqual([]);
    expect(test.cluster.idle()).toBe(false);
    await test.clock.advance(50);
    expect(names()).toEqual(["a", "b"]);
    test.must("POST", MAPS, { metadata: { name: "c" } });
    expect(names()).toEqual(["a", "b", "c"]);
  });

  test("that fall too far behind are cut", () => {
    const test = new TestCluster({ historyLimit: 4 });
    const watch = test.watch(`${MAPS}?watch=1`);
    test.cluster.faults.add({ watchDelayMs: 1000 });
    for (let n = 0; n < 6; n++) test.must("POST", MAPS, { metadata: { name: `m${n}` } });
    expect(watch.end).toEqual({ clean: false });
  });
});
