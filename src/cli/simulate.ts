// CLI: `isthmus simulate --without <cluster>`: what every service would have left. Reads only.

import type { ClusterId } from "../api/names.ts";
import { Problem } from "../api/problem.ts";
import { type Loss, type LossView, viewWithout } from "../core/clusterset/without.ts";
import type { CliContext } from "./context.ts";
import { chooseNamespace, type ReadingFlags, requireSight, withObserver } from "./observer.ts";
import { type Column, printData, printTable, warnOf } from "./printing.ts";

export interface SimulateFlags extends ReadingFlags {
  readonly without: string;
}

const WORST_FIRST: readonly Loss[] = ["gone", "partly", "unknown", "weaker", "none"];

export async function runSimulate(context: CliContext, flags: SimulateFlags): Promise<void> {
  await withObserver(context, flags, async (observer) => {
    const namespace = chooseNamespace(flags, undefined);
    const observation = await observer.look({ namespace });
    requireSight(observation);
    const losses = viewWithout(observation, flags.without as ClusterId);
    warnOf(
      context,
      observation.sightings.flatMap(({ cluster, name, problems }) =>
        problems.map((problem) => `${cluster ?? name}: ${problem}`),
      ),
    );
    if (losses === undefined) {
      throw new Problem("NothingFound", `there is no cluster "${flags.without}"`, {
        hint: "See them all with: isthmus get clusters",
      });
    }
    const rows = losses.toSorted(
      (a, b) => WORST_FIRST.indexOf(a.loss) - WORST_FIRST.indexOf(b.loss),
    );
    const gone = rows.filter(({ loss }) => loss === "gone" || loss === "partly");
    const open = rows.filter(({ loss }) => loss === "unknown");
    const names = [...gone, ...open].map(({ namespace: space, name }) => `${space}/${name}`);
    if (
      !printData(context, flags.output, { data: { without: flags.without, services: rows }, names })
    ) {
      printLosses(context, rows, flags);
    }
    if (gone.length > 0) {
      throw new Problem(
        "NotWell",
        `without ${flags.without}, ${gone.length} of ${rows.length} services would fail`,
        {
          hint: "Export them from another cluster, too, before that one goes.",
        },
      );
    }
    // Who asks before a cluster is taken away must not take "cannot be told" for "goes on".
    if (open.length > 0) {
      throw new Problem(
        "NotWell",
        `what ${open.length} of ${rows.length} services would have left without ${flags.without} cannot be told`,
        { hint: "Name the clusters that import them, too, with --kubeconfig or --context." },
      );
    }
  });
}

function printLosses(context: CliContext, rows: readonly LossView[], flags: SimulateFlags): void {
  if (rows.length === 0) {
    context.error("Nothing is exported or imported.");
    return;
  }
  const columns: readonly Column<LossView>[] = [
    { title: "NAMESPACE", read: ({ namespace }) => namespace },
    { title: "NAME", read: ({ name }) => name },
    { title: "LOSS", read: ({ loss }) => loss },
    {
      title: "READY LEFT",
      read: ({ imports }) =>
        imports.map(({ cluster, ready, left }) => `${cluster} ${left}/${ready}`).join(", ") || "-",
    },
    { title: "WHY", read: ({ why }) => why },
    {
      title: "IF IT LEAVES FOR GOOD",
      read: ({ changes }) => changes.join("; ") || "-",
      wide: true,
    },
  ];
  printTable(context, rows, { columns, isWide: flags.output === "wide" });
}
