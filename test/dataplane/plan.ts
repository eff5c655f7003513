// Data-plane bed: who has which address: a name in, its plan out. Pure; distinct per cluster, so that a packet's addresses tell
// where it comes from.
//
//   fabric (the test's own namespace)   br0 172.31.0.1/24, fd42:31::1/64
//   cluster i: node 172.31.0.1i, fd42:31::1i   pods 10.1i.0.0/16, fd42:10:i::/56   services 10.10i.0.0/16, fd42:100:i::/112

import type { NodePlan } from "./podnetwork.ts";

export const MEMBERS = ["east", "west", "edge"] as const;
export type MemberName = (typeof MEMBERS)[number];
export type ClusterName = MemberName | "hub";

/** Its name is also that of its only Node and of that node's network namespace. */
export interface ClusterPlan extends NodePlan {
  readonly name: ClusterName;
  /** IPv4 and IPv6. */
  readonly serviceCidrs: readonly [string, string];
}

export const FABRIC4 = "172.31.0.1";
export const FABRIC6 = "fd42:31::1";
export const API_PORT = 6443;

const PLACES: Readonly<
  Record<ClusterName, { readonly index: number; readonly region: string; readonly zone: string }>
> = {
  hub: { index: 0, region: "region-1", zone: "zone-a" },
  east: { index: 1, region: "region-1", zone: "zone-a" },
  west: { index: 2, region: "region-1", zone: "zone-a" },
  edge: { index: 3, region: "region-2", zone: "zone-b" },
};

export function planCluster(name: ClusterName): ClusterPlan {
  const { index, region, zone } = PLACES[name];
  return {
    name,
    region,
    zone,
    address4: `172.31.0.1${index}`,
    address6: `fd42:31::1${index}`,
    pods4: `10.1${index}.0.0/16`,
    pods6: `fd42:10:${index}::/56`,
    serviceCidrs: [`10.10${index}.0.0/16`, `fd42:100:${index}::/112`],
    api4: `10.10${index}.0.1`,
    dns4: `10.10${index}.0.10`,
    dns6: `fd42:100:${index}::a`,
  };
}
