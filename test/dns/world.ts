// Test tool: a seed in, a cluster's worth of imported services and all that can be asked about them out. Shaped as the importer
// writes them: one slice per source cluster, family and shard, with the labels that DNS servers go by.

import type { Endpoint, EndpointPort, EndpointSlice, Protocol } from "../../src/api/builtin.ts";
import type { ServiceImport } from "../../src/api/mcs.ts";
import {
  MANAGED_BY_LABEL,
  MANAGED_LABEL,
  SERVICE_NAME_LABEL,
  SLICE_MANAGER,
  SOURCE_CLUSTER_LABEL,
} from "../../src/api/names.ts";
import { seededRandom } from "../embedded.ts";
import type { Question, TypeName } from "./ask.ts";

export const ZONE = "clusterset.local";
export const CLUSTERS = ["east", "west", "edge-3"] as const;
/** The last one stays empty. */
export const NAMESPACES = ["shop", "bank", "idle"] as const;
const PLACES = ["eu-1a", "eu-1b", "Us.East"] as const;
const KINDS = ["vip4", "vip6", "vip46", "headless4", "headless6", "headless46"] as const;
type Kind = (typeof KINDS)[number];

interface Port {
  readonly name?: string;
  readonly protocol: Protocol;
  readonly port: number;
}

const PORT_SETS: readonly (readonly Port[])[] = [
  [{ name: "http", protocol: "TCP", port: 80 }],
  [
    { name: "tcp", protocol: "TCP", port: 42 },
    { name: "udp", protocol: "UDP", port: 42 },
  ],
  [{ protocol: "TCP", port: 5432 }],
  [
    { name: "web", protocol: "TCP", port: 443 },
    { name: "web-udp", protocol: "UDP", port: 443 },
    { name: "sctp", protocol: "SCTP", port: 9000 },
  ],
  [],
];

export interface DnsWorld {
  readonly imports: readonly ServiceImport[];
  readonly slices: readonly EndpointSlice[];
}

export function generateWorld(seed: number, size: number): DnsWorld {
  const random = seededRandom(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const chance = (share: number): boolean => random() < share;
  let addresses = 0;
  const nextAddress = (family: 4 | 6): string => {
    addresses += 1;
    const hex = addresses.toString(16);
    // Every kind of abbreviation, and one that ends in colons.
    const six = [`fd00:1::${hex}`, `fd00:1:9:1:2:3:4:${hex}`, `fd00:1:${hex}::`];
    return family === 4 ? `10.${9 + (addresses >> 8)}.7.${addresses & 255}` : pick(six);
  };
  const imports: ServiceImport[] = [];
  const slices: EndpointSlice[] = [];
  for (let index = 0; index < size; index += 1) {
    const kind = KINDS[index % KINDS.length]!;
    const namespace = pick(NAMESPACES.slice(0, 2));
    const name = `${kind}-${index}`;
    const ports = PORT_SETS[Math.floor(index / KINDS.length) % PORT_SETS.length]!;
    const families = kind.endsWith("46")
      ? ([4, 6] as const)
      : ([kind.endsWith("6") ? 6 : 4] as const);
    imports.push(anImport({ namespace, name, kind, ports, ips: families.map(nextAddress) }));
    for (const cluster of CLUSTERS.filter(() => chance(0.7))) {
      const named = chance(0.5);
      // Some are down everywhere (R78), some behind no port at all.
      const upShare = index % 7 === 4 ? 0 : 0.75;
      for (const family of families) {
        // One service is large, for the weights that then round to nothing.
        const count = index === 3 ? 60 : 1 + Math.floor(random() * 4);
        const endpoints = Array.from({ length: count }, (_, ordinal): Endpoint => {
          const up = chance(upShare);
          return {
            addresses: chance(0.1)
              ? [nextAddress(family), nextAddress(family)]
              : [nextAddress(family)],
            conditions: pick<Endpoint["conditions"] & object>(
              up
                ? [{ ready: true }, {}, { ready: true, serving: true }]
                : [{ ready: false }, { ready: false, serving: true, terminating: true }],
            ),
            ...(named ? { hostname: `${name}-${ordinal}` } : {}),
            ...(chance(0.7) ? { zone: pick(PLACES) } : {}),
          };
        });
        slices.push(aSlice({ namespace, name, cluster, family, endpoints, ports }));
      }
    }
  }
  return { imports, slices };
}

function anImport(options: {
  namespace: string;
  name: string;
  kind: Kind;
  ports: readonly Port[];
  ips: readonly string[];
}): ServiceImport {
  const { namespace, name, kind, ports, ips } = options;
  const isHeadless = kind.startsWith("headless");
  return {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceImport",
    metadata: { namespace, name, labels: { [MANAGED_LABEL]: "true" } },
    spec: {
      type: isHeadless ? "Headless" : "ClusterSetIP",
      ports: [...ports],
      ipFamilies: ips.map((ip) => (ip.includes(":") ? "IPv6" : "IPv4")),
      ...(isHeadless ? {} : { ips: [...ips] }),
    },
  };
}

function aSlice(options: {
  namespace: string;
  name: string;
  cluster: string;
  family: 4 | 6;
  endpoints: readonly Endpoint[];
  ports: readonly Port[];
}): EndpointSlice {
  const { namespace, name, cluster, family, endpoints, ports } = options;
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace,
      name: `${name}-${cluster}-${family}`,
      labels: {
        [SERVICE_NAME_LABEL]: name,
        [SOURCE_CLUSTER_LABEL]: cluster,
        [MANAGED_BY_LABEL]: SLICE_MANAGER,
      },
    },
    addressType: `IPv${family}`,
    endpoints: [...endpoints],
    // Backends listen where they like (R75).
    ports: ports.map((port): EndpointPort => ({ ...port, port: port.port + 8_000 })),
  };
}

