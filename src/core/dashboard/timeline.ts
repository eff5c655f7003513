// Dashboard: clusters and rows before and after in, what happened between out, in sentences. Sees states, not deeds: what came
// and went between two looks did not happen.

import type {
  ClusterState,
  ServicePart,
  ServiceState,
  TimelineEvent,
} from "../../dashboard/state.ts";
import { list } from "../clusterset/explanation.ts";
import { compareText } from "../order.ts";

export type Happening = Pick<TimelineEvent, "kind" | "subject" | "sentence">;

export interface Look {
  readonly clusters: ReadonlyMap<string, ClusterState>;
  /** Those that may have changed. */
  readonly services: ReadonlyMap<string, ServiceState | undefined>;
}

export interface Witness {
  /** The cluster was read before, so that what is new of it is news. */
  readonly hasBeenRead: (cluster: string) => boolean;
  /** It can still be told what it has, so that what it has no more is news. */
  readonly canBeRead: (cluster: string) => boolean;
  /** Whether it takes part could be told before, so that its coming or going is news. */
  readonly isMembershipKnown: (cluster: string) => boolean;
  /** Not heard lately, whether or not it is given up yet. */
  readonly isDoubtful: (cluster: string) => boolean;
}

export function findHappenings(before: Look, after: Look, witness: Witness): readonly Happening[] {
  return [
    ...findClusterNews(before.clusters, after.clusters, witness),
    ...[...after.services].flatMap(([key, now]) =>
      findServiceNews(key, { was: before.services.get(key), now }, { after, witness }),
    ),
  ];
}

function findClusterNews(
  before: Look["clusters"],
  after: Look["clusters"],
  { isMembershipKnown }: Witness,
): readonly Happening[] {
  const added = [...after.keys()].filter((id) => !before.has(id) && isMembershipKnown(id));
  const gone = [...before.keys()].filter((id) => !after.has(id) && isMembershipKnown(id));
  return [
    ...added.map((id) => tell("joined", id, `${id} is part of the clusterset.`)),
    ...[...after.values()].flatMap((now) => compareCluster(before.get(now.id), now)),
    ...gone.map((id) => tell("left", id, `${id} is no longer part of the clusterset.`)),
  ];
}

function compareCluster(was: ClusterState | undefined, now: ClusterState): readonly Happening[] {
  const { id, liveness } = now;
  if (was === undefined || was.liveness === liveness) return [];
  if (isOut(liveness)) {
    // Told when it falls silent, in words that stay true when it is lost.
    if (isOut(was.liveness)) return [];
    return [tell("lost", id, `${id} is not heard any more. ${firstSentence(now.why)}`)];
  }
  if (isOut(was.liveness) && liveness !== "unknown") {
    return [tell("returned", id, `${id} is back, and ${liveness}.`)];
  }
  if (liveness === "drained") return [tell("drained", id, `${id} is drained. ${now.why}`)];
  if (was.liveness === "drained" && liveness !== "unknown") {
    return [tell("undrained", id, `${id} is used again.`)];
  }
  return [];
}

function firstSentence(text: string): string {
  return /^.*?\.(?= |$)/.exec(text)?.[0] ?? text;
}

function isOut(liveness: ClusterState["liveness"]): boolean {
  return liveness === "silent" || liveness === "lost";
}

interface Change {
  readonly was: ServiceState | undefined;
  readonly now: ServiceState | undefined;
}

function findServiceNews(
  key: string,
  change: Change,
  scene: { readonly after: Look; readonly witness: Witness },
): readonly Happening[] {
  return [
    ...findExports(key, change, scene.witness),
    ...findConflicts(key, change, scene.witness),
    ...findFailovers(key, change, scene),
  ];
}

function findExports(key: string, { was, now }: Change, witness: Witness): readonly Happening[] {
  const before = exportersOf(was);
  const after = exportersOf(now);
  const added = after.filter((id) => !before.includes(id) && witness.hasBeenRead(id));
  const gone = before.filter((id) => !after.includes(id) && witness.canBeRead(id));
  return [
    ...added.map((id) => tell("exported", key, `${id} exports ${key}.`)),
    ...gone.map((id) => tell("unexported", key, `${id} does not export ${key} any more.`)),
  ];
}

function exportersOf(state: ServiceState | undefined): readonly string[] {
  return (state?.parts ?? []).flatMap(({ cluster, exported }) => (exported ? cluster : []));
}

function findConflicts(key: string, { was, now }: Change, witness: Witness): readonly Happening[] {
  const before = was?.conflicts ?? [];
  const after = now?.conflicts ?? [];
  if (after.length === 0) {
    if (before.length === 0) return [];
    return [tell("resolved", key, `The exports of ${key} agree again.`)];
  }
  // Of a service that was there before we could read its clusters nothing is news.
  if (was === undefined && !exportersOf(now).some(witness.hasBeenRead)) return [];
  const fresh = after.filter((sentence) => !before.includes(sentence));
  return fresh.map((sentence) => tell("conflict", key, `${key}: ${sentence}`));
}

/** Clients of a cluster were led to a source that is in trouble, are no longer, and find others. */
function findFailovers(
  key: string,
  { was, now }: Change,
  { after, witness }: { readonly after: Look; readonly witness: Witness },
): readonly Happening[] {
  if (was === undefined || now === undefined) return [];
  const left = new Map<string, { readonly importers: string[]; readonly others: Set<string> }>();
  for (const part of now.parts) {
    const old = was.parts.find(({ cluster }) => cluster === part.cluster);
    if (old === undefined) continue;
    const others = part.sources.filter(({ ready }) => ready > 0).map(({ cluster }) => cluster);
    if (others.length === 0) continue;
    for (const { cluster: source, ready } of old.sources) {
      if (ready === 0 || others.includes(source)) continue;
      if (!isInTrouble(source, now.parts, { after, witness })) continue;
      const known = left.get(source) ?? { importers: [], others: new Set<string>() };
      known.importers.push(part.cluster);
      for (const other of others) known.others.add(other);
      left.set(source, known);
    }
  }
  return [...left].map(([source, { importers, others }]) => {
    const led = `Clients of ${key} in ${list(importers)} are led to ${list([...others].toSorted(compareText))}`;
    return tell("failover", key, `${led} instead of ${source}.`);
  });
}

function isInTrouble(
  source: string,
  parts: readonly ServicePart[],
  { after, witness }: { readonly after: Look; readonly witness: Witness },
): boolean {
  const part = parts.find(({ cluster }) => cluster === source);
  // Who takes its export back is not in trouble.
  if (part === undefined || !part.exported) return false;
  if (part.offered?.ready === 0 || witness.isDoubtful(source)) return true;
  const liveness = after.clusters.get(source)?.liveness ?? "unknown";
  return liveness !== "live" && liveness !== "unknown";
}

function tell(kind: Happening["kind"], subject: string, sentence: string): Happening {
  return { kind, subject, sentence };
}
