// What the contract with real servers cannot say of EndpointSlices: the one liberty that the demo takes.

import { expect, test } from "vitest";
import type { EndpointSlice } from "../../api/builtin.ts";
import { ENDPOINT_SLICE_RULES, LOOPBACK_SLICE_RULES } from "./slicerules.ts";

function aSlice(address: string, addressType: "IPv4" | "IPv6" = "IPv4"): EndpointSlice {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "a" },
    addressType,
    endpoints: [{ addresses: [address] }],
    ports: [{ name: "http", protocol: "TCP", port: 8080 }],
  };
}

test("pods played on loopback are taken when asked for, and by default no loopback address is", () => {
  for (const slice of [aSlice("127.101.1.1"), aSlice("::1", "IPv6")]) {
    expect(ENDPOINT_SLICE_RULES.validate?.(slice)).toHaveLength(1);
    expect(LOOPBACK_SLICE_RULES.validate?.(slice)).toEqual([]);
  }
});

test("where loopback addresses are taken, others that no endpoint may have are still refused", () => {
  for (const slice of [aSlice("169.254.0.1"), aSlice("0.0.0.0"), aSlice("fe80::1", "IPv6")]) {
    expect(LOOPBACK_SLICE_RULES.validate?.(slice)).toHaveLength(1);
  }
});
