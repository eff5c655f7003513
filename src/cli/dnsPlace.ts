// CLI: where the clients of `isthmus dns` are: flags in, and what of it they leave open read from the cluster out. Read once: a Node does
// not move, and a cluster that changes its id has left and joined anew.

import { CLUSTER_PROPERTY } from "../api/about.ts";
import { NODE } from "../api/builtin.ts";
import { CLUSTER_ID_PROPERTY, parseClusterId } from "../api/names.ts";
import { Problem } from "../api/problem.ts";
import type { Settings } from "../api/settings.ts";
import { REGION_LABEL, ZONE_LABEL } from "../core/topology.ts";
import type { ZoneOptions } from "../dns/records.ts";
import type { Log } from "../ports/log.ts";
import { isAbsentObject, isStoreError, type Store } from "../ports/store.ts";
import type { CliContext } from "./context.ts";
import { askUntilAnswered } from "./patience.ts";

export async function readPlace(
  context: CliContext,
  flags: Settings["dns"],
  { store, log }: { readonly store: Pick<Store, "get">; readonly log: Log },
): Promise<ZoneOptions["here"]> {
  if (flags.headless === "all") {
    const given = [flags.clusterId, flags.inZone, flags.inRegion, flags.node];
    if (given.some((text) => text !== undefined)) {
      log.warn("where the server is makes no difference without --headless near");
    }
    return {};
  }
  const { signal } = context;
  return askUntilAnswered(context, { log, signal }, async () => {
    const cluster = flags.clusterId ?? (await readClusterId(store, signal));
    const labels = flags.node === undefined ? {} : await readNode(store, flags.node, signal);
    const zone = flags.inZone ?? labels[ZONE_LABEL];
    const region = flags.inRegion ?? labels[REGION_LABEL];
    return {
      cluster: requireClusterId(cluster),
      ...(zone === undefined ? {} : { zone }),
      ...(region === undefined ? {} : { region }),
    };
  });
}

async function readClusterId(store: Pick<Store, "get">, signal: AbortSignal): Promise<string> {
  try {
    const property = await store.get(CLUSTER_PROPERTY, { name: CLUSTER_ID_PROPERTY }, { signal });
    const id = property?.spec?.value;
    if (id !== undefined) return id;
  } catch (error) {
    // The kind is not known either: then nobody has written the property.
    if (!isStoreError(error, "NotFound")) throw error;
  }
  const message = `this cluster has no id: no ClusterProperty ${CLUSTER_ID_PROPERTY}`;
  throw new Problem("ClusterIdInvalid", message, {
    hint: "--headless near needs it to know which endpoints are near. Give --cluster-id, or let the cluster join first.",
  });
}

export function requireClusterId(text: string): string {
  const parsed = parseClusterId(text);
  if (parsed.ok) return parsed.value;
  throw new Problem("ClusterIdInvalid", parsed.problem);
}

async function readNode(
  store: Pick<Store, "get">,
  name: string,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  try {
    const node = await store.get(NODE, { name }, { signal });
    if (node !== undefined) return node.metadata.labels ?? {};
  } catch (error) {
    if (!isAbsentObject(error)) throw error;
  }
  throw new Problem("NothingFound", `the cluster has no Node "${name}"`, {
    hint: "Give --node the name of the Node that this runs on: in a pod, from the field spec.nodeName.",
  });
}
