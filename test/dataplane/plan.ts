// Data-plane bed: who has which address: a name in, its plan out. Pure; distinct per cluster, so that a packet's addresses tell
// where it comes from.
//
//   fabric (the test's own namespace)   br0 172.31.0.1/24, fd42:31::1/64
//   cluster i: node 172.31.0.1i, fd42:31::1i   pods 10.1i.0.0/16, fd42:10:i::/56   services 10.10i.0.0/16, fd42:100:i::/112

export const MEMBERS = ["east", "west", "edge"] as const;
export type MemberName = (typeof MEMBERS)[number];
export type ClusterName = MemberName | "hub";

export interface ClusterPlan {
  readonly name: ClusterName;
  /** The node's network namespace, for `ip -n` and `ip netns exec`. */
  readonly netns: string;
  /** Of the cluster's only Node. */
  readonly nodeName: string;
  readonly region: string;
  readonly zone: string;
  /** IPv4 and IPv6, as everywhere here. */
  readonly nodeAddresses: Pair;
  readonly podCidrs: Pair;
  readonly serviceCidrs: Pair;
  /** Of the `kubernetes` Service; it has only the first. */
  readonly apiAddresses: Pair;
  /** Of the Service kube-dns. */
  readonly dnsAddresses: Pair;
}

export type Pair = readonly [four: string, six: string];

export const FABRIC_ADDRESSES: Pair = ["172.31.0.1", "fd42:31::1"];
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
    netns: name,
    nodeName: `${name}-node`,
    region,
    zone,
    nodeAddresses: [`172.31.0.1${index}`, `fd42:31::1${index}`],
    podCidrs: [`10.1${index}.0.0/16`, `fd42:10:${index}::/56`],
    serviceCidrs: [`10.10${index}.0.0/16`, `fd42:100:${index}::/112`],
    apiAddresses: [`10.10${index}.0.1`, `fd42:100:${index}::1`],
    dnsAddresses: [`10.10${index}.0.10`, `fd42:100:${index}::a`],
  };
}

/** The addresses of a cluster's pod number n, from 1 to 65,534. */
export function podAddresses(plan: ClusterPlan, n: number): Pair {
  const { index } = PLACES[plan.name];
  return [`10.1${index}.${n >> 8}.${n & 255}`, `fd42:10:${index}::${n.toString(16)}`];
}
