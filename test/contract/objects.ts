// Contract suite: the objects that tests send, as small as the API server lets them be.

import { randomBytes } from "node:crypto";
import type { ObjectMeta } from "../../src/api/object.ts";

type Fields = Readonly<Record<string, unknown>>;

export function aConfigMap(
  name: string,
  data: Readonly<Record<string, string>> = { a: "1" },
  metadata: ObjectMeta = {},
) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...metadata }, data };
}

export function aLease(name: string, holderIdentity = "nobody", metadata: ObjectMeta = {}) {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name, ...metadata },
    spec: { holderIdentity },
  };
}

export function aService(name: string, spec: Fields = {}, metadata: ObjectMeta = {}) {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, ...metadata },
    spec: { ports: [{ port: 80 }], ...spec },
  };
}

export function aSlice(name: string, fields: Fields = {}, metadata: ObjectMeta = {}) {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name, ...metadata },
    addressType: "IPv4",
    endpoints: [{ addresses: ["192.0.2.1"] }],
    ports: [{ name: "", port: 80, protocol: "TCP" }],
    ...fields,
  };
}

/** A name or group that no other run and no other test uses. */
export function unique(prefix: string): string {
  return `${prefix}${randomBytes(4).toString("hex")}`;
}
