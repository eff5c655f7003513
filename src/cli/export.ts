// CLI: `isthmus export`: offers Services to the clusterset, or says what would become of that. All are looked at before the
// first is written.

import { SERVICE_EXPORT, type ServiceExport } from "../api/mcs.ts";
import { type ClusterId, FIELD_MANAGER } from "../api/names.ts";
import { Problem } from "../api/problem.ts";
import { judgeExport } from "../core/export.ts";
import { createPolicy } from "../core/policy.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import { type Cluster, withClusters } from "./cluster.ts";
import type { CliContext } from "./context.ts";
import { parseDuration } from "./duration.ts";
import {
  findWanted,
  openTarget,
  readSlices,
  renderExport,
  type TargetFlags,
  type Wanted,
} from "./exportTarget.ts";
import { waitUntilReady } from "./exportWait.ts";
import { showWhatIf } from "./foresight.ts";
import { printYaml } from "./output.ts";

export interface ExportFlags extends TargetFlags {
  readonly wait: boolean;
  readonly timeout: string;
  readonly allowNamespace: readonly string[];
}

export async function runExport(
  context: CliContext,
  names: readonly string[],
  flags: ExportFlags,
): Promise<void> {
  const timeoutMs = parseDuration(flags.timeout, "--timeout");
  const { signal } = context;
  await withClusters(context, async (clusters) => {
    const cluster = openTarget(clusters, flags);
    const wanted = await findWanted(cluster, { names, flags, signal });
    refuse(wanted, flags);
    if (flags.output === "yaml") {
      const objects = wanted.map(({ ref }) => renderExport(ref));
      printYaml(context, "For kubectl apply --server-side: isthmus export.", objects);
      return;
    }
    if (flags.dryRun) {
      await foresee(context, { cluster, wanted, flags });
      return;
    }
    for (const one of wanted) context.out(await makeExport(cluster.store, one, signal));
    if (flags.wait) {
      await waitUntilReady(context, { store: cluster.store, wanted, timeoutMs });
      return;
    }
    const [first] = wanted;
    if (first !== undefined) context.error(`What becomes of it: isthmus explain ${first.key}`);
  });
}

interface Refusal {
  readonly message: string;
  readonly hint: string;
}

/** What the controllers would refuse is not written in the first place. All of it is said, not the first. */
function refuse(wanted: readonly Wanted[], flags: ExportFlags): void {
  const { isDenied } = createPolicy({ allowed: flags.allowNamespace });
  const refusals = wanted.flatMap((one) => findRefusal(one, isDenied(one.ref.namespace)) ?? []);
  if (refusals.length === 0) return;
  throw new Problem(
    "NotExportable",
    [...new Set(refusals.map(({ message }) => message))].join("; "),
    {
      hint: `${[...new Set(refusals.map(({ hint }) => hint))].join(" ")}${wanted.length > 1 ? " Nothing was exported." : ""}`,
    },
  );
}

function findRefusal(wanted: Wanted, namespaceDenied: boolean): Refusal | undefined {
  const { key, ref, service, serviceExport } = wanted;
  const { namespace, name } = ref;
  const cluster = "" as ClusterId;
  const facts = { cluster, ...ref, serviceExport, service, namespaceDenied };
  const [valid] = judgeExport(facts, { published: false, merged: undefined });
  const isEnding = serviceExport?.metadata.deletionTimestamp !== undefined;
  switch (valid?.status === "False" ? valid.reason : undefined) {
    case undefined:
      return isEnding
        ? {
            message: `the export of ${key} is being deleted, and somebody holds it`,
            hint: "Run it again when it is gone.",
          }
        : undefined;
    case "NamespaceDenied":
      return {
        message: `Services of namespace "${namespace}" are not exported unless whoever runs Isthmus allows it`,
        hint: `Name another namespace with -n, or move the Service. Where central or the agents run with --allow-namespace ${namespace}, give it here, too.`,
      };
    case "NoService":
      return {
        message: `there is no Service "${name}" in namespace "${namespace}"`,
        hint: `Create it first, or name its namespace with -n. See what is there: kubectl get services -n ${namespace}.`,
      };
    default:
      return { message: `${key} cannot be exported`, hint: valid?.message ?? "" };
  }
}

async function makeExport(store: Store, wanted: Wanted, signal: AbortSignal): Promise<string> {
  const { key, ref, serviceExport } = wanted;
  if (serviceExport !== undefined) return describePresent(wanted);
  try {
    await store.create(SERVICE_EXPORT, renderExport(ref), { fieldManager: FIELD_MANAGER, signal });
    return `${key}: exported.`;
  } catch (error) {
    // Somebody else did so since we looked.
    if (isStoreError(error, "AlreadyExists")) return `${key}: exported already.`;
    throw error;
  }
}

function describePresent({ key, serviceExport }: Wanted): string {
  return `${key}: exported already, since ${serviceExport?.metadata.creationTimestamp}.`;
}

async function foresee(
  context: CliContext,
  task: {
    readonly cluster: Cluster;
    readonly wanted: readonly Wanted[];
    readonly flags: ExportFlags;
  },
): Promise<void> {
  const { cluster, wanted, flags } = task;
  const { signal } = context;
  const offers = [];
  for (const one of wanted) {
    if (one.serviceExport !== undefined) context.out(describePresent(one));
    offers.push({
      key: one.key,
      offer: {
        serviceExport: one.serviceExport ?? (await imagineExport(cluster.store, one, signal)),
        service: one.service,
        slices: await readSlices(cluster.store, one.ref, signal),
      },
    });
  }
  await showWhatIf(context, flags, offers);
}

/** As the API server would have it, by its own clock, if it takes it at all. */
function imagineExport(store: Store, { ref }: Wanted, signal: AbortSignal): Promise<ServiceExport> {
  return store.create(SERVICE_EXPORT, renderExport(ref), {
    fieldManager: FIELD_MANAGER,
    dryRun: true,
    signal,
  });
}
