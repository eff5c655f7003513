// CLI: exports that would be made or taken away in; what the clusters and the hub show is read, and what would change is
// printed. Writes nothing.

import pc from "picocolors";
import type { ServiceKey } from "../api/names.ts";
import { Problem } from "../api/problem.ts";
import type { Offer } from "../core/clusterset/amend.ts";
import { askToo } from "../core/clusterset/explanation.ts";
import { idOf } from "../core/clusterset/sighting.ts";
import {
  type ClusterChange,
  type ConflictChange,
  type MergedView,
  viewWhatIf,
  type WhatIfView,
} from "../core/clusterset/whatif.ts";
import { describePort } from "../core/ports.ts";
import type { CliContext } from "./context.ts";
import { type ReadingFlags, withObserver } from "./observer.ts";
import type { TargetFlags } from "./exportTarget.ts";
import { warnOf } from "./printing.ts";
import { plain } from "./terminal.ts";

interface Change {
  readonly key: ServiceKey;
  /** Undefined: its export is taken away. */
  readonly offer: Offer | undefined;
}

export async function showWhatIf(
  context: CliContext,
  flags: TargetFlags,
  changes: readonly Change[],
): Promise<void> {
  const { kubeconfig, context: contexts, hub } = flags;
  const reading: ReadingFlags = { kubeconfig, context: contexts, hub };
  await withObserver(context, reading, async (observer) => {
    const views: WhatIfView[] = [];
    for (const namespace of new Set(changes.map(({ key }) => key.split("/")[0]))) {
      const observation = await observer.look({ namespace });
      const [target] = observation.sightings;
      if (target === undefined) continue;
      const problems = observation.sightings.flatMap((sighting) =>
        sighting.problems.map((problem) => `${idOf(sighting)}: ${problem}`),
      );
      const { problem } = observation.hub ?? {};
      warnOf(context, problem === undefined ? problems : [...problems, problem]);
      const here = changes.filter(({ key }) => key.startsWith(`${namespace}/`));
      for (const { key, offer } of here) {
        views.push(viewWhatIf(observation, { cluster: idOf(target), service: key, offer }));
      }
    }
    for (const view of views) for (const line of renderWhatIf(view, context)) context.out(line);
    context.error("Nothing was written.");
    const begun = views.flatMap(({ conflicts }) =>
      conflicts.filter(({ change }) => change === "begins"),
    );
    if (begun.length > 0) {
      const noun = begun.length === 1 ? "conflict" : "conflicts";
      throw new Problem("NotWell", `it would cause ${begun.length} ${noun}`, {
        hint: "Make the Services agree first: where they do not, the oldest export wins.",
      });
    }
  });
}

export function renderWhatIf(view: WhatIfView, context: CliContext): readonly string[] {
  const { bold, dim } = pc.createColors(context.color);
  const { namespace, name, cluster, change, before, after, unknown } = view;
  const deed = change === "export" ? "exports it" : "no longer exports it";
  const isSame = JSON.stringify(before) === JSON.stringify(after);
  return [
    `${bold(plain(`${namespace}/${name}`))}, when ${plain(cluster)} ${deed}:`,
    row(isSame ? "merged" : "merged then", describeMerged(after)),
    ...(isSame ? [] : [row("now", dim(describeMerged(before)))]),
    ...(view.conflicts.length === 0 ? [row("conflicts", "none")] : []),
    ...view.conflicts.map((conflict) => row("conflict", describeConflict(conflict, context))),
    ...view.clusters.map((one) => row(`in ${one.cluster}`, describeCluster(one, view))),
    ...(unknown.length === 0
      ? []
      : [row("not asked", `${plain(unknown.join(", "))}: taken for what the imports show of it.`)]),
    ...(unknown.length === 0 ? [] : [row("", `→ ${plain(askToo(unknown))}`)]),
  ];
}

function row(title: string, text: string): string {
  return `  ${plain(title).padEnd(11)} ${text}`.trimEnd();
}

function describeMerged(merged: MergedView | undefined): string {
  if (merged === undefined) return "nobody exports it";
  const { type, ports, clusters, oldest } = merged;
  const named = ports.map(describePort).join(", ") || "no ports";
  const first = clusters.length > 1 ? `; the oldest is that of ${oldest}` : "";
  return plain(`${type}, ${named}; exported by ${clusters.join(", ")}${first}`);
}

const WORDS = {
  begins: "BEGINS ",
  changes: "changes",
  stays: "stays  ",
  ends: "ends   ",
} as const;

function describeConflict(conflict: ConflictChange, { color }: Pick<CliContext, "color">): string {
  const { red, green, yellow } = pc.createColors(color);
  const { change, reason, message, winner } = conflict;
  const paint = change === "begins" ? red : change === "ends" ? green : yellow;
  const said = change === "ends" ? "" : `: ${plain(message)}`;
  const verb = change === "ends" ? "won" : "wins";
  const who = winner === undefined ? "" : ` (${plain(winner)} ${verb})`;
  return `${paint(WORDS[change])} ${reason}${who}${said}`;
}

function describeCluster(one: ClusterChange, { namespace }: WhatIfView): string {
  const { changes, inNamespace, leftOut } = one;
  if (inNamespace === "missing" || inNamespace === "terminating") {
    return `nothing: it has no namespace ${namespace}.`;
  }
  const noticed = changes.length === 0 ? "nothing changes" : changes.join("; ");
  return plain(`${noticed}.${leftOut === undefined ? "" : ` Left out: ${leftOut}`}`);
}
