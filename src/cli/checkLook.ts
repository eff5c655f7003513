// CLI: the clusters that check and gather were told of in, all that the checks look at out, as often as asked.

import { setMaxListeners } from "node:events";
import { CLUSTER_ID_PROPERTY } from "../api/names.ts";
import type { Inspection } from "../core/check/inspection.ts";
import { type CheckReport, runChecks } from "../core/check/checkup.ts";
import type { Observation, Sighting } from "../core/clusterset/sighting.ts";
import { glimpseAgentLease, inspectCluster, type LeaseGlimpse } from "../controllers/inspect.ts";
import type { Cluster } from "./cluster.ts";
import type { CliContext } from "./context.ts";
import { describe, type OpenObserver, type Opened } from "./observer.ts";

/** Each is asked some sixty questions. */
const AT_ONCE = 10;

export interface Looked {
  readonly observation: Observation;
  readonly report: CheckReport;
}

export async function lookForChecks(context: CliContext, observer: OpenObserver): Promise<Looked> {
  // Each question that is on its way listens for Ctrl-C: many do, and none leaks.
  setMaxListeners(0, context.signal);
  const { clock, signal } = context;
  const glimpses = observer.opened.map(({ cluster: { store } }) =>
    glimpseAgentLease({ store, clock, signal }),
  );
  // Together: a glimpse that Ctrl-C ends while nobody waits for it would end the process.
  const [observation, ...leases] = await Promise.all([
    observer.look({ watchesLeases: true, canNarrow: false }),
    ...glimpses,
  ]);
  const inspections: (Inspection | undefined)[] = [];
  for (let from = 0; from < observer.opened.length; from += AT_ONCE) {
    const some = observer.opened.slice(from, from + AT_ONCE);
    const found = some.map((opened, at) =>
      inspect(context, opened, {
        sighting: observation.sightings[from + at],
        leaseBefore: leases[from + at],
      }),
    );
    inspections.push(...(await Promise.all(found)));
  }
  // The clock has gone on while Leases were watched.
  const now = { ...observation, nowMs: clock.now() };
  return { observation: now, report: runChecks({ observation: now, inspections }) };
}

async function inspect(
  { clock, signal }: CliContext,
  { name, givenId, cluster }: Opened,
  known: {
    readonly sighting: Sighting | undefined;
    readonly leaseBefore: LeaseGlimpse | undefined;
  },
): Promise<Inspection | undefined> {
  const { sighting, leaseBefore } = known;
  if (sighting === undefined || sighting.isSilent === true) return undefined;
  const { hub } = sighting;
  // Who has no property may still be known by the Secret of its hub.
  const hasProperty = sighting.properties.some(
    ({ metadata }) => metadata.name === CLUSTER_ID_PROPERTY,
  );
  const knownId = givenId ?? (hasProperty || hub === undefined ? undefined : sighting.cluster);
  return inspectCluster({
    store: cluster.store,
    clock,
    signal,
    describe: (error) => describe(error, cluster, clock.now()),
    name,
    knownId,
    isJoined: hub !== undefined,
    leaseBefore,
    askVersion: (bound) => askVersion(cluster, bound),
  });
}

async function askVersion(cluster: Cluster, signal: AbortSignal) {
  const { body, headers } = await cluster.request("GET", "/version", { signal });
  const { gitVersion } = (typeof body === "object" ? body : {}) as { gitVersion?: unknown };
  const date = [headers["date"]].flat()[0];
  const timeMs = date === undefined ? Number.NaN : Date.parse(date);
  return {
    version: typeof gitVersion === "string" ? gitVersion : "",
    timeMs: Number.isNaN(timeMs) ? undefined : timeMs,
  };
}
