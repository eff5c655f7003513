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
import { countKinds, printPlaced, printYaml, renderDoomed } from "./output.ts";

export interface PolicyFlags {
  readonly controllerUser: readonly string[];
  readonly controllerGroup: readonly string[];
  readonly allowNamespace: readonly string[];
  readonly denyNamespace: readonly string[];
  readonly handMadeImports: HandmadeImports;
}

export interface ChangeFlags extends ClusterFlags {
  readonly output?: "yaml";
}

export function printPolicies(context: CliContext, flags: PolicyFlags): void {
  printYaml(context, "In each member cluster: isthmus policy install.", renderFrom(flags));
}

export async function installPolicies(
  context: CliContext,
  flags: PolicyFlags & ChangeFlags,
): Promise<void> {
  if (flags.output === "yaml") {
    printPolicies(context, flags);
    return;
  }
  const manifests = renderFrom(flags).map((object) => ({ resource: resourceOf(object), object }));
  await withClusters(context, async (clusters) => {
    const { store } = clusters.open(flags);
    const placed = await placeObjects(store, manifests, context.signal).catch(refuseOldServer);
    printPlaced(context, placed);
  });
}

export async function removePolicies(context: CliContext, flags: ChangeFlags): Promise<void> {
  if (flags.output === "yaml") {
    const doomed = renderDoomed(renderClusterPolicyRemoval());
    printYaml(context, "For kubectl delete --ignore-not-found: isthmus policy remove.", doomed);
    return;
  }
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
