// Looking at a cluster through a server that refuses, is silent, or has too much: the sighting says what is missing.

import { expect, test } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { SERVICE_IMPORT } from "../api/mcs.ts";
import type { KubeObject, Resource } from "../api/object.ts";
import { isBlind } from "../core/clusterset/sighting.ts";
import { type ListOptions, type ListPage, type Store, StoreError } from "../ports/store.ts";
import { sightCluster, sightHub } from "./sight.ts";

const { signal } = new AbortController();
const describe = (error: unknown): string => `said: ${(error as Error).message}`;

type Answer = (resource: Resource, options?: ListOptions) => Promise<ListPage<KubeObject>>;

/** Nothing of it can be got by name. */
function aStore(list: Answer, get: () => Promise<undefined> = async () => undefined): Store {
  const refuse = () => Promise.reject(new StoreError("MethodNotAllowed", "only reads"));
  return {
    get,
    list: list as Store["list"],
    watch: refuse,
    create: refuse,
    replace: refuse,
    apply: refuse,
    delete: refuse,
  };
}

const EMPTY: ListPage<KubeObject> = { items: [], resourceVersion: "1" };

function look(
  store: Store,
  fields: { namespace?: string; guess?: string; canNarrow?: boolean } = {},
) {
  const clock = new VirtualClock();
  return sightCluster({ store, clock, signal, describe, name: "east.yaml", ...fields });
}

test("a kind that may not be listed is unread, not absent, and the sentence says what to ask for", async () => {
  const store = aStore((resource) =>
    resource.plural === "endpointslices"
      ? Promise.reject(new StoreError("Forbidden", "no", { status: 403 }))
      : Promise.resolve(EMPTY),
  );
  const { sighting } = await look(store);
  expect(sighting.unread).toEqual(["slices"]);
  expect(isBlind(sighting)).toBe(false);
  expect(sighting.problems.join(" ")).toContain(
    "You may not list endpointslices of all namespaces. Name one with -n",
  );
  const scoped = await look(store, { namespace: "shop" });
  expect(scoped.sighting.problems.join(" ")).toContain('endpointslices in namespace "shop"');
});

test("a server that refuses every kind has answered, and who has no -n is not told to use it", async () => {
  const store = aStore(() => Promise.reject(new StoreError("Forbidden", "no", { status: 403 })));
  const { sighting } = await look(store, { canNarrow: false });
  expect(isBlind(sighting)).toBe(true);
  expect(sighting.isSilent).toBeUndefined();
  expect(sighting.problems).toContain(
    "You may not list services of all namespaces. Ask for the ClusterRole view.",
  );
});

test("a Secret of the hub that cannot be understood is said, not passed over", async () => {
  const secret = { apiVersion: "v1", kind: "Secret", metadata: {}, data: {} };
  const get = (resource: Resource) =>
    Promise.resolve(resource.kind === "Secret" ? secret : undefined);
  const store = { ...aStore(() => Promise.resolve(EMPTY)), get: get as Store["get"] };
  const { sighting, credential } = await look(store);
  expect(credential).toBeUndefined();
  expect(sighting.hubProblem).toContain("isthmus-system/isthmus-hub names no cluster.");
  expect(sighting.problems.join(" ")).toContain("isthmus-system/isthmus-hub names no cluster.");
});

test("a cluster without the definitions is one that exports nothing, and is told how to get them", async () => {
  const store = aStore((resource) =>
    resource.group === "multicluster.x-k8s.io"
      ? Promise.reject(new StoreError("NotFound", "no such kind", { status: 404 }))
      : Promise.resolve(EMPTY),
  );
  const { sighting } = await look(store);
  expect(sighting.unread).toEqual([]);
  expect(sighting.problems.join(" ")).toContain("The cluster does not know ServiceImports.");
});

test("a server that fails in the middle makes the sighting blind, in the caller's words", async () => {
  const store = aStore(() => Promise.reject(new StoreError("Unavailable", "etcd is away")));
  const { sighting } = await look(store);
  expect(isBlind(sighting)).toBe(true);
  expect(sighting.isSilent).toBe(true);
  expect(sighting.problems).toEqual(["said: etcd is away"]);
});

