// CLI: the clusters that a reading command was told of in, one observation of them and of their hub out, as often as asked.
// A cluster that fails is a sentence in the observation.

import { Problem } from "../api/problem.ts";
import type { Lease } from "../api/builtin.ts";
import { type HubDepth, listLeases, sightCluster, sightHub } from "../controllers/sight.ts";
import { list } from "../core/clusterset/explanation.ts";
import type { HubSighting, Observation, Sighting } from "../core/clusterset/sighting.ts";
import type { HubCredential } from "../hub/credential.ts";
import { describeFailure } from "../kube/failure.ts";
import { parseTime, sleep } from "../ports/clock.ts";
import { type Cluster, type Clusters, withClusters } from "./cluster.ts";
import type { CliContext } from "./context.ts";
import { readSources, type Source, type SourceFlags } from "./source.ts";

export interface ReadingFlags extends SourceFlags {
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  /** False: `--no-hub`. */
  readonly hub: boolean;
  readonly output?: OutputFormat;
}

export type OutputFormat = "json" | "yaml" | "wide" | "name";

export interface Observer {
  /** Where names without a namespace are: as the first cluster's context has it. */
  readonly defaultNamespace: string;
  look(options?: LookOptions): Promise<Observation>;
}

export interface LookOptions {
  /** Absent: all. */
  readonly namespace?: string | undefined;
  readonly depth?: HubDepth;
  /** Take the time to see whether Leases are renewed, where their times alone do not show it. */
  readonly watchesLeases?: boolean;
}

/** A Lease of this age is worth watching. Only a reason to look twice: clocks of clusters are not compared. */
const DOUBTFUL_MS = 15_000;
const WATCH_MS = 13_000;
const WATCH_EVERY_MS = 1_000;

export async function withObserver<T>(
  context: CliContext,
  flags: ReadingFlags,
  work: (observer: Observer) => Promise<T>,
): Promise<T> {
  return withClusters(context, async (clusters) => {
    const named = readSources(flags);
    const sources: readonly Source[] = named.length > 0 ? named : [{ name: "" }];
    const opened = sources.map((source) => openSource(clusters, source));
    return work({
      defaultNamespace: opened[0]?.cluster.config.namespace ?? "default",
      look: (options = {}) => look({ context, flags, clusters }, opened, options),
    });
  });
}

/** The namespace that a command is limited to; undefined: all. */
export function chooseNamespace(flags: ReadingFlags, fallback: string | undefined) {
  if (flags.allNamespaces === true && flags.namespace !== undefined) {
    throw new Problem("ArgumentInvalid", "give --namespace or --all-namespaces, not both");
  }
  return flags.allNamespaces === true ? undefined : (flags.namespace ?? fallback);
}

interface Opened {
  readonly name: string;
  readonly givenId: string | undefined;
  readonly cluster: Cluster;
}

function openSource(clusters: Clusters, { name, givenId, paths, context }: Source): Opened {
  const [kubeconfig] = paths ?? [];
  const cluster = clusters.open({
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
  });
  return { name: name === "" ? (contextOf(cluster) ?? "") : name, givenId, cluster };
}

function contextOf({ config: { source } }: Cluster): string | undefined {
  return source.kind === "kubeconfig" ? source.context : undefined;
}

interface Desk {
  readonly context: CliContext;
  readonly flags: ReadingFlags;
  readonly clusters: Clusters;
}

async function look(
  desk: Desk,
  opened: readonly Opened[],
  options: LookOptions,
): Promise<Observation> {
  const { clock, signal } = desk.context;
  const sighted = await Promise.all(
    opened.map(({ name, givenId, cluster }) =>
      sightCluster({
        store: cluster.store,
        clock,
        signal,
        describe: (error) => describe(error, cluster, clock.now()),
        name,
        givenId,
        guess: contextOf(cluster),
        namespace: options.namespace,
      }),
    ),
  );
  const sightings = sighted.map(({ sighting }): Sighting => sighting);
  const credentials = sighted.flatMap(({ credential }) => credential ?? []);
  const hub = desk.flags.hub ? await lookAtHub(desk, credentials, options) : undefined;
  const { namespace } = options;
  return {
    sightings,
    ...(hub === undefined ? {} : { hub }),
    ...(namespace === undefined ? {} : { namespace }),
    nowMs: clock.now(),
  };
}

/** Any member may read all of it; the first whose credential is good is asked. */
async function lookAtHub(
  desk: Desk,
  credentials: readonly HubCredential[],
  options: LookOptions,
): Promise<HubSighting | undefined> {
  const { clock, signal } = desk.context;
  let failed: HubSighting | undefined;
  for (const credential of credentials) {
    const { server, ca, token } = credential;
    if (token === undefined) continue;
    const cluster = desk.clusters.reach({ server, token, ...(ca === undefined ? {} : { ca }) });
    const sighting = await sightHub({
      store: cluster.store,
      clock,
      signal,
      describe: (error) => describe(error, cluster, clock.now()),
      credential,
      depth: options.depth ?? "endpoints",
    });
    if (sighting.problem === undefined) {
      return options.watchesLeases === true ? watchLeases(desk, cluster, sighting) : sighting;
    }
    failed ??= sighting;
  }
  return failed;
}

/** Until every doubtful one has been renewed, or has had the time to. */
async function watchLeases(
  { context }: Desk,
  { store }: Cluster,
  hub: HubSighting,
): Promise<HubSighting> {
  const { clock, signal } = context;
  const beganMs = clock.monotonic();
  const before = hub.leases;
  const isDoubtful = ({ spec }: Lease): boolean => {
    const renewedMs = parseTime(spec?.renewTime);
    return renewedMs !== undefined && Math.abs(clock.now() - renewedMs) >= DOUBTFUL_MS;
  };
  let pending = before.filter(isDoubtful);
  if (pending.length === 0) return hub;
  const names = pending.map(({ metadata }) => metadata.name ?? "");
  context.error(
    `watching for up to ${WATCH_MS / 1_000} s whether ${list(names)} ${names.length === 1 ? "is" : "are"} heard`,
  );
  let leases = before;
  while (pending.length > 0 && clock.monotonic() - beganMs < WATCH_MS) {
    await sleep(clock, WATCH_EVERY_MS, signal);
    leases = await listLeases(store, signal);
    const now = new Map(leases.map(({ metadata, spec }) => [metadata.name, spec?.renewTime]));
    pending = pending.filter(({ metadata, spec }) => now.get(metadata.name) === spec?.renewTime);
  }
  return { ...hub, leases, before: { leases: before, elapsedMs: clock.monotonic() - beganMs } };
}

/** One sentence, or two: what happened and what to do. */
function describe(error: unknown, { config }: Cluster, nowMs: number): string {
  const problem = describeFailure(error, { config, nowMs });
  const message = problem.message.charAt(0).toUpperCase() + problem.message.slice(1);
  return problem.hint === undefined ? `${message}.` : `${message}. ${problem.hint}`;
}
