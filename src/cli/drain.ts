// CLI: `isthmus drain` and `undrain`: write and delete the one property by which a cluster asks all others to lead their
// traffic elsewhere. With --dry-run: what every service would have left. With --wait: until the others have done it.

import { CLUSTER_PROPERTY } from "../api/about.ts";
import { type ClusterId, DRAIN_PROPERTY, FIELD_MANAGER, parseClusterId } from "../api/names.ts";
import { Problem } from "../api/problem.ts";
import {
  findLeftover,
  findStillLeft,
  findStillUsed,
  foreseeLeftover,
  type Laggard,
} from "../core/clusterset/drainage.ts";
import { list } from "../core/clusterset/explanation.ts";
import { idOf, isBlind, type Observation, type Sighting } from "../core/clusterset/sighting.ts";
import { viewWithout } from "../core/clusterset/without.ts";
import { readDrain, renderDrain } from "../core/drain.ts";
import { sleep } from "../ports/clock.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import { type CliContext, tellOnce } from "./context.ts";
import { parseDuration } from "./duration.ts";
import { type OpenObserver, type ReadingFlags, withObserver } from "./observer.ts";
import { printYaml, renderDoomed } from "./output.ts";
import { type Column, printTable, warnOf } from "./printing.ts";
import type { SourceFlags } from "./source.ts";

export interface UndrainFlags extends SourceFlags {
  /** False: `--no-hub`. */
  readonly hub: boolean;
  readonly output?: "yaml";
  readonly wait: boolean;
  readonly timeout: string;
}

export interface DrainFlags extends UndrainFlags {
  readonly reason: string;
  /** False: it is the one that goes without saying. */
  readonly isReasonGiven: boolean;
  readonly dryRun: boolean;
}

const AGAIN_MS = 1_000;
const LISTED = 5;

export async function runDrain(context: CliContext, id: string, flags: DrainFlags): Promise<void> {
  const { cluster, timeoutMs } = readArguments(id, flags);
  const property = renderDrain(flags.reason);
  if (flags.reason.trim() === "") throw new Problem("ArgumentInvalid", "--reason is empty");
  if (flags.output === "yaml") {
    printYaml(context, `For kubectl apply --server-side in ${cluster}: isthmus drain.`, [property]);
    return;
  }
  await withTarget(context, { cluster, flags }, async (target) => {
    const { store, drained, observation } = target;
    if (flags.dryRun) {
      printLosses(context, observation, cluster);
      return;
    }
    if (drained !== undefined && !flags.isReasonGiven) {
      context.out(`${cluster}: drained already (${drained}).`);
    } else {
      const options = { fieldManager: FIELD_MANAGER, force: true, signal: context.signal };
      await knowing(() => store.apply(CLUSTER_PROPERTY, property, options));
      context.out(`${cluster}: drained (${readDrain([property])}).`);
    }
    warnOfStaying(context, observation, cluster);
    if (!flags.wait) {
      context.error(`Traffic leaves within seconds. To use it again: isthmus undrain ${cluster}`);
      return;
    }
    const now = await waitUntilNone(context, target, {
      timeoutMs,
      find: (seen) => findStillUsed(seen, cluster),
      waiting: (where) => `waiting: ${cluster} is still in use by ${where}`,
      late: (where) => `${cluster} is drained, and is still in use by ${where}`,
    });
    const asked = describeAsked(observation, cluster);
    const leftover = describeMany(findLeftover(now, cluster));
    const but = leftover === "" ? "" : `, but for what nobody else serves: ${leftover}`;
    context.out(`${cluster}: no new traffic is led there${asked}${but}.`);
  });
}

