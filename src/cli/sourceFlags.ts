// CLI: the flags by which commands are told of clusters, in the same words everywhere.

import { type Command, Option } from "commander";
import { collect } from "./repeated.ts";

/** Of a command that looks at clusters. */
export function withSources(command: Command): Command {
  return command
    .option(
      "--kubeconfig <[id=]file>",
      "a cluster's kubeconfig; repeat it for each; absent: $KUBECONFIG, ~/.kube/config",
      collect,
      [],
    )
    .option(
      "--context <[id=]name>",
      "a cluster's context of one kubeconfig; repeat it for each; absent: the current one",
      collect,
      [],
    )
    .option("--no-hub", "do not ask the hub that a cluster has joined");
}

/** Of a command that changes one cluster, and looks at others for what that means to them. */
export function withTarget(command: Command, hub: string): Command {
  return command
    .option(
      "--kubeconfig <[id=]file>",
      "kubeconfig of the cluster; further ones are only looked at; absent: $KUBECONFIG, ~/.kube/config",
      collect,
      [],
    )
    .option(
      "--context <[id=]name>",
      "context of the cluster; further ones are only looked at; absent: the current one",
      collect,
      [],
    )
    .option("--no-hub", hub);
}

/** Instead of changing anything. */
export function yamlOption(what = "print what it would apply, and change nothing"): Option {
  return new Option("-o, --output <format>", what).choices(["yaml"]);
}
