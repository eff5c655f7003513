// CLI: which clusters a command works on that takes several: flags in, one source per cluster out.

import { Problem } from "../api/problem.ts";
import type { ClusterFlags } from "./cluster.ts";

export interface SourceFlags {
  readonly kubeconfig: readonly string[];
  readonly context: readonly string[];
}

export interface Source {
  readonly name: string;
  readonly givenId?: string;
  readonly paths?: readonly string[];
  readonly context?: string;
}

/** One kubeconfig per member (its current context), or several contexts of the usual kubeconfig; "id=" in front names the cluster. */
export function readSources(flags: SourceFlags): readonly Source[] {
  const { kubeconfig, context } = flags;
  const isOneFile = kubeconfig.length <= 1 && context.length > 0;
  if (kubeconfig.length > 1 && context.length > 0) {
    const message = "give several --kubeconfig, or several --context of one kubeconfig, not both";
    throw new Problem("ArgumentInvalid", message);
  }
  return isOneFile
    ? context.map((text) => ({
        ...splitId(text, "context"),
        ...(kubeconfig.length > 0 && { paths: kubeconfig }),
      }))
    : kubeconfig.map((text) => splitId(text, "paths"));
}

/** The same of a command that has no cluster of its own. */
export function requireSources(flags: SourceFlags): readonly Source[] {
  const sources = readSources(flags);
  if (sources.length > 0) return sources;
  throw new Problem(
    "ArgumentInvalid",
    "no cluster is named: give a --kubeconfig for each, or a --context for each",
  );
}

/** As a command that works on one cluster is told of it. */
export function flagsOf({ paths, context }: Source): ClusterFlags {
  const [kubeconfig] = paths ?? [];
  return {
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
  };
}

function splitId(text: string, as: "context" | "paths"): Source {
  const match = /^([a-z0-9][-a-z0-9]*)=(.+)$/.exec(text);
  const name = match?.[2] ?? text;
  const givenId = match?.[1];
  return {
    name,
    ...(givenId === undefined ? {} : { givenId }),
    ...(as === "context" ? { context: name } : { paths: [name] }),
  };
}
