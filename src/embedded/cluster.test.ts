// What a real server cannot be asked: determinism, compaction, virtual time, bounds.

import { describe, expect, test } from "vitest";
import { namesOf, TestCluster } from "../../test/embedded.ts";
import { Disconnected } from "./fault.ts";
import type { JsonObject } from "./types.ts";

const MAPS = "/api/v1/namespaces/default/configmaps";

function aMap(name: string, data: Record<string, string> = {}): { [key: string]: never } {
  return { metadata: { name }, data } as never;
}

/** Everything a cluster can draw lots for. */
async function story(seed: number): Promise<string> {
  const test = new TestCluster({ seed });
  const watch = test.watch("/api/v1/services?watch=1");
  test.must("POST", "/api/v1/namespaces", { metadata: { generateName: "ns-" } });
  test.must("POST", "/api/v1/namespaces/default/services", {
    metadata: { name: "a" },
    spec: { type: "NodePort", selector: { app: "a" }, ports: [{ port: 80 }] },
  });
  await test.settle();
  const state = ["namespaces", "services", "serviceaccounts"].map((plural) =>
    test.must("GET", `/api/v1/${plural}`),
  );
  const slices = test.must("GET", "/apis/discovery.k8s.io/v1/endpointslices");
  return JSON.stringify([state, slices, watch.events]);
}

