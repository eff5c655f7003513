// CLI: `isthmus top`: services by how many endpoints they have, and how far behind their imports are, as far as objects tell.

import { type ServiceView, viewClusterset } from "../core/clusterset/view.ts";
import type { CliContext } from "./context.ts";
import { chooseNamespace, type ReadingFlags, requireSight, withObserver } from "./observer.ts";
import { ageOf, type Column, printData, printTable, warnOf } from "./printing.ts";

export interface TopRow {
  readonly namespace: string;
  readonly name: string;
  /** Clusters that export it. */
  readonly exports: number;
  /** Clusters that import it, of those that were asked. */
  readonly imports: number;
  /** The most that any importing cluster has; where none was asked, what is exported. */
  readonly endpoints: number;
  readonly ready: number;
  /** The worst of the imports; see SyncView. */
  readonly lagSeconds?: number;
  readonly behind: number;
  readonly pendingSince?: string;
}

export async function runTop(context: CliContext, flags: ReadingFlags): Promise<void> {
  await withObserver(context, flags, async (observer) => {
    const namespace = chooseNamespace(flags, undefined);
    const observation = await observer.look({ namespace });
    requireSight(observation);
    const view = viewClusterset(observation);
    warnOf(
      context,
      view.clusters.flatMap(({ id, problems }) => problems.map((problem) => `${id}: ${problem}`)),
    );
    const rows = view.services.map(rowOf).toSorted((a, b) => b.endpoints - a.endpoints);
    const names = rows.map(({ namespace: space, name }) => `${space}/${name}`);
    if (printData(context, flags.output, { data: { services: rows }, names })) return;
    if (rows.length === 0) {
      context.error("Nothing is exported or imported.");
      return;
    }
    printTable(context, rows, {
      columns: columnsFor(observation.nowMs),
      isWide: flags.output === "wide",
    });
    context.error(
      "LAG: from the last change of an endpoint at home to its arrival, by the clocks of two API servers, in whole seconds.",
    );
  });
}

function columnsFor(nowMs: number): readonly Column<TopRow>[] {
  return [
    { title: "NAMESPACE", read: ({ namespace }) => namespace },
    { title: "NAME", read: ({ name }) => name },
    { title: "EXPORTS", read: ({ exports }) => String(exports) },
    { title: "IMPORTS", read: ({ imports }) => String(imports) },
    { title: "ENDPOINTS", read: ({ endpoints }) => String(endpoints) },
    { title: "READY", read: ({ ready }) => String(ready) },
    { title: "LAG", read: ({ lagSeconds }) => (lagSeconds === undefined ? "-" : `${lagSeconds}s`) },
    {
      title: "BEHIND",
      read: ({ behind, imports }) => (behind === 0 ? "-" : `${behind} of ${imports}`),
    },
    { title: "WAITING", read: ({ pendingSince }) => ageOf(pendingSince, nowMs), wide: true },
  ];
}

function rowOf({ namespace, name, exports, imports }: ServiceView): TopRow {
  const counted = imports.length > 0 ? imports : exports;
  const lags = imports.flatMap(({ sync }) => sync.lagSeconds ?? []);
  const [pendingSince] = imports.flatMap(({ sync }) => sync.pendingSince ?? []).toSorted();
  return {
    namespace,
    name,
    exports: exports.filter(({ valid }) => valid).length,
    imports: imports.length,
    endpoints: Math.max(0, ...counted.map(({ endpoints }) => endpoints)),
    ready: Math.max(0, ...counted.map(({ ready }) => ready)),
    ...(lags.length === 0 ? {} : { lagSeconds: Math.max(...lags) }),
    behind: imports.filter(({ behind }) => behind !== undefined).length,
    ...(pendingSince === undefined ? {} : { pendingSince }),
  };
}
