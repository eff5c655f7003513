import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { EndpointSlice } from "../../api/builtin.ts";
import type { ServiceImport } from "../../api/mcs.ts";
import { readExport, readImport, readServiceShare, readSlice, sumEndpoints } from "./facts.ts";

const head = { apiVersion: "v1", kind: "X" };

function aSlice(addresses: readonly string[], labels: Record<string, string>): EndpointSlice {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { namespace: "shop", name: "s", labels },
    addressType: "IPv4",
    endpoints: addresses.map((address) => ({ addresses: [address] })),
    ports: [],
  };
}

const OWN = { "kubernetes.io/service-name": "web" };
const TAKEN = {
  "kubernetes.io/service-name": "derived-1",
  "multicluster.kubernetes.io/service-name": "web",
  "multicluster.kubernetes.io/source-cluster": "east",
};

test("a slice is its own Service's, or of the service and the source that it was imported from", () => {
  expect(readSlice(aSlice(["10.0.0.1"], OWN), 0)).toMatchObject({
    service: "shop/web",
    source: undefined,
    ready: 1,
  });
  expect(readSlice(aSlice([], TAKEN), 0)).toMatchObject({
    service: "shop/web",
    source: "east",
    total: 0,
  });
  expect(readSlice(aSlice([], {}), 0)).toBeUndefined();
});

test("a slice without endpoints may come with null", () => {
  const slice = { ...aSlice([], OWN), endpoints: null } as unknown as EndpointSlice;
  expect(readSlice(slice, 0)).toMatchObject({ ready: 0, total: 0 });
});

test("unknown readiness is ready, as everybody reads it", () => {
  const endpoints = [
    { addresses: ["10.0.0.1"], conditions: { ready: false } },
    { addresses: ["10.0.0.2"], conditions: {} },
    { addresses: ["10.0.0.3"] },
  ];
  expect(readSlice({ ...aSlice([], OWN), endpoints }, 0)).toMatchObject({ ready: 2, total: 3 });
});

test("sets of ready addresses are told apart, in whatever order and slices they come", () => {
  const addresses = fc.uniqueArray(fc.ipV4(), { maxLength: 20 });
  const sumOf = (...slices: readonly (readonly string[])[]) =>
    sumEndpoints(slices.flatMap((all) => readSlice(aSlice(all, OWN), 0) ?? []));
  fc.assert(
    fc.property(addresses, fc.nat(20), (all, cut) => {
      expect(sumOf(all.slice(cut), all.slice(0, cut))).toEqual(sumOf(all.toReversed()));
    }),
  );
  fc.assert(
    fc.property(addresses, fc.ipV4(), (all, other) => {
      fc.pre(!all.includes(other));
      expect(sumOf([...all, other])).not.toEqual(sumOf(all));
    }),
  );
});

test("when something was last written is told by who wrote it, or is now where a watch tells of it", () => {
  const told = (managedFields?: ServiceImport["metadata"]["managedFields"]) =>
    readImport({ ...head, metadata: { name: "web", ...(managedFields && { managedFields }) } }, 77)
      .writtenAtMs;
  const at = (manager: string, time: string) => ({ manager, operation: "Apply" as const, time });
  expect(told()).toBe(77);
  expect(told([at("kubectl", "2026-01-01T00:00:09Z")])).toBeUndefined();
  expect(told([at("isthmus", "1970-01-01T00:00:01Z"), at("isthmus", "1970-01-01T00:00:03Z")])).toBe(
    3_000,
  );
});

test("an export is what its conditions say; one that nobody has judged has no problem", () => {
  const time = { lastTransitionTime: "", reason: "R" };
  const judged = (conditions: { type: string; status: "True" | "False"; message: string }[]) =>
    readExport({
      ...head,
      metadata: { name: "web" },
      status: { conditions: conditions.map((one) => ({ ...one, ...time })) },
    });
  expect(readExport({ ...head, metadata: { name: "web" } })).toEqual({
    problem: undefined,
    conflicts: [],
  });
  expect(judged([{ type: "Valid", status: "False", message: "No Service." }]).problem).toBe(
    "No Service.",
  );
  expect(judged([{ type: "Conflict", status: "True", message: "A.\nB." }]).conflicts).toEqual([
    "A.",
    "B.",
  ]);
  expect(judged([{ type: "Conflict", status: "False", message: "None." }]).conflicts).toEqual([]);
});

test("what a hub holds is taken for a share only if it can be one", () => {
  const spec = {
    exportedAt: "2026-01-01T00:00:00Z",
    type: "Headless",
    ports: [],
    ipFamilies: ["IPv4"],
  };
  const share = (namespace: string, name: string, of: unknown = spec) =>
    readServiceShare({ ...head, metadata: { namespace, name }, spec: of as never });
  expect(share("isthmus-member-east", "shop.web")).toMatchObject({
    cluster: "east",
    service: "shop/web",
    type: "Headless",
  });
  for (const wrong of [
    share("shop", "shop.web"),
    share("isthmus-member-east", "web"),
    share("isthmus-member-east", "shop.web", { type: 7 }),
  ]) {
    expect(wrong).toBeUndefined();
  }
});
