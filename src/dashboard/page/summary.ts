// Page: what is known in, how it all is in one line out: the first thing a reader looks for.

import type { ClusterState } from "../state.ts";
import { count, list } from "./age.ts";
import type { Model } from "./model.ts";

export type Level = "well" | "warn" | "bad" | "unknown" | "drained";

export interface Summary {
  readonly level: Level;
  /** A sentence or two. */
  readonly words: string;
  /** How many there are, whatever their state. */
  readonly counts: string;
}

const LEVELS: Readonly<Record<string, Level>> = {
  live: "well",
  flapping: "warn",
  silent: "warn",
  lost: "bad",
  drained: "drained",
};

/** How bad it is that a cluster is in this state. */
export function levelOf(liveness: ClusterState["liveness"]): Level {
  return LEVELS[liveness] ?? "unknown";
}

export interface Standing {
  readonly level: Level;
  /** For those who do not see the colour; empty when the numbers say it all. */
  readonly words: string;
}

/** How bad it is that of a source's endpoints only so many are ready: not at all where that is wanted, or cannot be told. */
export function judgeSource(
  clusters: Model["clusters"],
  id: string,
  { ready, total }: { readonly ready: number; readonly total: number },
): Standing {
  const liveness = clusters.get(id)?.value.liveness ?? "unknown";
  if (liveness === "drained") return { level: "drained", words: "drained" };
  if (ready > 0 && ready === total) return { level: "well", words: "" };
  if (liveness === "unknown") return { level: "unknown", words: "its state is unknown" };
  return { level: ready === 0 ? "bad" : "warn", words: liveness === "live" ? "" : liveness };
}

export function summarize(model: Model | undefined): Summary {
  if (model === undefined) return { level: "unknown", words: "Asking the server…", counts: "" };
  const clusters = [...model.clusters.values()].map(({ value }) => value);
  const services = [...model.services.values()].map(({ value }) => value);
  const counts = `${count(clusters.length, "cluster")} · ${count(services.length, "service")}`;
  const inState = (...wanted: readonly string[]): readonly string[] =>
    clusters.flatMap(({ id, liveness }) => (wanted.includes(liveness) ? id : []));
  const lost = inState("lost");
  const shaky = [...say(inState("silent"), "silent"), ...say(inState("flapping"), "flapping")];
  const unread = clusters.flatMap(({ id, problems }) => (problems.length > 0 ? id : []));
  const bad = services.filter(({ verdict }) => verdict === "bad").length;
  const warn = services.filter(({ verdict }) => verdict === "warn").length;
  const grave = [
    ...say(lost, "lost"),
    ...(bad > 0
      ? [`${count(bad, "service")} ${bad === 1 ? "leads" : "lead"} nowhere in a cluster.`]
      : []),
  ];
  const unknown = inState("unknown").filter((id) => !unread.includes(id));
  const minor = [
    ...(model.hub?.problem === undefined ? [] : [`The hub: ${model.hub.problem}`]),
    ...shaky,
    ...(warn > 0 ? [`${count(warn, "service")} ${warn === 1 ? "needs" : "need"} a look.`] : []),
    ...(unread.length > 0 ? [`Not all of ${list(unread)} could be read.`] : []),
    ...(unknown.length > 0 ? [`The state of ${list(unknown)} is unknown.`] : []),
  ];
  const drained = say(inState("drained"), "drained");
  const words = [...grave, ...minor];
  if (words.length > 0) {
    return {
      level: grave.length > 0 ? "bad" : "warn",
      words: [...words, ...drained].join(" "),
      counts,
    };
  }
  if (!model.synced) return { level: "unknown", words: "Asking the clusters…", counts };
  if (clusters.length === 0)
    return { level: "unknown", words: "No cluster is a member yet.", counts };
  return { level: "well", words: ["All is well.", ...drained].join(" "), counts };
}

function say(ids: readonly string[], state: string): readonly string[] {
  if (ids.length === 0) return [];
  return [`${list(ids)} ${ids.length === 1 ? "is" : "are"} ${state}.`];
}
