import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Endpoint, EndpointSlice } from "../api/builtin.ts";
import {
  KUBE_SERVICE_NAME_LABEL,
  MANAGED_BY_LABEL,
  SERVICE_NAME_LABEL,
  SLICE_MANAGER,
} from "../api/names.ts";
import { planEndpointShares } from "../core/endpoints.ts";
import { id, WEB } from "../../test/shares.ts";
import { packSlice, unpackSlice } from "./packed.ts";

const IMPORTED = { [SERVICE_NAME_LABEL]: "web", [MANAGED_BY_LABEL]: SLICE_MANAGER };
const SOURCE = { [KUBE_SERVICE_NAME_LABEL]: "web" };

function aSlice(
  labels: Readonly<Record<string, string>>,
  endpoints: readonly Endpoint[] = [],
): EndpointSlice {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace: "shop",
      name: "web-1",
      uid: "uid-1",
      resourceVersion: "7",
      labels,
      annotations: { note: "kept" },
      finalizers: ["example.com/kept"],
      managedFields: [{ manager: "m" }],
    },
    addressType: "IPv4",
    ports: [{ name: "http", port: 80, protocol: "TCP" }],
    endpoints,
  };
}

function withoutManagedFields(slice: EndpointSlice): EndpointSlice {
  const { managedFields: _, ...metadata } = slice.metadata;
  return { ...slice, metadata };
}

const endpoint = fc.record(
  {
    addresses: fc.array(fc.ipV4(), { minLength: 1, maxLength: 3 }),
    conditions: fc.record(
      { ready: fc.boolean(), serving: fc.boolean(), terminating: fc.boolean() },
      { requiredKeys: [] },
    ),
    hostname: fc.string(),
    zone: fc.constantFrom("a", "b", "☕", "café"),
    nodeName: fc.constantFrom("node-1", "node-2"),
    hints: fc.constant({ forZones: [{ name: "a" }] }),
    targetRef: fc.constant({ kind: "Pod", name: "web-1" }),
    // Of a later release of Kubernetes.
    later: fc.jsonValue(),
  },
  { requiredKeys: ["addresses"] },
) as fc.Arbitrary<Endpoint>;

test("a slice of an import comes out as it went in, but for managedFields, whatever its endpoints say", () => {
  fc.assert(
    fc.property(fc.array(endpoint, { maxLength: 8 }), (endpoints) => {
      const slice = aSlice(IMPORTED, endpoints);
      const unpacked = unpackSlice(packSlice(slice));
      expect(unpacked).toEqual(withoutManagedFields(JSON.parse(JSON.stringify(slice))));
    }),
  );
});

test("a slice that is a source is shared with others just as if it had never been packed", () => {
  const source = { cluster: id("east"), service: WEB };
  fc.assert(
    fc.property(fc.array(endpoint, { maxLength: 8 }), (endpoints) => {
      const slice = aSlice(SOURCE, endpoints);
      const unpacked = unpackSlice(packSlice(slice));
      expect(planEndpointShares(source, [unpacked])).toEqual(planEndpointShares(source, [slice]));
    }),
  );
});

test("endpoints that are alike but for their addresses cost little more than the addresses", () => {
  const endpoints = Array.from({ length: 100 }, (_, at) => ({
    addresses: [`10.64.0.${at}`],
    conditions: { ready: true, serving: true, terminating: false },
    nodeName: `node-${at % 5}`,
    zone: "eu-west-1a",
    targetRef: { kind: "Pod", name: `web-${at}`, uid: `uid-of-a-pod-${at}` },
  }));
  const addresses = JSON.stringify(endpoints.map((one) => one.addresses));
  const packed = packSlice(aSlice(SOURCE, endpoints));
  expect(packed.text.length).toBeLessThan(2 * addresses.length);
});

test("text beyond Latin-1 is kept in one byte for each character", () => {
  const packed = packSlice(aSlice(IMPORTED, [{ addresses: ["10.0.0.1"], zone: "☕ 🚢" }]));
  expect(packed.text).toMatch(/^[\u0020-\u00ff]*$/);
  expect(unpackSlice(packed).endpoints).toEqual([{ addresses: ["10.0.0.1"], zone: "☕ 🚢" }]);
});

test("a slice without endpoints stays without", () => {
  const none = { ...aSlice(IMPORTED), endpoints: null } as unknown as EndpointSlice;
  expect(unpackSlice(packSlice(none))).toEqual(withoutManagedFields(none));
  expect(unpackSlice(packSlice(aSlice(IMPORTED))).endpoints).toEqual([]);
});

test("a slice is known by its service: as a source, or as part of an import, never as both", () => {
  const places = [
    SOURCE,
    IMPORTED,
    { ...SOURCE, ...IMPORTED },
    { ...SOURCE, [SERVICE_NAME_LABEL]: "other" },
    { ...SOURCE, [MANAGED_BY_LABEL]: SLICE_MANAGER },
    {},
  ].map((labels) => {
    const { sourceOf, importOf } = packSlice(aSlice(labels));
    return [sourceOf, importOf];
  });
  expect(places).toEqual([
    ["shop/web", undefined],
    [undefined, "shop/web"],
    [undefined, "shop/web"],
    [undefined, "shop/other"],
    [undefined, undefined],
    [undefined, undefined],
  ]);
});