describe("chance and time", () => {
  test("the same seed tells the same story, to the last uid and address", async () => {
    expect(await story(7)).toBe(await story(7));
  });

  test("another seed tells another story", async () => {
    expect(await story(7)).not.toBe(await story(8));
  });

  test("timestamps come from the injected clock, in whole seconds", async () => {
    const test = new TestCluster();
    await test.clock.advance(1500);
    const { metadata } = test.must("POST", MAPS, aMap("a"));
    expect(metadata.creationTimestamp).toBe("2026-01-01T00:00:01Z");
  });

  test("controllers never run inside a request", async () => {
    const test = new TestCluster();
    await test.settle();
    test.must("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
    const accounts = "/api/v1/namespaces/n/serviceaccounts";
    expect(namesOf(test.call("GET", accounts))).toEqual([]);
    expect(test.cluster.idle()).toBe(false);
    await test.settle();
    expect(namesOf(test.call("GET", accounts))).toEqual(["default"]);
  });

  test("a stopped cluster leaves no timer behind and answers no more", async () => {
    const test = new TestCluster();
    const watch = test.watch(`${MAPS}?watch=1&allowWatchBookmarks=true`);
    test.must("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
    test.cluster.stop();
    expect(test.clock.pendingTimers).toBe(0);
    expect(watch.end).toEqual({ clean: false });
    await expect(
      test.cluster.request({ method: "GET", path: MAPS, query: new URLSearchParams() }),
    ).rejects.toThrow(Disconnected);
  });

  test("a pod on a node is gone when its grace period is over", async () => {
    const test = new TestCluster();
    const pods = "/api/v1/namespaces/default/pods";
    const spec = {
      nodeName: "n",
      terminationGracePeriodSeconds: 5,
      containers: [{ name: "c", image: "i" }],
    };
    test.must("POST", pods, { metadata: { name: "p" }, spec });
    test.must("DELETE", `${pods}/p`);
    await test.clock.advance(4900);
    expect(test.call("GET", `${pods}/p`).status).toBe(200);
    await test.clock.advance(200);
    expect(test.call("GET", `${pods}/p`).status).toBe(404);
  });
});

describe("watches on virtual time", () => {
  test("a bookmark comes about every minute and once more at the end", async () => {
    const test = new TestCluster();
    const watch = test.watch(`${MAPS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=150`);
    await test.clock.advance(150_000);
    expect(watch.events.map(({ type }) => type)).toEqual(["BOOKMARK", "BOOKMARK", "BOOKMARK"]);
    expect(watch.end).toEqual({ clean: true });
  });

  test("without being asked for no bookmark comes", async () => {
    const test = new TestCluster();
    const watch = test.watch(`${MAPS}?watch=1&timeoutSeconds=150`);
    await test.clock.advance(150_000);
    expect(watch.events).toEqual([]);
    expect(watch.end).toEqual({ clean: true });
  });

  test("a version in the future stays silent until it is reached", () => {
    const test = new TestCluster();
    const future = test.cluster.revision + 1;
    const watch = test.watch(`${MAPS}?watch=1&resourceVersion=${future}`);
    test.must("POST", MAPS, aMap("a"));
    test.must("POST", MAPS, aMap("b"));
    expect(watch.events.map(({ object }) => object["metadata"])).toMatchObject([{ name: "b" }]);
  });

  test("a write from inside a callback is delivered after the event that caused it", () => {
    const test = new TestCluster();
    const answer = test.cluster.handle({
      method: "GET",
      path: MAPS,
      query: new URLSearchParams({ watch: "1" }),
    });
    if (answer.kind !== "watch") throw new Error("not a watch");
    const seen: string[] = [];
    const stream = answer.start(
      ({ object }) => {
        const { name } = object["metadata"] as { readonly name: string };
        if (name === "a") test.must("POST", MAPS, aMap("b"));
        seen.push(name);
      },
      () => {},
    );
    test.must("POST", MAPS, aMap("a"));
    stream.stop();
    expect(seen).toEqual(["a", "b"]);
  });

  test("a consumer that throws loses its own stream and nobody else's", () => {
    const test = new TestCluster();
    const answer = test.cluster.handle({
      method: "GET",
      path: MAPS,
      query: new URLSearchParams({ watch: "1" }),
    });
    if (answer.kind !== "watch") throw new Error("not a watch");
    const ends: boolean[] = [];
    answer.start(
      () => {
        throw new Error("mine");
      },
      ({ clean }) => ends.push(clean),
    );
    const other = test.watch(`${MAPS}?watch=1`);
    test.must("POST", MAPS, aMap("a"));
    expect(ends).toEqual([false]);
    expect(other.events).toHaveLength(1);
  });
});

describe("history", () => {
  test("after compaction an older version is answered with an ERROR event of code 410", () => {
    const test = new TestCluster();
    const { metadata } = test.must("POST", MAPS, aMap("a"));
    test.must("POST", MAPS, aMap("b"));
    test.cluster.compact();
    const watch = test.watch(`${MAPS}?watch=1&resourceVersion=${metadata.resourceVersion}`);
    expect(watch.events).toMatchObject([{ type: "ERROR", object: { code: 410 } }]);
    expect(watch.end).toEqual({ clean: true });
  });

  test("the newest version survives compaction", () => {
    const test = new TestCluster();
    const { metadata } = test.must("POST", MAPS, aMap("a"));
    test.cluster.compact();
    const watch = test.watch(`${MAPS}?watch=1&resourceVersion=${metadata.resourceVersion}`);
    test.must("POST", MAPS, aMap("b"));
    expect(watch.events).toMatchObject([{ type: "ADDED" }]);
  });

  test("pages of one list show one state, whatever is written meanwhile", () => {
    const test = new TestCluster();
    for (const name of ["a", "b", "c", "d"]) test.must("POST", MAPS, aMap(name));
    const first = test.must("GET", `${MAPS}?limit=2`);
    test.must("DELETE", `${MAPS}/c`);
    test.must("POST", MAPS, aMap("bb"));
    const token = (first.metadata as { readonly continue?: string }).continue;
    expect(namesOf(test.call("GET", `${MAPS}?limit=2&continue=${token}`))).toEqual(["c", "d"]);
  });

  test("a page of a compacted state is refused with 410 and a token to go on without consistency", () => {
    const test = new TestCluster();
    for (const name of ["a", "b", "c", "d"]) test.must("POST", MAPS, aMap(name));
    const first = test.must("GET", `${MAPS}?limit=2`);
    test.must("DELETE", `${MAPS}/c`);
    test.cluster.compact();
    const token = (first.metadata as { readonly continue?: string }).continue;
    const refused = test.call("GET", `${MAPS}?limit=2&continue=${token}`);
    expect(refused.status).toBe(410);
    expect(refused.body).toMatchObject({ reason: "Expired" });
    const { continue: onward } = refused.body["metadata"] as { readonly continue: string };
    expect(namesOf(test.call("GET", `${MAPS}?limit=2&continue=${onward}`))).toEqual(["d"]);
  });

  test("an exact version of the past is listed as it was", () => {
    const test = new TestCluster();
    test.must("POST", MAPS, aMap("a", { v: "1" }));
    const { metadata } = test.must("POST", MAPS, aMap("b"));
    test.must("PUT", `${MAPS}/a`, aMap("a", { v: "2" }));
    test.must("POST", MAPS, aMap("c"));
    const then = `resourceVersion=${metadata.resourceVersion}&resourceVersionMatch=Exact`;
    const list = test.call("GET", `${MAPS}?${then}`);
    expect(namesOf(list)).toEqual(["a", "b"]);
    expect(list.body["items"]).toMatchObject([{ data: { v: "1" } }, {}]);
  });

  test("only so much of it is kept", () => {
    const test = new TestCluster({ historyLimit: 8 });
    const start = test.cluster.revision;
    for (let n = 0; n < 50; n++) test.must("POST", MAPS, aMap(`m${n}`));
    const old = test.watch(`${MAPS}?watch=1&resourceVersion=${start}`);
    expect(old.events).toMatchObject([{ type: "ERROR", object: { code: 410 } }]);
    const recent = test.watch(`${MAPS}?watch=1&resourceVersion=${test.cluster.revision - 8}`);
    expect(recent.events).toHaveLength(8);
  });
});

describe("bounds", () => {
  test("more watches than the limit are refused with 429 until one ends", () => {
    const test = new TestCluster({ watchLimit: 2 });
    test.watch(`${MAPS}?watch=1`);
    const second = test.watch(`${MAPS}?watch=1`);
    expect(test.call("GET", `${MAPS}?watch=1`).status).toBe(429);
    second.stop();
    expect(test.watch(`${MAPS}?watch=1`).end).toBeUndefined();
  });

  test("a body above three MiB is refused with 413", () => {
    const test = new TestCluster();
    const data = { big: "x".repeat(3 * 1024 * 1024) };
    expect(test.call("POST", MAPS, aMap("a", data)).status).toBe(413);
  });

  test("a full Service range is said so, and a deleted Service gives its address back", () => {
    const test = new TestCluster({ serviceCidrs: ["10.0.0.0/29"] });
    const services = "/api/v1/namespaces/default/services";
    const spec = { ports: [{ port: 80 }] };
    // Six usable addresses, one of them the API server's own.
    for (let n = 0; n < 5; n++) test.must("POST", services, { metadata: { name: `s${n}` }, spec });
    expect(test.call("POST", services, { metadata: { name: "more" }, spec }).status).toBe(500);
    test.must("DELETE", `${services}/s0`);
    expect(test.call("POST", services, { metadata: { name: "more" }, spec }).status).toBe(201);
  });

  test("what storage hands out cannot be altered", () => {
    const test = new TestCluster();
    const object = test.must("POST", MAPS, aMap("a", { k: "v" }));
    expect(() => {
      (object["data"] as Record<string, string>)["k"] = "changed";
    }).toThrow(TypeError);
  });
});

describe("garbage", () => {
  test("an owner in another namespace does not count: the dependent goes", async () => {
    const test = new TestCluster();
    test.must("POST", "/api/v1/namespaces", { metadata: { name: "far" } });
    const owner = test.must("POST", "/api/v1/namespaces/far/configmaps", aMap("owner"));
    const ownerReferences = [
      { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: owner.metadata.uid ?? "" },
    ];
    test.must("POST", MAPS, { metadata: { name: "a", ownerReferences } });
    await test.settle();
    expect(test.call("GET", `${MAPS}/a`).status).toBe(404);
  });

  test("a chain in the foreground ends from the leaves up", async () => {
    const test = new TestCluster();
    const owned = (
      name: string,
      owner: { readonly metadata: { readonly uid?: string } },
      of: string,
    ) =>
      ({
        metadata: {
          name,
          ownerReferences: [
            {
              apiVersion: "v1",
              kind: "ConfigMap",
              name: of,
              uid: owner.metadata.uid ?? "",
              blockOwnerDeletion: true,
            },
          ],
        },
      }) as const;
    const root = test.must("POST", MAPS, aMap("root"));
    const middle = test.must("POST", MAPS, owned("middle", root, "root"));
    test.must("POST", MAPS, owned("leaf", middle, "middle"));
    await test.settle();
    const watch = test.watch(`${MAPS}?watch=1&resourceVersion=${test.cluster.revision}`);
    test.must("DELETE", `${MAPS}/root?propagationPolicy=Foreground`);
    await test.settle();
    const gone = watch.events
      .filter(({ type }) => type === "DELETED")
      .map(({ object }) => (object["metadata"] as { readonly name: string }).name);
    expect(gone).toEqual(["leaf", "middle", "root"]);
  });
});

test("a CRD with CEL rules is taken with a warning that they are ignored", () => {
  const test = new TestCluster();
  const warningsFor = (plural: string, rules: JsonObject) => {
    const openAPIV3Schema = {
      type: "object",
      properties: { spec: { type: "object", ...rules } },
    };
    const version = { served: true, storage: true, schema: { openAPIV3Schema } };
    const answer = test.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      metadata: { name: `${plural}.example.dev` },
      spec: {
        group: "example.dev",
        scope: "Cluster",
        names: { plural, kind: plural },
        versions: [{ name: "v1", ...version }],
      },
    });
    expect(answer.status).toBe(201);
    return answer.warnings;
  };
  expect(warningsFor("plain", {})).toBeUndefined();
  expect(warningsFor("ruled", { "x-kubernetes-validations": [{ rule: "true" }] })).toEqual([
    "the embedded server ignores x-kubernetes-validations of version v1",
  ]);
});
