// The network of pods on one node, in the manner of Calico: a namespace and a veth pair per pod, no bridge, all routed.
// In: an address pair and the node's namespace. Out: commands for `ip -batch`. All packets pass the node's netfilter.

import type { Family } from "./programs/tally.ts";

/** What a kubelet has to know of its node; plans of clusters have it all. */
export interface NodePlan {
  /** Of the cluster; also the name of the node and of its network namespace. */
  readonly name: string;
  readonly address4: string;
  readonly address6: string;
  /** A /16 and a /56 or wider. */
  readonly pods4: string;
  readonly pods6: string;
  readonly dns4: string;
  readonly dns6: string;
  readonly region: string;
  readonly zone: string;
}

export type PodAddresses = Readonly<Record<Family, string>>;
