// CLI: `isthmus policy`: prints, installs or removes the policies of a member cluster.

import type { KubeObject } from "../api/object.ts";
import { Problem } from "../api/problem.ts";
import { placeObjects } from "../controllers/place.ts";
import { removeInOrder } from "../controllers/remove.ts";
import { resourceOf } from "../hub/manifest/resource.ts";
import { renderClusterPolicies, renderClusterPolicyRemoval } from "../policy/cluster.ts";
import type { HandmadeImports } from "../policy/imports.ts";
import { isStoreError } from "../ports/store.ts";
import { type ClusterFlags, withClusters } from "./cluster.ts";
import type { CliContext } from "./context.ts";
import { countKinds, printPlaced, printYaml } from "./output.ts";

export interface PolicyFlags {
  readonly controllerUser: readonly string[];
  readonly controllerGroup: readonly string[];
  readonly allowNamespace: readonly string[];
  readonly denyNamespace: readonly string[];
  readonly handMadeImports: HandmadeImports;
}

export function printPolicies(context: CliContext, flags: PolicyFlags): void {
  printYaml(context, "In each member cluster: isthmus policy install.", renderFrom(flags));
}

export async function installPolicies(
  context: CliContext,
  flags: PolicyFlags & ClusterFlags,
): Promise<void> {
  const manifests = renderFrom(flags).map((object) => ({ resource: resourceOf(object), object }));
  await withClusters(context, async (clusters) => {
    const { store } = clusters.open(flags);
    const placed = await placeObjects(store, manifests, context.signal).catch(refuseOldServer);
    printPlaced(context, placed);
  });
}

export async function removePolicies(context: CliContext, flags: ClusterFlags): Promise<void> {
  await withClusters(context, async (clusters) => {
    const { store } = clusters.open(flags);
    const removed = await removeInOrder(store, renderClusterPolicyRemoval(), context.signal);
    context.out(`In the cluster: ${countKinds(removed)} removed.`);
  });
}

function renderFrom(flags: PolicyFlags): readonly KubeObject[] {
  return renderClusterPolicies({
    controllers: { users: flags.controllerUser, groups: flags.controllerGroup },
    namespaces: { allowed: flags.allowNamespace, denied: flags.denyNamespace },
    handmadeImports: flags.handMadeImports,
  });
}

function refuseOldServer(cause: unknown): never {
  if (!isStoreError(cause, "NotFound")) throw cause;
  const message = "the cluster's API server has no ValidatingAdmissionPolicies";
  throw new Problem("PoliciesUnsupported", message, {
    hint: "They need Kubernetes 1.30 or newer.",
    cause,
  });
}
