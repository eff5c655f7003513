// Arbitraries for what crosses the hub: exports as Kubernetes holds them, and shares that somebody has tampered with.

import * as fc from "fast-check";

import type { Endpoint, EndpointSlice, Service } from "../src/api/builtin.ts";
import type { ServiceExport } from "../src/api/mcs.ts";
import type { ServiceShare } from "../src/api/share.ts";
import { planEndpointShares } from "../src/core/endpoints.ts";
import { planShare } from "../src/core/export.ts";
import { id, WEB } from "./shares.ts";

const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/);
const key = fc.oneof(
  label,
  label.map((name) => `example.com/${name}`),
);
const maybe = <T>(name: string, value: fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> =>
  fc.oneof(
    fc.constant({}),
    value.map((said) => ({ [name]: said })),
  );

function fields(...parts: readonly fc.Arbitrary<object>[]): fc.Arbitrary<object> {
  return fc.tuple(...parts).map((list) => Object.assign({}, ...list) as object);
}

const appProtocol = maybe("appProtocol", fc.constantFrom("http", "kubernetes.io/h2c"));
const protocol = fc.constantFrom("TCP", "UDP", "SCTP");
const portNumber = fc.integer({ min: 1, max: 65_535 });

const servicePorts = fc.oneof(
  fields(
    maybe("protocol", protocol),
    portNumber.map((port) => ({ port })),
    appProtocol,
  ).map((port) => [port]),
  fc
    .uniqueArray(fc.tuple(label, portNumber), {
      minLength: 1,
      maxLength: 6,
      comparator: ([name, port], [otherName, otherPort]) =>
        name === otherName || port === otherPort,
    })
    .chain((list) =>
      fc.tuple(
        ...list.map(([name, port]) =>
          fields(fc.constant({ name, port }), maybe("protocol", protocol), appProtocol),
        ),
      ),
    ),
);

const affinity = fc.constantFrom(
  {},
  { sessionAffinity: "None" },
  { sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } } },
);

const service: fc.Arbitrary<Service> = fields(
  servicePorts.map((ports) => ({ ports })),
  maybe("clusterIP", fc.constantFrom("None", "10.96.0.7")),
  maybe("ipFamilies", fc.constantFrom(["IPv4"], ["IPv6"], ["IPv6", "IPv4"])),
  affinity,
  maybe("internalTrafficPolicy", fc.constantFrom("Cluster", "Local")),
  maybe("trafficDistribution", fc.constantFrom("PreferClose", "PreferSameZone", "PreferSameNode")),
).map((spec) => ({ apiVersion: "v1", kind: "Service", metadata: {}, spec }));

const serviceExport: fc.Arbitrary<ServiceExport> = fc
  .record({
    at: fc.date({ min: new Date("2020-01-01"), max: new Date("2040-01-01"), noInvalidDate: true }),
    spec: fields(
      maybe("exportedLabels", fc.dictionary(key, fc.oneof(fc.constant(""), label))),
      maybe("exportedAnnotations", fc.dictionary(key, fc.string({ unit: "grapheme" }))),
    ),
  })
  .map(({ at, spec }) => ({
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceExport",
    metadata: { creationTimestamp: `${at.toISOString().slice(0, 19)}Z` },
    spec,
  }));

/** What a member shares of "shop/web". */
export const plannedShare: fc.Arbitrary<ServiceShare> = fc
  .record({
    service,
    serviceExport,
    whenLost: maybe("whenLost", fc.constantFrom("withdraw", "unready", "keep")),
  })
  .map(({ whenLost, ...objects }) => ({
    ...planShare({
      cluster: id("east"),
      namespace: "shop",
      name: "web",
      namespaceDenied: false,
      ...objects,
    })!,
    ...whenLost,
  }));

const endpointPorts = fc
  .uniqueArray(fc.oneof(fc.constant(""), label), { maxLength: 4 })
  .chain((names) =>
    fc.tuple(
      ...names.map((name) =>
        fields(
          protocol.map((spoken) => ({ name, protocol: spoken })),
          maybe("port", portNumber),
          appProtocol,
        ),
      ),
    ),
  );

const endpoint: fc.Arbitrary<Endpoint> = fields(
  fc.array(fc.ipV4(), { minLength: 1, maxLength: 3 }).map((addresses) => ({ addresses })),
  fields(
    maybe("ready", fc.boolean()),
    maybe("serving", fc.boolean()),
    maybe("terminating", fc.boolean()),
  ).map((conditions) => ({ conditions })),
  maybe("hostname", label),
  maybe("zone", fc.constantFrom("eu-west-1a", "Zone_2")),
  maybe("nodeName", label),
  maybe("hints", fc.constant({ forZones: [{ name: "z" }] })),
  maybe("targetRef", fc.constant({ kind: "Pod", name: "web-1" })),
).map((made) => made as Endpoint);

const slice: fc.Arbitrary<EndpointSlice> = fc
  .record({ name: label, ports: endpointPorts, endpoints: fc.array(endpoint, { maxLength: 6 }) })
  .map(({ name, ports, endpoints }) => ({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name },
    addressType: "IPv4",
    ports,
    endpoints,
  }));

/** The slices of "shop/web", as a member shares them. */
export const plannedEndpoints = fc
  .uniqueArray(slice, { selector: ({ metadata }) => metadata.name, maxLength: 3 })
  .map((slices) => planEndpointShares({ cluster: id("east"), service: WEB }, slices));

/** Values that are almost right, too large, of another release, or nonsense. */
const junk = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<unknown>(null, "", "Later", "UPPER", "a b", "-x", 0) },
  {
    weight: 3,
    arbitrary: fc.constantFrom<unknown>(-1, 1.5, 65_536, 1e300, true, [], {}, "x".repeat(64)),
  },
  fc.constantFrom<unknown>("é".repeat(5_000), "2026-02-30T00:00:00Z", { __proto__: null, a: 1 }),
  fc.constantFrom<unknown>(
    JSON.parse('{"__proto__":{"polluted":"yes"}}'),
    JSON.parse('{"__proto__":"x","constructor":"y"}'),
  ),
  fc.array(fc.constant({ port: 80, addresses: ["10.0.0.1"] }), { minLength: 2, maxLength: 3 }),
  fc.integer({ min: 101, max: 1_100 }).map((length) =>
    Array.from({ length }, (_, at) => ({
      name: `p${at}`,
      port: at + 1,
      addresses: [`10.0.0.1`],
    })),
  ),
  fc
    .integer({ min: 60, max: 70 })
    .map((length) =>
      Object.fromEntries(Array.from({ length }, (_, at) => [`k${at}`, "v".repeat(at * 10)])),
    ),
  fc.anything(),
);

/** The same JSON with some of its values, however deep, replaced by junk. */
export function tampered(json: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const blows = fc.array(fc.record({ steps: fc.array(fc.nat(), { maxLength: 4 }), value: junk }), {
    minLength: 1,
    maxLength: 4,
  });
  return fc
    .tuple(json, blows)
    .map(([value, list]) =>
      list.reduce<unknown>((now, { steps, value: put }) => strike(now, steps, put), value),
    );
}

function strike(value: unknown, [step, ...rest]: readonly number[], put: unknown): unknown {
  if (step === undefined || typeof value !== "object" || value === null) return put;
  const keys = Object.keys(value);
  const name = keys[step % Math.max(1, keys.length)];
  if (name === undefined) return put;
  const inner = strike((value as Record<string, unknown>)[name], rest, put);
  return Array.isArray(value)
    ? value.map((item: unknown, at) => (String(at) === name ? inner : item))
    : { ...value, [name]: inner };
}
