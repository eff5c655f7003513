// Clusterset: the shape of an explanation: a tree of what was looked at, how it is, why, and what to do. Small words that all
// explanations share.

import { type ClusterRecord, isJoined } from "./record.ts";

/** unknown: it cannot be told, or is nobody's fault: whether it is right only a person can say. */
export type Verdict = "good" | "bad" | "unknown";

export interface Explanation {
  /** A noun: "import", "from east", "10.1.0.3". */
  readonly what: string;
  readonly verdict: Verdict;
  /** A sentence. */
  readonly why: string;
  /** What to do: a sentence. */
  readonly next?: string;
  /** Of an endpoint: traffic goes there, whether it should or not. */
  readonly inUse?: boolean;
  readonly parts: readonly Explanation[];
}

export function explain(
  what: string,
  verdict: Verdict,
  words: {
    readonly why: string;
    readonly next?: string | undefined;
    readonly inUse?: boolean;
    readonly parts?: readonly Explanation[];
  },
): Explanation {
  const { why, next, inUse, parts = [] } = words;
  return {
    what,
    verdict,
    why,
    ...(next === undefined ? {} : { next }),
    ...(inUse === undefined ? {} : { inUse }),
    parts,
  };
}

/** One bad part spoils the whole; one that is unknown leaves it open. */
export function worst(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes("bad")) return "bad";
  return verdicts.includes("unknown") ? "unknown" : "good";
}

export function count(number: number, noun: string): string {
  return number === 1 ? `1 ${noun}` : `${number} ${noun}s`;
}

/** "a", "a and b", "a, b and c". */
export function list(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} and ${last}`;
}

/** Who brings a cluster in step, and what to do when nobody does. */
export function nameKeeper(record: ClusterRecord): string {
  return isJoined(record)
    ? `Is the agent of ${record.id} running? It corrects this within seconds; if it cannot, its log says "agent is in trouble" and why.`
    : `Is isthmus central running, and does it reach ${record.id}? It corrects this within seconds; if it cannot, its log says why.`;
}

export function askToo(clusters: readonly string[]): string {
  return `Name ${list(clusters)}, too, with --kubeconfig or --context, or mend what keeps it from answering.`;
}

/** Who does not answer cannot say who it is: then somebody has to. */
export function nameIt(cluster: string, names: readonly string[]): string {
  return `If it is ${names.join(" or ")}, which did not answer, name it as ${cluster}=${names[0] ?? ""}.`;
}

export function sentence(clause: string): string {
  return clause.charAt(0).toUpperCase() + clause.slice(1);
}