const ASKED_TYPES: readonly TypeName[] = [
  "A",
  "AAAA",
  "SRV",
  "TXT",
  "NS",
  "SOA",
  "ANY",
  "PTR",
  "MX",
  "HTTPS",
];

/** Every name that exists, every name that must not, each of every type. */
export function listQuestions({ imports, slices }: DnsWorld): readonly Question[] {
  const names = new Set(
    [
      ["", "svc", "pod", "dns", "dns-version", "ns.dns", "nobody", "*", "svc.svc", "a.dns-version"],
      ["shop.svc", "idle.svc", "nowhere.svc", "shop.pod", "1-2-3-4.shop.pod", "*.svc"],
      ["nobody.shop.svc", "nobody.nowhere.svc", "*.shop.svc", "_http._tcp.nobody.shop.svc"],
      ["_tcp.nobody.shop.svc", "a.b.nobody.shop.svc", "_zone", "eu-1a._zone"],
    ].flat(),
  );
  for (const { metadata, spec } of imports) {
    const service = `${metadata.name}.${metadata.namespace}.svc`;
    for (const name of [service, service.toUpperCase(), `nobody.${service}`, `*.${service}`])
      names.add(name);
    for (const name of [
      "_tcp",
      "_udp",
      "_http._tcp",
      "_none._tcp",
      "_._tcp",
      "http.tcp",
      "_http.tcp",
      "a.b.c",
    ]) {
      names.add(`${name}.${service}`);
    }
    for (const { name, protocol } of spec?.ports ?? []) {
      if (name) names.add(`_${name}._${(protocol ?? "TCP").toLowerCase()}.${service}`);
      if (name) names.add(`_${name}._any.${service}`);
    }
    // N9: never a name, whatever the kind of service.
    for (const cluster of CLUSTERS) names.add(`${cluster}.${service}`);
    names.add(`nobody.${CLUSTERS[0]}.${service}`);
    names.add(`${service}.eu-1a._zone`);
  }
  for (const { metadata, endpoints } of slices) {
    const service = `${metadata.labels?.[SERVICE_NAME_LABEL]}.${metadata.namespace}.svc`;
    const cluster = metadata.labels?.[SOURCE_CLUSTER_LABEL];
    for (const { hostname, addresses } of endpoints) {
      for (const label of hostname === undefined ? addresses.map(dash) : [hostname]) {
        names.add(`${label}.${cluster}.${service}`);
        names.add(`${label}.${service}`);
        names.add(`_http._tcp.${label}.${cluster}.${service}`);
      }
    }
  }
  const all = [...names].map((name) => (name === "" ? `${ZONE}.` : `${name}.${ZONE}.`));
  // R82: the zone in another case, too.
  const shouted = imports.map(
    ({ metadata }) => `${metadata.name}.${metadata.namespace}.svc.ClusterSet.LOCAL.`,
  );
  return [...all, ...shouted].flatMap((name) => ASKED_TYPES.map((type) => ({ name, type })));
}

/** R72. */
function dash(address: string): string {
  return address.replaceAll(/[.:]/gu, "-").replace(/-$/u, "-0");
}
