// The network of pods on one node, in the manner of Calico: a namespace and a veth pair per pod, no bridge, all routed, so that
// every packet passes the node's netfilter. In: a node's plan and the number of a pod. Out: its addresses, and the pod wired.
//
//   pod eth0  10.11.0.5/32 fd42:10:1::5/128, default via 169.254.1.1 and fe80::1 ── veth ── node pod5  169.254.1.1 fe80::1
//                                                                    the node routes both addresses of the pod to pod5

import { runIp } from "./ip.ts";
import type { Family } from "./programs/tally.ts";

/** What a kubelet has to know of its node; plans of clusters have it all. */
export interface NodePlan {
  /** Of the cluster; also the name of the node and of its network namespace. */
  readonly name: string;
  readonly address4: string;
  readonly address6: string;
  /** A /16, and a /56 or wider that ends in "::". */
  readonly pods4: string;
  readonly pods6: string;
  /** Of the `kubernetes` Service. */
  readonly api4: string;
  readonly dns4: string;
  readonly dns6: string;
  readonly region: string;
  readonly zone: string;
}

export type PodAddresses = Readonly<Record<Family, string>>;

const GATEWAY4 = "169.254.1.1";
const GATEWAY6 = "fe80::1";
const FIRST = 2;
const LAST = 65_000;

/** Never one that was used lately: who still knows an address of a pod that is gone must not find another one there. */
export function createNumbers(): { next(isTaken: (number: number) => boolean): number } {
  let last = FIRST - 1;
  return {
    next(isTaken) {
      for (let tried = FIRST; tried <= LAST; tried += 1) {
        last = last >= LAST ? FIRST : last + 1;
        // Looks like the address of a network or of everybody in one.
        const isOdd = last % 256 === 0 || last % 256 === 255;
        if (!isOdd && !isTaken(last)) return last;
      }
      throw new Error("The node has no address left for a pod.");
    },
  };
}

export function addressesOf(plan: NodePlan, number: number): PodAddresses {
  const [first, second] = plan.pods4.split(".");
  const prefix6 = plan.pods6.slice(0, plan.pods6.indexOf("/"));
  return {
    4: `${first}.${second}.${number >> 8}.${number & 255}`,
    6: `${prefix6}${number.toString(16)}`,
  };
}

export function namespaceOf(plan: NodePlan, number: number): string {
  return `${plan.name}-pod-${number}`;
}

/** Packets to pods that are not there end here, in silence, instead of going round between node and fabric. */
export async function routePods({ name, pods4, pods6 }: NodePlan): Promise<void> {
  await runIp([`route replace blackhole ${pods4}`, `route replace blackhole ${pods6}`], name);
}

export async function wirePod(plan: NodePlan, number: number): Promise<void> {
  const { 4: address4, 6: address6 } = addressesOf(plan, number);
  const pod = namespaceOf(plan, number);
  const link = `pod${number}`;
  await runIp([
    `netns add ${pod}`,
    `link add ${link} netns ${plan.name} type veth peer name eth0 netns ${pod}`,
  ]);
  // The gateway's address is of scope link: what the node masquerades has to come from the node's own address.
  await runIp(
    [
      `addr add ${GATEWAY4}/32 dev ${link} scope link`,
      `addr add ${GATEWAY6}/64 dev ${link} nodad`,
      `link set ${link} up`,
      `route add ${address4}/32 dev ${link} src ${plan.address4}`,
      `route add ${address6}/128 dev ${link} src ${plan.address6}`,
    ],
    plan.name,
  );
  await runIp(
    [
      "link set lo up",
      `addr add ${address4}/32 dev eth0`,
      `addr add ${address6}/128 dev eth0 nodad`,
      "link set eth0 up",
      `route add ${GATEWAY4} dev eth0 scope link`,
      `route add default via ${GATEWAY4} dev eth0`,
      `route add default via ${GATEWAY6} dev eth0`,
    ],
    pod,
  );
}

/** Its processes have ended. */
export async function unwirePod(plan: NodePlan, number: number): Promise<void> {
  // Before its namespace, whose end the kernel does not wait for.
  await runIp([`link del pod${number}`], plan.name);
  await runIp([`netns del ${namespaceOf(plan, number)}`]);
}
