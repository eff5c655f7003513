// Fixture: what is imported in the room: few services, each there for something that a resolver can get wrong.

import {
  ENDPOINT_SLICE,
  type Endpoint,
  type EndpointPort,
  NAMESPACE,
} from "../../src/api/builtin.ts";
import { SERVICE_IMPORT, type ServiceImport } from "../../src/api/mcs.ts";
import { SERVICE_NAME_LABEL, SOURCE_CLUSTER_LABEL } from "../../src/api/names.ts";
import { apiVersionOf, type KubeObject, type Resource } from "../../src/api/object.ts";

export const WEB = { name: "web.shop.svc.clusterset.local", v4: "10.201.0.7", v6: "fd00:201::7" };
/** Without an IPv6 address: AAAA is NODATA, which must not spoil A. */
export const OLD = { name: "old.shop.svc.clusterset.local", v4: "10.201.0.8" };
export const DB = {
  name: "db.shop.svc.clusterset.local",
  pods: {
    "db-0.east.db.shop.svc.clusterset.local": "10.9.1.1",
    "db-0.west.db.shop.svc.clusterset.local": "10.9.2.1",
    "10-9-2-2.west.db.shop.svc.clusterset.local": "10.9.2.2",
  },
};
/** More than fits into a datagram. */
export const CROWD = { name: "crowd.shop.svc.clusterset.local", size: 200 };

const TCP_AND_UDP = [
  { name: "tcp", protocol: "TCP", port: 42 },
  { name: "udp", protocol: "UDP", port: 42 },
] as const;

export interface RoomObject {
  readonly resource: Resource;
  readonly object: KubeObject;
}

export function listRoomObjects(): readonly RoomObject[] {
  const crowd = Array.from({ length: CROWD.size }, (_, index) => endpoint(`10.8.0.${index + 1}`));
  return [
    an(NAMESPACE, { name: "shop" }),
    anImport("web", { type: "ClusterSetIP", ips: [WEB.v4, WEB.v6], ports: [...TCP_AND_UDP] }),
    anImport("old", {
      type: "ClusterSetIP",
      ips: [OLD.v4],
      ports: [{ name: "http", protocol: "TCP", port: 80 }],
    }),
    anImport("db", { type: "Headless", ports: [] }),
    aSlice("db", "east", [
      endpoint("10.9.1.1", "db-0"),
      { ...endpoint("10.9.1.9", "db-1"), conditions: { ready: false } },
    ]),
    aSlice("db", "west", [endpoint("10.9.2.1", "db-0"), endpoint("10.9.2.2")]),
    anImport("crowd", { type: "Headless", ports: [] }),
    aSlice("crowd", "east", crowd.slice(0, 100)),
    aSlice("crowd", "west", crowd.slice(100)),
  ];
}

function an(
  resource: Resource,
  metadata: KubeObject["metadata"],
  content: object = {},
): RoomObject {
  const object = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata, ...content };
  return { resource, object };
}

function anImport(name: string, spec: ServiceImport["spec"]): RoomObject {
  return an(SERVICE_IMPORT, { namespace: "shop", name }, { spec });
}

function endpoint(address: string, hostname?: string): Endpoint {
  return {
    addresses: [address],
    conditions: { ready: true },
    ...(hostname === undefined ? {} : { hostname }),
  };
}

function aSlice(service: string, cluster: string, endpoints: readonly Endpoint[]): RoomObject {
  const labels = { [SERVICE_NAME_LABEL]: service, [SOURCE_CLUSTER_LABEL]: cluster };
  const ports: readonly EndpointPort[] = [{ name: "sql", protocol: "TCP", port: 5432 }];
  const metadata = { namespace: "shop", name: `${service}-${cluster}`, labels };
  return an(ENDPOINT_SLICE, metadata, { addressType: "IPv4", endpoints, ports });
}
