// Data-plane bed: the network between clusters: plans in, a namespace per node on one bridge out. Pod addresses are routed
// everywhere, service addresses nowhere. The bridge is in the test's own namespace, so that the test reaches every node and pod.

import { readlinkSync } from "node:fs";
import { runIp, runIpThroughout, setKernel } from "./ip.ts";
import { type ClusterPlan, FABRIC4, FABRIC6 } from "./plan.ts";

/** Set by `npm run test:dataplane`: the network namespace that the tests must not be in. */
export const OUTER_NETWORK = "ISTHMUS_DATAPLANE_OUTER_NETWORK";

export interface Fabric {
  /** The cluster's cable: without it, packets from and to it vanish. */
  unplug(plan: ClusterPlan): Promise<void>;
  plugIn(plan: ClusterPlan): Promise<void>;
  /** Whatever still runs in the nodes' namespaces is cut off. */
  stop(): Promise<void>;
}

const BRIDGE = "br0";
const ROUTER = { "ipv4.ip_forward": 1, "ipv6.conf.all.forwarding": 1 };

export async function startFabric(plans: readonly ClusterPlan[]): Promise<Fabric> {
  requireOwnNetwork();
  const stop = (): Promise<void> =>
    runIpThroughout([
      // A link goes before its namespace: that one lives as long as anybody in it.
      ...plans.flatMap(({ name }) => [`link del ${name}`, `netns del ${name}`]),
      `link del ${BRIDGE}`,
      "route del unreachable default",
      "route del unreachable ::/0 metric 1",
    ]);
  try {
    await connectNodes(plans);
  } catch (error) {
    // Of what was not made yet it cannot be said that it is gone.
    await stop().catch(() => {});
    throw error;
  }
  return {
    unplug: ({ name }) => runIp([`link set ${name} down`]),
    plugIn: ({ name }) => runIp([`link set ${name} up`]),
    stop,
  };
}

async function connectNodes(plans: readonly ClusterPlan[]): Promise<void> {
  await setKernel(ROUTER);
  await runIp([
    `link add ${BRIDGE} type bridge mcast_snooping 0`,
    `addr add ${FABRIC4}/24 dev ${BRIDGE}`,
    `addr add ${FABRIC6}/64 dev ${BRIDGE} nodad`,
    `link set ${BRIDGE} up`,
    // What a node sends to no known place comes here and is refused at once. Metric 1 is before what the kernel puts there itself.
    "route add unreachable default",
    "route add unreachable ::/0 metric 1",
    ...plans.flatMap(({ name, pods4, pods6, address4, address6 }) => [
      `netns add ${name}`,
      `link add ${name} type veth peer name eth0 netns ${name}`,
      `link set ${name} master ${BRIDGE} up`,
      `route add ${pods4} via ${address4}`,
      `route add ${pods6} via ${address6}`,
    ]),
  ]);
  await Promise.all(plans.map((plan) => setUpNode(plan, plans)));
}

async function setUpNode(plan: ClusterPlan, all: readonly ClusterPlan[]): Promise<void> {
  const { name, address4, address6 } = plan;
  const others = all.filter((other) => other !== plan);
  await setKernel(
    { ...ROUTER, "ipv4.conf.all.rp_filter": 0, "ipv4.conf.default.rp_filter": 0 },
    name,
  );
  await runIp(
    [
      "link set lo up",
      `addr add ${address4}/24 dev eth0`,
      `addr add ${address6}/64 dev eth0 nodad`,
      "link set eth0 up",
      // It leads nowhere, but without it the node's own connections to service addresses fail before kube-proxy's rules see them.
      `route add default via ${FABRIC4}`,
      `route add default via ${FABRIC6}`,
      ...others.flatMap((other) => [
        `route add ${other.pods4} via ${other.address4}`,
        `route add ${other.pods6} via ${other.address6}`,
      ]),
    ],
    name,
  );
}

/** Bridges and routes of the machine itself are not ours to touch. */
function requireOwnNetwork(): void {
  const outer = process.env[OUTER_NETWORK];
  if (outer !== undefined && outer !== readlinkSync("/proc/self/ns/net")) return;
  throw new Error(
    "The data-plane bed needs a network of its own: run these tests by `npm run test:dataplane`.",
  );
}
