// The store port on an embedded cluster: the same meaning as over HTTP, without sockets.

import { describe, expect, test } from "vitest";
import { TestCluster } from "../../test/embedded.ts";
import { CONFIG_MAP, type ConfigMap } from "../api/builtin.ts";
import { defineResource, type KubeObject } from "../api/object.ts";
import type { StoreError, WatchEvent } from "../ports/store.ts";

function aMap(name: string, data: Record<string, string> = {}): ConfigMap {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" }, data };
}

const WIDGET = defineResource<KubeObject>({
  apiVersion: "example.com/v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
});

async function codeOf(attempt: Promise<unknown>): Promise<string | undefined> {
  return attempt.then(
    () => undefined,
    (error: StoreError) => error.code,
  );
}

describe("objects", () => {
  test("that are not there are undefined, kinds that are not there are an error", async () => {
    const store = new TestCluster().cluster.store();
    expect(await store.get(CONFIG_MAP, { namespace: "default", name: "a" })).toBeUndefined();
    expect(await store.delete(CONFIG_MAP, { namespace: "default", name: "a" })).toBe(false);
    expect(await codeOf(store.get(WIDGET, { namespace: "default", name: "a" }))).toBe("NotFound");
  });

  test("come out frozen and go in as copies", async () => {
    const store = new TestCluster().cluster.store();
    const data = { k: "v" };
    const created = await store.create(CONFIG_MAP, aMap("a", data));
    data.k = "changed by the caller";
    expect(Object.isFrozen(created.data)).toBe(true);
    const read = await store.get(CONFIG_MAP, { namespace: "default", name: "a" });
    expect(read?.data).toEqual({ k: "v" });
    expect(read).toBe(await store.get(CONFIG_MAP, { namespace: "default", name: "a" }));
  });

  test("in lists carry their kind", async () => {
    const store = new TestCluster().cluster.store();
    await store.create(CONFIG_MAP, aMap("a"));
    const page = await store.list(CONFIG_MAP, { namespace: "default" });
    expect(page.items[0]).toMatchObject({ apiVersion: "v1", kind: "ConfigMap" });
  });

  test("that moved on refuse an old version with Conflict", async () => {
    const store = new TestCluster().cluster.store();
    const first = await store.create(CONFIG_MAP, aMap("a"));
    await store.replace(CONFIG_MAP, { ...first, data: { v: "2" } });
    expect(await codeOf(store.replace(CONFIG_MAP, { ...first, data: { v: "3" } }))).toBe(
      "Conflict",
    );
  });

  test("are applied by their manager, and the manager is not the user agent", async () => {
    const store = new TestCluster().cluster.store({ userAgent: "agent/1" });
    const applied = await store.apply(CONFIG_MAP, aMap("a", { k: "v" }), { fieldManager: "me" });
    expect(applied.metadata.managedFields).toMatchObject([{ manager: "me", operation: "Apply" }]);
    const created = await store.create(CONFIG_MAP, aMap("b", { k: "v" }));
    expect(created.metadata.managedFields).toMatchObject([{ manager: "agent" }]);
  });
});

describe("faults", () => {
  test.each([
    [429, "TooManyRequests"],
    [500, "Internal"],
    [503, "Unavailable"],
    [504, "Timeout"],
    [410, "Gone"],
  ])("with status %s become the code %s", async (status, code) => {
    const test = new TestCluster();
    test.cluster.faults.add({ fail: { status } });
    expect(await codeOf(test.cluster.store().create(CONFIG_MAP, aMap("a")))).toBe(code);
  });

  test("that break the connection become Unreachable", async () => {
    const test = new TestCluster();
    test.cluster.faults.add({ disconnect: true });
    expect(await codeOf(test.cluster.store().create(CONFIG_MAP, aMap("a")))).toBe("Unreachable");
  });

  test("reach only the user agent they name", async () => {
    const test = new TestCluster();
    test.cluster.faults.add({ match: { userAgent: "east" }, fail: { status: 503 } });
    const east = test.cluster.store({ userAgent: "east" });
    const west = test.cluster.store({ userAgent: "west" });
    expect(await codeOf(east.list(CONFIG_MAP))).toBe("Unavailable");
    expect(await codeOf(west.list(CONFIG_MAP))).toBeUndefined();
  });

  test("that delay a request do not outlast its signal", async () => {
    const test = new TestCluster();
    test.cluster.faults.add({ delayMs: 1000 });
    const abort = new AbortController();
    const attempt = test.cluster.store().list(CONFIG_MAP, { signal: abort.signal });
    abort.abort(new Error("enough"));
    await expect(attempt).rejects.toThrow("enough");
  });
});

describe("a watch", () => {
  async function follow(
    test: TestCluster,
    onEvent: (event: WatchEvent<ConfigMap>) => void,
    options: { readonly resourceVersion?: string; readonly signal?: AbortSignal } = {},
  ): Promise<{ readonly done: Promise<void> }> {
    const store = test.cluster.store();
    const { resourceVersion } = await store.list(CONFIG_MAP, { namespace: "default" });
    return new Promise((resolve) => {
      const done: Promise<void> = store.watch(
        CONFIG_MAP,
        {
          namespace: "default",
          resourceVersion,
          timeoutSeconds: 60,
          ...options,
          onOpen: () => resolve({ done }),
        },
        onEvent,
      );
    });
  }

  test("tells what happens, ends with a bookmark when its time is over, and resolves", async () => {
    const test = new TestCluster();
    const events: string[] = [];
    const { done } = await follow(test, (event) => events.push(event.type));
    await test.cluster.store().create(CONFIG_MAP, aMap("a"));
    await test.cluster.store().delete(CONFIG_MAP, { namespace: "default", name: "a" });
    await test.clock.advance(60_000);
    await done;
    expect(events.filter((type) => type !== "BOOKMARK")).toEqual(["ADDED", "DELETED"]);
    expect(events.at(-1)).toBe("BOOKMARK");
  });

  test("that is cut rejects as Unreachable", async () => {
    const test = new TestCluster();
    const { done } = await follow(test, () => {});
    test.cluster.faults.add({ match: { verb: "watch" }, dropWatches: true });
    expect(await codeOf(done)).toBe("Unreachable");
  });

  test("that starts too far back rejects as Gone", async () => {
    const test = new TestCluster();
    const { resourceVersion } = await test.cluster.store().list(CONFIG_MAP);
    await test.cluster.store().create(CONFIG_MAP, aMap("a"));
    test.cluster.compact();
    const { done } = await follow(test, () => {}, { resourceVersion });
    expect(await codeOf(done)).toBe("Gone");
  });

  test("that is aborted resolves and tells no more", async () => {
    const test = new TestCluster();
    const abort = new AbortController();
    const events: string[] = [];
    const { done } = await follow(test, (event) => events.push(event.type), {
      signal: abort.signal,
    });
    abort.abort();
    await done;
    await test.cluster.store().create(CONFIG_MAP, aMap("a"));
    expect(events).toEqual([]);
    await test.settle();
    expect(test.clock.pendingTimers).toBe(0);
  });

  test("whose callback throws rejects with what it threw", async () => {
    const test = new TestCluster();
    const { done } = await follow(test, () => {
      throw new Error("mine");
    });
    const outcome = done.then(
      () => "resolved",
      (error: Error) => error.message,
    );
    await test.cluster.store().create(CONFIG_MAP, aMap("a"));
    expect(await outcome).toBe("mine");
  });
});
