// CLI: the clusters that a reading command was told of in, one observation of them and of their hub out, as often as asked.
// A cluster that fails is a sentence in the observation.

import { Problem } from "../api/problem.ts";
import { type HubDepth, sightCluster, sightHub } from "../controllers/sight.ts";
import { sentence } from "../core/clusterset/explanation.ts";
import {
  hasOtherHub,
  type HubSighting,
  idOf,
  isBlind,
  type Observation,
  type Sighting,
} from "../core/clusterset/sighting.ts";
import type { HubCredential } from "../hub/credential.ts";
import { describeFailure } from "../kube/failure.ts";
import { type Cluster, type Clusters, withClusters } from "./cluster.ts";
import { type CliContext, tellOnce } from "./context.ts";
import { watchLeases } from "./leaseWatch.ts";
import { flagsOf, readSources, type Source, type SourceFlags } from "./source.ts";

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

/** Also lets others ask the same clusters for more. */
export interface OpenObserver extends Observer {
  /** In the order of the sightings. */
  readonly opened: readonly Opened[];
}

export interface LookOptions {
  /** Absent: all. */
  readonly namespace?: string | undefined;
  readonly depth?: HubDepth;
  /** False: the command has no -n, so nobody is told to use it. */
  readonly canNarrow?: boolean;
  /** Take the time to see whether Leases are renewed, where their times alone do not show it. */
  readonly watchesLeases?: boolean;
}

export async function withObserver<T>(
  context: CliContext,
  flags: ReadingFlags,
  work: (observer: OpenObserver) => Promise<T>,
): Promise<T> {
  return withClusters(context, async (clusters) => {
    const named = readSources(flags);
    const sources: readonly Source[] = named.length > 0 ? named : [{ name: "" }];
    const opened = sources.map((source) => openSource(clusters, source));
    const desk = { context, flags, reach: createReach(clusters), tell: tellOnce(context) };
    return work({
      defaultNamespace: opened[0]?.cluster.config.namespace ?? "default",
      opened,
      look: (options = {}) => look(desk, opened, options),
    });
  });
}

/** What nobody could be asked for must not look absent. */
export function requireSight({ sightings }: Observation): void {
  if (!sightings.every(isBlind)) return;
  const said = sightings.flatMap((sighting) => {
    const problem = sighting.problems[0] ?? "it did not answer";
    return `${idOf(sighting)}: ${problem}`;
  });
  const which = sightings.length === 1 ? "the cluster" : "none of the clusters";
  const could = sightings.length === 1 ? "could not" : "could";
  throw new Problem("NothingRead", `${which} ${could} be read: ${said.join(" ")}`, {
    hint: "Whether there is what was asked for cannot be told.",
  });
}

/** The namespace that a command is limited to; undefined: all. */
export function chooseNamespace(flags: ReadingFlags, fallback: string | undefined) {
  if (flags.allNamespaces === true && flags.namespace !== undefined) {
    throw new Problem("ArgumentInvalid", "give --namespace or --all-namespaces, not both");
  }
  return flags.allNamespaces === true ? undefined : (flags.namespace ?? fallback);
}

export interface Opened {
  readonly name: string;
  readonly givenId: string | undefined;
  readonly cluster: Cluster;
}

function openSource(clusters: Clusters, source: Source): Opened {
  const { name, givenId } = source;
  const cluster = clusters.open(flagsOf(source));
  return { name: name === "" ? (contextOf(cluster) ?? "") : name, givenId, cluster };
}

function contextOf({ config: { source } }: Cluster): string | undefined {
  return source.kind === "kubeconfig" ? source.context : undefined;
}

interface Desk {
  readonly context: CliContext;
  readonly flags: ReadingFlags;
  readonly reach: Clusters["reach"];
  readonly tell: (line: string) => void;
}

/** Who looks again and again speaks to the same hub, by the same connections. */
export function createReach(clusters: Pick<Clusters, "reach">): Clusters["reach"] {
  const reached = new Map<string, Cluster>();
  return (target) => {
    const key = JSON.stringify([target.server, target.ca, target.token]);
    const cluster = reached.get(key) ?? clusters.reach(target);
    reached.set(key, cluster);
    return cluster;
  };
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
        canNarrow: options.canNarrow,
      }),
    ),
  );
  const sightings = sighted.map(({ sighting }): Sighting => sighting);
  const credentials = sighted.flatMap(({ credential }) => credential ?? []);
  const hub = desk.flags.hub ? await lookAtHub(desk, credentials, options) : undefined;
  const { namespace } = options;
  return {
    sightings: sightings.map((sighting) => sayOtherHub(sighting, hub)),
    ...(hub === undefined ? {} : { hub }),
    ...(namespace === undefined ? {} : { namespace }),
    nowMs: clock.now(),
  };
}

/** One hub is asked. Who is a member of another must not look like one that nobody knows. */
function sayOtherHub(sighting: Sighting, asked: HubSighting | undefined): Sighting {
  if (!hasOtherHub(sighting, asked)) return sighting;
  const problem = `It has joined the hub ${sighting.hub}, which was not asked: only ${asked?.server} was. Look at the members of each hub by themselves.`;
  return { ...sighting, problems: [...sighting.problems, problem] };
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
    const cluster = desk.reach({ server, token, ...(ca === undefined ? {} : { ca }) });
    const sighting = await sightHub({
      store: cluster.store,
      clock,
      signal,
      describe: (error) => describe(error, cluster, clock.now()),
      credential,
      depth: options.depth ?? "endpoints",
    });
    if (sighting.problem === undefined) {
      if (options.watchesLeases !== true) return sighting;
      return watchLeases(desk.context, { store: cluster.store, hub: sighting, tell: desk.tell });
    }
    failed ??= sighting;
  }
  return failed;
}

/** One sentence, or two: what happened and what to do. */
export function describe(
  error: unknown,
  { config }: Pick<Cluster, "config">,
  nowMs: number,
): string {
  const problem = describeFailure(error, { config, nowMs });
  // An address stays as it is.
  const isAddress = /^https?:/.test(problem.message);
  const message = isAddress ? problem.message : sentence(problem.message);
  return problem.hint === undefined ? `${message}.` : `${message}. ${problem.hint}`;
}
