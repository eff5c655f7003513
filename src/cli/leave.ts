// CLI: `isthmus leave`: takes a cluster out of its hub: what it shared, then everything that Isthmus made in it.

import { Problem } from "../api/problem.ts";
import { carryOutDeparture, type HubAccess, planDeparture } from "../controllers/departure.ts";
import {
  carryOutLocalDeparture,
  type LocalDeparture,
  planLocalDeparture,
} from "../controllers/leave.ts";
import { readMembership, writeCredential } from "../controllers/membership.ts";
import { withoutAgent } from "../controllers/standdown.ts";
import type { HubCredential } from "../hub/credential.ts";
import { describeFailure } from "../kube/failure.ts";
import { isStoreError } from "../ports/store.ts";
import { type ClusterFlags, type Cluster, type Clusters, withClusters } from "./cluster.ts";
import type { CliContext } from "./context.ts";
import { countKinds, printYaml, renderDoomed, warn } from "./output.ts";

export interface LeaveFlags extends ClusterFlags {
  readonly hubKubeconfig?: string;
  readonly hubContext?: string;
  readonly localOnly: boolean;
  readonly force: boolean;
  readonly output?: string;
}

export async function runLeave(context: CliContext, flags: LeaveFlags): Promise<void> {
  const { clock, random, signal } = context;
  await withClusters(context, async (clusters) => {
    const cluster = clusters.open(flags);
    const { store } = cluster;
    const found = await readMembership(store, signal);
    const { credential } = found;
    if (credential === undefined && !flags.localOnly) throw notMember();
    const hub =
      credential === undefined || flags.localOnly
        ? undefined
        : openHub(clusters, flags, credential);
    if (flags.output === "yaml") {
      await printPlan(context, { cluster, hub, credential });
      return;
    }
    const identity = `isthmus-leave-${random().toString(36).slice(2, 10)}`;
    context.error("Looking whether an agent of the cluster is at work …");
    await withoutAgent({ store, clock, identity, force: flags.force, signal }, async () => {
      if (hub !== undefined && credential !== undefined) {
        const removed = await leaveHub(context, hub, credential);
        context.out(`On the hub: ${countKinds(removed)} removed.`);
        // Without a token a second run knows that the hub's part is done.
        const { token: _, ...rest } = credential;
        await writeCredential(store, rest, { before: found.secret, signal });
      }
      const plan = await planLocalDeparture(store, signal);
      const removed = await carryOutLocalDeparture({ store, clock, signal }, plan);
      context.out(`In the cluster: ${countKinds(removed)} removed.`);
      tellWhatStays(context, plan);
    });
    tellUnfinished(context, { credential, hub, flags });
    const name = credential === undefined ? "The cluster" : credential.cluster;
    context.out(`${name} has left. Its exports and CustomResourceDefinitions are still there.`);
  });
}

function openHub(
  clusters: Clusters,
  flags: LeaveFlags,
  credential: HubCredential,
): HubAccess | undefined {
  if (flags.hubKubeconfig !== undefined || flags.hubContext !== undefined) {
    const { store } = clusters.open({
      ...(flags.hubKubeconfig !== undefined && { kubeconfig: flags.hubKubeconfig }),
      ...(flags.hubContext !== undefined && { context: flags.hubContext }),
    });
    return { store, isAdmin: true };
  }
  const { token } = credential;
  if (token === undefined) return undefined;
  return { store: clusters.reach({ ...credential, token }).store, isAdmin: false };
}

async function leaveHub(context: CliContext, hub: HubAccess, { cluster, server }: HubCredential) {
  try {
    return await carryOutDeparture(hub, cluster, context.signal);
  } catch (cause) {
    if (context.signal.aborted) throw cause;
    const { code, message } = describeFailure(cause);
    const isStranger = isStoreError(cause, "Unauthorized", "Forbidden");
    throw new Problem(
      code,
      isStranger
        ? `the hub at ${server} does not know the cluster any more, or has taken its permissions: ${message}`
        : `the hub at ${server} cannot be told: ${message}`,
      {
        hint: `${isStranger ? "" : "Run it again when the hub answers. If it never will: "}isthmus leave --local-only removes what is in the cluster. What the hub still has goes with: isthmus hub evict ${cluster}, on the hub.`,
        cause,
      },
    );
  }
}

async function printPlan(
  context: CliContext,
  from: {
    readonly cluster: Cluster;
    readonly hub: HubAccess | undefined;
    readonly credential: HubCredential | undefined;
  },
): Promise<void> {
  const { cluster, hub, credential } = from;
  const { signal } = context;
  if (hub !== undefined && credential !== undefined) {
    const doomed = renderDoomed(await planDeparture(hub, credential.cluster, signal));
    printYaml(context, "On the hub, for kubectl delete --ignore-not-found: isthmus leave.", doomed);
  }
  const plan = await planLocalDeparture(cluster.store, signal);
  const { policies, imports, access, namespace } = plan;
  const local = [
    ...policies,
    ...imports,
    ...access,
    ...(namespace === undefined ? [] : [namespace]),
  ];
  printYaml(
    context,
    "In the cluster, for kubectl delete --ignore-not-found: isthmus leave.",
    renderDoomed(local),
  );
  for (const line of describeReleases(plan.released)) context.out(line);
}

/** As comments: whoever gives all of this to kubectl delete must not lose what is theirs. */
function describeReleases(released: LocalDeparture["released"]): readonly string[] {
  if (released.length === 0) return [];
  const each = released.map(
    ({ resource, ref, subresource }) =>
      `#   ${resource.kind} ${ref.namespace}/${ref.name}${subresource === undefined ? "" : `, its ${subresource}`}`,
  );
  return ["# Not deleted: isthmus leave takes back only what it added, if anything, to", ...each];
}

function tellWhatStays(context: CliContext, plan: LocalDeparture): void {
  const [first] = plan.lodgers;
  if (first === undefined) return;
  warn(context, [
    `The namespace ${first.ref.namespace} stays, because it holds ${countKinds(plan.lodgers)} that are not ours, such as the ${first.resource.kind} ${first.ref.name}.`,
  ]);
}

function tellUnfinished(
  context: CliContext,
  left: {
    readonly credential: HubCredential | undefined;
    readonly hub: HubAccess | undefined;
    readonly flags: LeaveFlags;
  },
): void {
  const { credential, hub, flags } = left;
  if (credential === undefined || hub !== undefined) return;
  const why = flags.localOnly
    ? "The hub was not told"
    : "The cluster held no credential for the hub";
  warn(context, [
    `${why}. Should it still list ${credential.cluster}: isthmus hub evict ${credential.cluster}, on the hub.`,
  ]);
}

function notMember(): Problem {
  return new Problem("NotMember", "the cluster is not a member of a hub", {
    hint: "Check --kubeconfig and --context. --local-only removes what an earlier membership left.",
  });
}