test("a server that never answers holds up nobody for longer than the bound", async () => {
  const clock = new VirtualClock();
  const store = aStore(
    () => Promise.resolve(EMPTY),
    () => new Promise(() => undefined),
  );
  const looking = sightCluster({ store, clock, signal, describe, name: "e", boundMs: 3_000 });
  await clock.advance(3_001);
  const { sighting } = await looking;
  expect(isBlind(sighting)).toBe(true);
  expect(sighting.problems[0]).toContain("no end after 3 s");
});

test("a hub that refuses is a sentence with nothing in it", async () => {
  const store = aStore(() => Promise.reject(new StoreError("Unauthorized", "who are you")));
  const credential = { cluster: "east" as never, server: "https://hub", claim: "" };
  const clock = new VirtualClock();
  const hub = await sightHub({ store, clock, signal, describe, credential, depth: "endpoints" });
  expect(hub).toMatchObject({ hasShares: false, members: [] });
  expect(hub.problem).toBe("The hub could not be asked: said: who are you");
});

test("lists come in pages, and only what belongs to exports and imports is kept", async () => {
  const pages: (string | undefined)[] = [];
  const service = (name: string): KubeObject => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: "shop", name },
  });
  const store = aStore((resource, options) => {
    if (resource.plural === "serviceexports") {
      return Promise.resolve({ ...EMPTY, items: [service("web")] });
    }
    if (resource.plural !== "services") return Promise.resolve(EMPTY);
    pages.push(options?.continue);
    return options?.continue === undefined
      ? Promise.resolve({ items: [service("web")], resourceVersion: "1", continue: "next" })
      : Promise.resolve({ ...EMPTY, items: [service("other"), service("derived-1")] });
  });
  const { sighting } = await look(store);
  expect(pages).toEqual([undefined, "next"]);
  expect(sighting.services.map(({ metadata }) => metadata.name)).toEqual(["web", "derived-1"]);
});

test("a slice without endpoints and ports, which the API shows as null, is read as one with none", async () => {
  const slice = {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace: "shop",
      name: "web-1",
      labels: { "multicluster.kubernetes.io/service-name": "web" },
    },
    addressType: "IPv4",
    endpoints: null,
    ports: null,
  };
  const store = aStore((resource) =>
    Promise.resolve(resource.plural === "endpointslices" ? { ...EMPTY, items: [slice] } : EMPTY),
  );
  const { sighting } = await look(store);
  expect(sighting.slices).toMatchObject([{ endpoints: [], ports: [] }]);
});

/** Fifty thousand of the kind, and more to come. */
function aStoreWithMore(plural: string): Store {
  const item = { apiVersion: "", kind: "", metadata: { namespace: "shop", name: "one" } };
  const page = { items: Array.from({ length: 50_000 }, () => item), resourceVersion: "1" };
  return aStore((resource) =>
    Promise.resolve(resource.plural === plural ? { ...page, continue: "next" } : EMPTY),
  );
}

test("a kind of which there is too much to be read counts as unread", async () => {
  const { sighting } = await look(aStoreWithMore("endpointslices"));
  expect(sighting.unread).toEqual(["slices"]);
  expect(sighting.problems.join(" ")).toContain("There are more than 50000 endpointslices");
});

test("a hub with more shares than are read is not taken for one with no others", async () => {
  const credential = { cluster: "east" as never, server: "https://hub", claim: "" };
  const ask = (store: Store) =>
    sightHub({
      store,
      clock: new VirtualClock(),
      signal,
      describe,
      credential,
      depth: "endpoints",
    });
  expect((await ask(aStoreWithMore("endpointshares"))).hasShares).toBe(false);
  expect((await ask(aStore(() => Promise.resolve(EMPTY)))).hasShares).toBe(true);
});

test("a cluster without an id is taken for what its context is called only if its imports know that name", async () => {
  const serviceImport = {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceImport",
    metadata: { namespace: "shop", name: "web" },
    status: { clusters: [{ cluster: "east" }] },
  };
  const store = aStore((resource) =>
    Promise.resolve(
      resource.plural === SERVICE_IMPORT.plural ? { ...EMPTY, items: [serviceImport] } : EMPTY,
    ),
  );
  const known = await look(store, { guess: "east" });
  expect(known.sighting.cluster).toBe("east");
  expect(known.sighting.problems[0]).toContain('taken for "east"');
  const other = await look(store, { guess: "admin-1" });
  expect(other.sighting.cluster).toBeUndefined();
  expect(other.sighting.problems[0]).toContain("Cluster east.yaml has no id.");
});
