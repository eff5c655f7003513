import { expect, test } from "vitest";
import { aSlice } from "../../test/kubeObjects.ts";
import { id, WEB } from "../../test/shares.ts";
import { planEndpointShares } from "./endpoints.ts";

const source = { cluster: id("east"), service: WEB };

test("R49: addresses, conditions, hostname and zone are shared", () => {
  const endpoint = {
    addresses: ["10.0.0.1"],
    conditions: { ready: false, serving: true, terminating: true },
    hostname: "web-0",
    zone: "east-1a",
  };
  expect(planEndpointShares(source, [aSlice([endpoint])])).toEqual([
    {
      ...source,
      slice: "web-1",
      addressType: "IPv4",
      ports: [{ name: "http", protocol: "TCP", port: 8080 }],
      endpoints: [endpoint],
    },
  ]);
});

test("R39: conditions are shared as they are, also ready without serving as publishNotReadyAddresses makes them", () => {
  const endpoint = {
    addresses: ["10.0.0.1"],
    conditions: { ready: true, serving: false, terminating: false },
  };
  const [share] = planEndpointShares(source, [aSlice([endpoint])]);
  expect(share?.endpoints).toEqual([endpoint]);
});

test("R56: the 1,000 endpoints that a slice can hold are one share", () => {
  const endpoints = [...Array(1000).keys()].map((at) => ({
    addresses: [`10.0.${at >> 8}.${at & 255}`],
  }));
  const shares = planEndpointShares(source, [aSlice(endpoints)]);
  expect(shares.map((share) => share.endpoints)).toEqual([endpoints]);
});

test("R50: references to pods and hints are not shared", () => {
  const [share] = planEndpointShares(source, [
    aSlice([
      {
        addresses: ["10.0.0.1"],
        targetRef: { kind: "Pod", name: "web-0" },
        hints: { forZones: [{ name: "east-1a" }] },
      },
    ]),
  ]);
  expect(share?.endpoints).toEqual([{ addresses: ["10.0.0.1"] }]);
});

test("R49: each family is its own share, in an order that does not depend on the cache", () => {
  const four = aSlice([{ addresses: ["10.0.0.1"] }]);
  const six = aSlice([{ addresses: ["fd00::1"] }], {
    addressType: "IPv6",
    metadata: { namespace: "shop", name: "web-0" },
  });
  for (const slices of [
    [four, six],
    [six, four],
  ]) {
    expect(planEndpointShares(source, slices).map(({ addressType }) => addressType)).toEqual([
      "IPv6",
      "IPv4",
    ]);
  }
});

test("R54: slices without endpoints are not shared", () => {
  expect(planEndpointShares(source, [aSlice([])])).toEqual([]);
});

test("names instead of addresses are not shared", () => {
  const slice = aSlice([{ addresses: ["web.example.com"] }], { addressType: "FQDN" });
  expect(planEndpointShares(source, [slice])).toEqual([]);
});

test("a slice that is being deleted is not shared", () => {
  const metadata = { namespace: "shop", name: "web-1", deletionTimestamp: "2026-01-01T00:00:00Z" };
  expect(planEndpointShares(source, [aSlice([{ addresses: ["10.0.0.1"] }], { metadata })])).toEqual(
    [],
  );
});

test("R49: a Service without ports has slices without ports, whichever way the server says so", () => {
  const { ports: _, ...bare } = aSlice([{ addresses: ["10.0.0.1"] }]);
  const nothing = { ...bare, ports: null } as unknown as typeof bare;
  for (const slice of [bare, nothing]) {
    expect(planEndpointShares(source, [slice])[0]?.ports).toEqual([]);
  }
});
