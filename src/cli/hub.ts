// CLI: `isthmus hub init` and `isthmus hub evict`: makes a cluster the hub, and removes members that are gone for good.

import { NAMESPACE } from "../api/builtin.ts";
import { HUB_CRDS } from "../api/crds.ts";
import { type ClusterId, HUB_NAMESPACE, parseClusterId } from "../api/names.ts";
import type { KubeObject } from "../api/object.ts";
import { Problem } from "../api/problem.ts";
import { installCrds } from "../controllers/crd.ts";
import { carryOutDeparture, isKnown, planDeparture } from "../controllers/departure.ts";
import { placeObjects } from "../controllers/place.ts";
import { renderHub } from "../hub/manifest/hub.ts";
import { resourceOf } from "../hub/manifest/resource.ts";
import { isStoreError } from "../ports/store.ts";
import { type Cluster, withClusters } from "./cluster.ts";
import type { CliContext } from "./context.ts";
import { describeInstallation } from "./crds.ts";
import { parseDuration } from "./duration.ts";
import {
  handOut,
  type HubFlags,
  refuseNoHub,
  requireHub,
  requireServer,
  SERVER_ANNOTATION,
} from "./jointoken.ts";
import { listLost } from "./lost.ts";
import { countKinds, printPlaced, printYaml, renderDoomed } from "./output.ts";
import { renderRows } from "./table.ts";

export interface InitFlags extends HubFlags {
  readonly server?: string;
  readonly token: boolean;
}

const FIRST_TTL = "1h";

export async function hubInit(context: CliContext, flags: InitFlags): Promise<void> {
  const { clock, signal } = context;
  if (flags.server !== undefined) requireServer(flags.server);
  if (flags.output === "yaml") {
    printYaml(context, "On the hub: isthmus hub init.", [
      ...HUB_CRDS,
      ...renderObjects(flags.server),
    ]);
    return;
  }
  await withClusters(context, async (clusters) => {
    const hub = clusters.open(flags);
    const { store } = hub;
    const before = await store.get(NAMESPACE, { name: HUB_NAMESPACE }, { signal });
    const server = flags.server ?? before?.metadata.annotations?.[SERVER_ANNOTATION];
    const installed = await installCrds({ store, crds: HUB_CRDS, clock, signal });
    const rows = installed.map((one) => [one.name, describeInstallation(one)]);
    for (const line of renderRows(["CRD", "RESULT"], rows)) context.out(line);
    context.out("");
    const manifests = renderObjects(server).map((object) => ({
      resource: resourceOf(object),
      object,
    }));
    const placed = await placeObjects(store, manifests, signal).catch(refuseOldServer);
    printPlaced(context, placed);
    if (!flags.token) return;
    context.out("");
    const token = { ...flags, ttl: FIRST_TTL, uses: "1" };
    await handOut(context, clusters, { hub, flags: token, remembered: server });
  });
}

function renderObjects(server: string | undefined): readonly KubeObject[] {
  return renderHub().map((object) => {
    if (object.kind !== NAMESPACE.kind || server === undefined) return object;
    const annotations = { ...object.metadata.annotations, [SERVER_ANNOTATION]: server };
    return { ...object, metadata: { ...object.metadata, annotations } };
  });
}

function refuseOldServer(cause: unknown): never {
  if (!isStoreError(cause, "NotFound")) throw cause;
  throw new Problem("HubUnsupported", "the cluster's API server lacks something a hub needs", {
    hint: "A hub needs RBAC and ValidatingAdmissionPolicy: Kubernetes 1.30 or newer.",
    cause,
  });
}

export interface EvictFlags extends HubFlags {
  readonly lostFor?: string;
}

export async function hubEvict(
  context: CliContext,
  ids: readonly string[],
  flags: EvictFlags,
): Promise<void> {
  const { signal } = context;
  if ((ids.length === 0) === (flags.lostFor === undefined)) {
    const message = "name the clusters to evict, or say --lost-for, not both and not neither";
    throw new Problem("ArgumentInvalid", message);
  }
  const lostForMs =
    flags.lostFor === undefined ? undefined : parseDuration(flags.lostFor, "--lost-for");
  await withClusters(context, async (clusters) => {
    const { store } = clusters.open(flags);
    await requireHub(store, signal);
    const hub = { store, isAdmin: true };
    const chosen =
      lostForMs === undefined
        ? await requireMembers(store, ids, signal)
        : await listLost(context, store, lostForMs);
    if (chosen.length === 0) context.out("No member has been lost for so long.");
    for (const cluster of chosen) {
      if (flags.output === "yaml") {
        const doomed = renderDoomed(await planDeparture(hub, cluster, signal));
        printYaml(
          context,
          `On the hub, for kubectl delete --ignore-not-found: isthmus hub evict ${cluster}.`,
          doomed,
        );
        continue;
      }
      const removed = await carryOutDeparture(hub, cluster, signal);
      context.out(`${cluster} is evicted: ${countKinds(removed)} removed.`);
    }
  });
}

/** All of them are looked for before the first is touched. */
async function requireMembers(
  store: Cluster["store"],
  ids: readonly string[],
  signal: AbortSignal,
): Promise<readonly ClusterId[]> {
  const chosen: ClusterId[] = [];
  for (const id of ids) {
    const parsed = parseClusterId(id);
    if (!parsed.ok) throw new Problem("ArgumentInvalid", parsed.problem);
    if (!(await isKnown(store, parsed.value, signal).catch(refuseNoHub))) {
      throw new Problem("MemberUnknown", `the hub has no member "${id}"`, {
        hint: "kubectl get clustermembers -A, on the hub, lists those that it has.",
      });
    }
    chosen.push(parsed.value);
  }
  return chosen;
}
