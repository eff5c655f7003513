// Builders for what clusters share: a ClusterSetIP service "shop/web" with one port unless said otherwise.

import { type ClusterId, type ServiceKey, serviceKey } from "../src/api/names.ts";
import type { Contribution, EndpointShare, ServiceShare, SharedPort } from "../src/api/share.ts";

export const WEB: ServiceKey = serviceKey({ namespace: "shop", name: "web" });

export function id(name: string): ClusterId {
  return name as ClusterId;
}

export function port(text: string): SharedPort {
  // "http 80/TCP grpc": name, number/protocol, appProtocol; the name may be left out.
  const match = /^(?:([-a-z0-9]+) )?(\d+)\/(TCP|UDP|SCTP)(?: (\S+))?$/.exec(text);
  if (match === null) throw new Error(`not a port: ${text}`);
  const [, name = "", number, protocol, appProtocol] = match;
  return {
    name,
    protocol: protocol as SharedPort["protocol"],
    port: Number(number),
    ...(appProtocol === undefined ? {} : { appProtocol }),
  };
}

/** `age` orders exports: larger is older. */
export function aShare(
  cluster: string,
  fields: Partial<Omit<ServiceShare, "cluster" | "ports">> & {
    readonly age?: number;
    readonly ports?: readonly string[];
  } = {},
): ServiceShare {
  const { age = 0, ports = ["http 80/TCP"], ...rest } = fields;
  return {
    cluster: id(cluster),
    service: WEB,
    exportedAt: `2026-01-01T00:${String(59 - age).padStart(2, "0")}:00Z`,
    type: "ClusterSetIP",
    ipFamilies: ["IPv4"],
    sessionAffinity: "None",
    internalTrafficPolicy: "Cluster",
    ...rest,
    ports: ports.map(port),
  };
}

/** One ready endpoint per address, in one slice per family, each port of the share on its own number plus 8000. */
export function aContribution(
  share: ServiceShare,
  addresses: readonly string[] = ["10.0.0.1"],
): Contribution {
  const families = [...new Set(addresses.map((ip) => (ip.includes(":") ? "IPv6" : "IPv4")))];
  const endpoints = families.map(
    (addressType): EndpointShare => ({
      cluster: share.cluster,
      service: share.service,
      slice: `web-${addressType.toLowerCase()}`,
      addressType,
      ports: share.ports.map(({ name, protocol, port: number }) => ({
        name,
        protocol,
        port: number + 8000,
      })),
      endpoints: addresses
        .filter((ip) => ip.includes(":") === (addressType === "IPv6"))
        .map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
    }),
  );
  return { share, endpoints };
}