export async function runUndrain(
  context: CliContext,
  id: string,
  flags: UndrainFlags,
): Promise<void> {
  const { cluster, timeoutMs } = readArguments(id, flags);
  const ref = { name: DRAIN_PROPERTY };
  if (flags.output === "yaml") {
    const doomed = renderDoomed([{ resource: CLUSTER_PROPERTY, ref }]);
    const title = `For kubectl delete --ignore-not-found in ${cluster}: isthmus undrain.`;
    printYaml(context, title, doomed);
    return;
  }
  await withTarget(context, { cluster, flags }, async (target) => {
    const { store, drained, observation } = target;
    const isGone = await knowing(() =>
      store.delete(CLUSTER_PROPERTY, ref, { signal: context.signal }),
    );
    const isDone = isGone && drained !== undefined;
    context.out(isDone ? `${cluster}: not drained any more.` : `${cluster}: was not drained.`);
    if (!flags.wait) return;
    await waitUntilNone(context, target, {
      timeoutMs,
      find: (now) => findStillLeft(now, cluster),
      waiting: (where) => `waiting: ${cluster} is not in use yet by ${where}`,
      late: (where) => `${cluster} is not drained, and is not in use yet by ${where}`,
    });
    context.out(`${cluster}: in use again${describeAsked(observation, cluster)}.`);
  });
}

function readArguments(id: string, { timeout }: UndrainFlags) {
  const parsed = parseClusterId(id);
  if (!parsed.ok) throw new Problem("ArgumentInvalid", parsed.problem);
  return { cluster: parsed.value, timeoutMs: parseDuration(timeout, "--timeout") };
}

interface Target {
  readonly observer: OpenObserver;
  readonly observation: Observation;
  readonly store: Store;
  /** Why, if it is. */
  readonly drained: string | undefined;
}

/** The cluster that is meant is the one that says so, whichever of those that are named it is. */
async function withTarget(
  context: CliContext,
  task: { readonly cluster: ClusterId; readonly flags: UndrainFlags },
  work: (target: Target) => Promise<void>,
): Promise<void> {
  const { cluster, flags } = task;
  const { kubeconfig, context: contexts, hub } = flags;
  const reading: ReadingFlags = { kubeconfig, context: contexts, hub };
  await withObserver(context, reading, async (observer) => {
    const observation = await observer.look({});
    const { sightings } = observation;
    warnOf(
      context,
      sightings.flatMap((sighting) =>
        sighting.problems.map((problem) => `${idOf(sighting)}: ${problem}`),
      ),
    );
    const found = sightings.flatMap((sighting, at) => {
      const opened = observer.opened[at];
      return opened !== undefined && sighting.cluster === cluster ? [{ sighting, opened }] : [];
    });
    const [first, second] = found;
    if (first === undefined) throw notFound(cluster, sightings);
    if (second !== undefined) {
      const names = list(found.map(({ sighting }) => sighting.name));
      throw new Problem("ArgumentInvalid", `${names} go by the id "${cluster}", both`, {
        hint: "Name each cluster once, and give each an id of its own.",
      });
    }
    const drained = readDrain(first.sighting.properties);
    await work({ observer, observation, store: first.opened.cluster.store, drained });
  });
}

function notFound(cluster: ClusterId, sightings: readonly Sighting[]): Problem {
  const asked = sightings.map((sighting) =>
    isBlind(sighting) ? `${idOf(sighting)}, which does not answer` : idOf(sighting),
  );
  return new Problem(
    "NothingFound",
    `none of the clusters that were asked is "${cluster}": ${list(asked)}`,
    {
      hint: `It is written down in the cluster itself: give its kubeconfig, as in --kubeconfig ${cluster}.yaml or --context ${cluster}.`,
    },
  );
}

async function knowing<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!isStoreError(error, "NotFound")) throw error;
    throw new Problem("NothingFound", "the cluster does not know ClusterProperties", {
      hint: '"isthmus crds install" teaches it; so do "isthmus central" and "isthmus join", which have to run before anybody is led elsewhere.',
      cause: error,
    });
  }
}

interface Prospect {
  readonly namespace: string;
  readonly name: string;
  readonly traffic: "leaves" | "stays" | "cannot be told" | "-";
  readonly left: string;
  readonly why: string;
}

