// Observe: a cluster's API server in, what the cluster would declare on a hub out: where it is, which addresses its pods and
// Services have, and what a person should know about that. Reads and dry runs; changes nothing.

import {
  CONFIG_MAP,
  NODE,
  type Node,
  POD,
  SERVICE,
  SERVICE_CIDR,
  type Service,
} from "../api/builtin.ts";
import { apiVersionOf } from "../api/object.ts";
import {
  findStrayPods,
  IMPOSSIBLE_SERVICE_IPS,
  type Network,
  type Placement,
  readKubeadm,
  readPlacement,
  readPodRanges,
  readRefusedRange,
  readServiceCidrs,
  SERVICE_CIDRS_MAX,
} from "../core/topology.ts";
import { mergeRanges } from "../core/ranges.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import { listAll } from "./list.ts";

/** What the administrator says; it is taken as it is, and not looked for. */
export interface Given {
  readonly podCIDRs: readonly string[];
  readonly serviceCIDRs: readonly string[];
  readonly region?: string;
  readonly zones: readonly string[];
}

export interface Survey {
  readonly podCIDRs: readonly string[];
  readonly serviceCIDRs: readonly string[];
  readonly region: string | undefined;
  readonly zones: readonly string[];
  /** Sentences: what was found may not be all. */
  readonly doubts: readonly string[];
}

/** A look at some pods shows a wrong range as well as a look at all of them. */
const PODS_LOOKED_AT = 500;

export async function surveyCluster(
  store: Store,
  given: Given,
  signal: AbortSignal,
): Promise<Survey> {
  const doubts: string[] = [];
  const looksAtNodes =
    given.podCIDRs.length === 0 || given.region === undefined || given.zones.length === 0;
  const nodes = looksAtNodes ? await listAll<Node>(store, NODE, { signal }) : [];
  const network = await readInstaller(store, signal);
  const podCIDRs = choosePodRanges({ given, nodes, network, doubts });
  const pods = await store.list(POD, { limit: PODS_LOOKED_AT, signal });
  const strays = podCIDRs.length === 0 ? undefined : findStrayPods(pods.items, podCIDRs);
  if (strays !== undefined) {
    doubts.push(
      `${strays.count} of ${strays.of} pods have addresses outside of that, such as ${strays.example}: other clusters will not use them. Name the ranges that the network plugin uses with --pod-cidr.`,
    );
  }
  const placement = readPlacement(nodes);
  return {
    podCIDRs,
    serviceCIDRs: await findServiceCidrs({ store, given, network, signal }),
    region: given.region ?? chooseRegion(placement, doubts),
    zones: given.zones.length > 0 ? given.zones : placement.zones,
    doubts,
  };
}

function choosePodRanges(found: {
  readonly given: Given;
  readonly nodes: readonly Node[];
  readonly network: Network;
  readonly doubts: string[];
}): readonly string[] {
  const { given, nodes, network, doubts } = found;
  if (given.podCIDRs.length > 0) return given.podCIDRs;
  const { cidrs, isWhole } = readPodRanges(nodes, network);
  if (cidrs.length > 0 && !isWhole) {
    doubts.push(
      `The pod ranges ${cidrs.join(", ")} are those of the nodes that are there now. Pods of nodes that are added later may lie outside: name the whole range with --pod-cidr.`,
    );
  }
  return cidrs;
}

function chooseRegion(placement: Placement, doubts: string[]): string | undefined {
  const { region, regions } = placement;
  if (regions.length > 1) {
    doubts.push(
      `The nodes are in several regions, ${regions.join(", ")}, so none is declared. Name one with --region.`,
    );
  }
  return region;
}

async function readInstaller(store: Store, signal: AbortSignal): Promise<Network> {
  const ref = { namespace: "kube-system", name: "kubeadm-config" };
  try {
    return readKubeadm(await store.get(CONFIG_MAP, ref, { signal }));
  } catch (error) {
    // It would only make the answer better.
    if (isStoreError(error, "Forbidden")) return readKubeadm(undefined);
    throw error;
  }
}

async function findServiceCidrs(search: {
  readonly store: Store;
  readonly given: Given;
  readonly network: Network;
  readonly signal: AbortSignal;
}): Promise<readonly string[]> {
  const { store, given, network, signal } = search;
  if (given.serviceCIDRs.length > 0) return given.serviceCIDRs;
  try {
    const cidrs = readServiceCidrs(await listAll(store, SERVICE_CIDR, { signal }));
    if (cidrs.length > 0) return cidrs;
  } catch (error) {
    // A kind that older API servers do not have, or that this identity may not read.
    if (!isStoreError(error, "NotFound", "Forbidden")) throw error;
  }
  const asked: string[] = [];
  for (const ip of IMPOSSIBLE_SERVICE_IPS) asked.push(...(await askRange(store, ip, signal)));
  return asked.length > 0 ? asked : mergeRanges(network.serviceCIDRs, SERVICE_CIDRS_MAX);
}

/** Empty when the API server does not say: it has no range of that family, or none at all. */
async function askRange(
  store: Store,
  clusterIP: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const probe: Service = {
    apiVersion: apiVersionOf(SERVICE),
    kind: SERVICE.kind,
    metadata: { namespace: "default", name: "isthmus-range-probe" },
    spec: { clusterIP, ports: [{ port: 1, protocol: "TCP" }] },
  };
  try {
    await store.create(SERVICE, probe, { dryRun: true, signal });
    return [];
  } catch (error) {
    if (!isStoreError(error, "Invalid", "Forbidden", "BadRequest", "Internal")) throw error;
    const range = readRefusedRange(error.message);
    return range === undefined ? [] : [range];
  }
}
