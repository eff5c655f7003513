// Topology: what a cluster's API server shows in, what the cluster declares when it joins out: where it is, and which
// addresses its pods and Services have. Pure; what cannot be known is left out rather than guessed.

import type { ConfigMap, Node, Pod, ServiceCidr } from "../api/builtin.ts";
import type { ClusterMember } from "../api/isthmus.ts";
import { doCidrsOverlap, isInside, parseAddress, parseCidr } from "./address.ts";
import { compareText } from "./order.ts";
import { mergeRanges } from "./ranges.ts";

export const REGION_LABEL = "topology.kubernetes.io/region";
export const ZONE_LABEL = "topology.kubernetes.io/zone";

/** As many as a ClusterMember holds. */
export const POD_CIDRS_MAX = 32;
export const SERVICE_CIDRS_MAX = 16;
export const ZONES_MAX = 32;

export interface Placement {
  /** Undefined when the nodes name none, or do not agree. */
  readonly region: string | undefined;
  /** Every region that a node names. */
  readonly regions: readonly string[];
  readonly zones: readonly string[];
}

export function readPlacement(nodes: readonly Node[]): Placement {
  const regions = readLabels(nodes, REGION_LABEL);
  const region = regions.length === 1 ? regions[0] : undefined;
  return { region, regions, zones: readLabels(nodes, ZONE_LABEL).slice(0, ZONES_MAX) };
}

function readLabels(nodes: readonly Node[], label: string): readonly string[] {
  const values = nodes.flatMap((node) => node.metadata.labels?.[label] ?? []);
  return [...new Set(values)].filter((value) => value !== "").toSorted(compareText);
}

export interface PodRanges {
  readonly cidrs: readonly string[];
  /** The range that new nodes will be given parts of is known. False: only the parts of those nodes that are there. */
  readonly isWhole: boolean;
}

/** `network` is what an installer wrote down: see readKubeadm. */
export function readPodRanges(nodes: readonly Node[], network: Network): PodRanges {
  const parts = nodes.flatMap((node) => node.spec?.podCIDRs ?? []);
  const whole = mergeRanges(network.podCIDRs, POD_CIDRS_MAX);
  const cidrs = mergeRanges([...whole, ...parts], POD_CIDRS_MAX);
  return { cidrs, isWhole: whole.length > 0 && whole.join() === cidrs.join() };
}

/** Nothing in it when it was installed by something else than kubeadm. */
export interface Network {
  readonly podCIDRs: readonly string[];
  readonly serviceCIDRs: readonly string[];
}

/** The ConfigMap kube-system/kubeadm-config holds YAML with two lines that matter. */
export function readKubeadm(config: ConfigMap | undefined): Network {
  const text = config?.data?.["ClusterConfiguration"] ?? "";
  const read = (field: string): readonly string[] => {
    const value = new RegExp(`^\\s+${field}:\\s*["']?([0-9A-Fa-f:./, ]+)`, "m").exec(text)?.[1];
    return (value ?? "")
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== "");
  };
  return { podCIDRs: read("podSubnet"), serviceCIDRs: read("serviceSubnet") };
}

export function readServiceCidrs(objects: readonly ServiceCidr[]): readonly string[] {
  return mergeRanges(
    objects.flatMap((object) => object.spec?.cidrs ?? []),
    SERVICE_CIDRS_MAX,
  );
}

/**
 * Addresses that no cluster's Services have, one of each family: documentation ranges. An API server before 1.33 tells its
 * range when it refuses such an address, and nowhere else.
 */
export const IMPOSSIBLE_SERVICE_IPS = ["192.0.2.1", "2001:db8::1"] as const;

/** The range that the refusal of an impossible address names: the one place where an API server's sentence is read. */
export function readRefusedRange(sentence: string): string | undefined {
  const text = /The range of valid IPs is ([0-9A-Fa-f:.]+\/\d+)/.exec(sentence)?.[1];
  return text === undefined ? undefined : mergeRanges([text], 1)[0];
}

export interface StrayPods {
  readonly count: number;
  readonly of: number;
  /** One of their addresses. */
  readonly example: string;
}

/**
 * Pods with addresses that are not declared: nodes say which range they were given, not which one the network plugin uses.
 * Pods on the host's network have the node's address and are not counted.
 */
export function findStrayPods(
  pods: readonly Pod[],
  cidrs: readonly string[],
): StrayPods | undefined {
  const ranges = cidrs.flatMap((text) => parseCidr(text) ?? []);
  const isStray = (text: string): boolean => {
    const address = parseAddress(text);
    return address !== undefined && !ranges.some((range) => isInside(address, range));
  };
  const placed = pods
    .filter((pod) => pod.spec?.hostNetwork !== true)
    .map(addressesOf)
    .filter((addresses) => addresses.length > 0);
  const strays = placed.flatMap((addresses) => addresses.find(isStray) ?? []);
  const [example] = strays;
  return example === undefined ? undefined : { count: strays.length, of: placed.length, example };
}

/** One of each family; the first one also stands alone, where somebody wrote only that. */
function addressesOf({ status }: Pod): readonly string[] {
  const all = (status?.podIPs ?? []).map(({ ip }) => ip);
  return all.length > 0 ? all : [status?.podIP ?? []].flat();
}

/** A sentence for each other member whose addresses a cluster's pods may have. */
export function findOverlaps(
  spec: ClusterMember["spec"],
  others: readonly ClusterMember[],
): readonly string[] {
  return others.flatMap((other) => {
    const name = other.metadata.name ?? "";
    const pods = findOverlap(spec.podCIDRs, other.spec.podCIDRs);
    const services = findOverlap(spec.podCIDRs, other.spec.serviceCIDRs);
    return [
      ...(pods === undefined
        ? []
        : [`The pod range ${pods[0]} overlaps the pod range ${pods[1]} of ${name}.`]),
      ...(services === undefined
        ? []
        : [
            `The pod range ${services[0]} overlaps the service range ${services[1]} of ${name}, which will not take in endpoints there.`,
          ]),
    ];
  });
}

function findOverlap(
  mine: readonly string[] = [],
  theirs: readonly string[] = [],
): readonly [string, string] | undefined {
  for (const a of mine.flatMap((text) => parseCidr(text) ?? [])) {
    for (const b of theirs.flatMap((text) => parseCidr(text) ?? [])) {
      if (doCidrsOverlap(a, b)) return [a.text, b.text];
    }
  }
  return undefined;
}