function foresee(observation: Observation, cluster: ClusterId): readonly Prospect[] {
  const leftover = foreseeLeftover(observation, cluster);
  return (viewWithout(observation, cluster) ?? []).map((view): Prospect => {
    const { namespace, name, loss, exports, imports, routes, why } = view;
    const left = imports.map((row) => `${row.cluster} ${row.left}/${row.ready}`).join(", ") || "-";
    const isLeft = leftover.has(`${namespace}/${name}`);
    if (isLeft && exports.length > 0 && (loss === "weaker" || loss === "none")) {
      const drained = `Whoever serves it in place of ${cluster} is drained, too: all are used then.`;
      return { namespace, name, left, traffic: "stays", why: drained };
    }
    switch (loss) {
      case "gone":
        return { namespace, name, left, traffic: "stays", why: `Only ${cluster} serves it.` };
      case "partly": {
        const only = `Only ${cluster} serves ${list(routes)}.`;
        return { namespace, name, left, traffic: "stays", why: only };
      }
      case "weaker":
        return { namespace, name, left, traffic: "leaves", why };
      case "unknown":
        return { namespace, name, left, traffic: "cannot be told", why };
      case "none":
        return { namespace, name, left, traffic: "-", why };
      default:
        return loss satisfies never;
    }
  });
}

function printLosses(context: CliContext, observation: Observation, cluster: ClusterId): void {
  const columns: readonly Column<Prospect>[] = [
    { title: "NAMESPACE", read: ({ namespace }) => namespace },
    { title: "NAME", read: ({ name }) => name },
    { title: "TRAFFIC", read: ({ traffic }) => traffic },
    { title: "READY LEFT", read: ({ left }) => left },
    { title: "WHY", read: ({ why }) => why },
  ];
  const rows = foresee(observation, cluster);
  if (rows.length > 0) printTable(context, rows, { columns, isWide: false });
  context.error("Nothing was written.");
}

/** It is no failure: unreachable would be. */
function warnOfStaying(context: CliContext, observation: Observation, cluster: ClusterId): void {
  const all = foresee(observation, cluster);
  const named = (wanted: Prospect["traffic"]): string => {
    const keys = all.flatMap(({ traffic, namespace, name }) =>
      traffic === wanted ? `${namespace}/${name}` : [],
    );
    return describeMany(keys);
  };
  const [staying, open] = [named("stays"), named("cannot be told")];
  warnOf(context, [
    ...(staying === ""
      ? []
      : [`Nobody else who is not drained serves all of ${staying}: they go on using ${cluster}.`]),
    ...(open === ""
      ? []
      : [`Whether others serve ${open} cannot be told: name the other clusters, too.`]),
  ]);
}

function describeMany(words: readonly string[]): string {
  return words.length <= LISTED
    ? list(words)
    : list([...words.slice(0, LISTED), `${words.length - LISTED} more`]);
}

async function waitUntilNone(
  context: CliContext,
  { observer }: Target,
  wish: {
    readonly timeoutMs: number;
    readonly find: (observation: Observation) => readonly Laggard[];
    readonly waiting: (where: string) => string;
    readonly late: (where: string) => string;
  },
): Promise<Observation> {
  const { clock, signal } = context;
  const untilMs = clock.monotonic() + wish.timeoutMs;
  const tell = tellOnce(context);
  for (;;) {
    const observation = await observer.look({});
    const late = wish.find(observation);
    if (late.length === 0) return observation;
    const where = describeMany(late.map(({ service, cluster }) => `${service} in ${cluster}`));
    if (clock.monotonic() + AGAIN_MS > untilMs) {
      throw new Problem("NotWell", wish.late(where), {
        hint: "Is isthmus central running, or the agent of each cluster, in a release that knows drains? isthmus explain says more.",
      });
    }
    tell(wish.waiting(where));
    await sleep(clock, AGAIN_MS, signal);
  }
}

/** Who was not asked may be late. */
function describeAsked({ sightings }: Observation, cluster: ClusterId): string {
  const ids = sightings.filter((sighting) => !isBlind(sighting)).map(idOf);
  return ids.length === 1 && ids[0] === cluster
    ? " by its own clients; no other cluster was asked"
    : ` in ${list(ids)}`;
}
