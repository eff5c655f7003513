// CLI: `isthmus unexport`: takes exports back, or says what would be left of them. The Services themselves stay.

import { SERVICE_EXPORT } from "../api/mcs.ts";
import { Problem } from "../api/problem.ts";
import { withClusters } from "./cluster.ts";
import type { CliContext } from "./context.ts";
import { findWanted, openTarget, type TargetFlags, type Wanted } from "./exportTarget.ts";
import { showWhatIf } from "./foresight.ts";
import { printYaml, renderDoomed } from "./output.ts";

export interface UnexportFlags extends TargetFlags {
  readonly ignoreNotFound: boolean;
}

export async function runUnexport(
  context: CliContext,
  names: readonly string[],
  flags: UnexportFlags,
): Promise<void> {
  const { signal } = context;
  await withClusters(context, async (clusters) => {
    const cluster = openTarget(clusters, flags);
    const wanted = await findWanted(cluster, { names, flags, signal });
    const missing = wanted.filter(({ serviceExport }) => serviceExport === undefined);
    if (missing.length > 0 && !flags.ignoreNotFound) throw notExported(missing, wanted);
    const there = wanted.filter(({ serviceExport }) => serviceExport !== undefined);
    if (flags.output === "yaml") {
      const doomed = renderDoomed(there.map(({ ref }) => ({ resource: SERVICE_EXPORT, ref })));
      printYaml(context, "For kubectl delete --ignore-not-found: isthmus unexport.", doomed);
      return;
    }
    if (flags.dryRun) {
      const changes = there.map(({ key }) => ({ key, offer: undefined }));
      await showWhatIf(context, flags, changes);
      return;
    }
    for (const { key } of missing) context.out(`${key}: was not exported.`);
    for (const { key, ref, serviceExport } of there) {
      const uid = serviceExport?.metadata.uid;
      // This very export: who has made another since wants that one.
      await cluster.store.delete(SERVICE_EXPORT, ref, { ...(uid && { uid }), signal });
      context.out(`${key}: no longer exported.`);
    }
  });
}

function notExported(missing: readonly Wanted[], wanted: readonly Wanted[]): Problem {
  const keys = missing.map(({ key }) => key).join(", ");
  const rest = wanted.length > missing.length ? " Nothing was taken back." : "";
  return new Problem("NothingFound", `${keys} is not exported by this cluster`, {
    hint: `See what is: isthmus get exports -A. --ignore-not-found passes over it.${rest}`,
  });
}
