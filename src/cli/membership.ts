// CLI: names the commands around the hub and their flags: hub, join, leave. Each is loaded when asked for.

import { type Command, Option } from "commander";
import type { CliContext } from "./context.ts";
import type { EvictFlags, InitFlags } from "./hub.ts";
import type { JoinFlags } from "./join.ts";
import type { HubFlags, TokenFlags } from "./jointoken.ts";
import type { LeaveFlags } from "./leave.ts";
import { collect } from "./repeated.ts";
import { yamlOption } from "./sourceFlags.ts";

export function addMembershipCommands(program: Command, context: CliContext): void {
  addHub(program, context);
  addJoin(program, context);
  addLeave(program, context);
}

function addHub(program: Command, context: CliContext): void {
  const hub = program
    .command("hub")
    .description("the cluster through which all others share their services");

  withCluster(hub.command("init"), "the hub")
    .description("make a cluster the hub, or bring it up to date, and print how to join it")
    .option("--server <url>", "address of the hub as members reach it; absent: the kubeconfig's")
    .option("--no-token", "do not make a join token")
    .addOption(yamlOption())
    .action(async (flags: InitFlags) => {
      const { hubInit } = await import("./hub.ts");
      await hubInit(context, flags);
    });

  const token = hub
    .command("token")
    .description("join tokens: make one, list or delete them")
    .addHelpText("after", "\nFlags of `hub token` itself, such as --ttl: hub token create --help");
  withCluster(token.command("create", { isDefault: true }), "the hub")
    .description("make a join token and print the line to join with (what `hub token` does)")
    .option("--ttl <time>", "how long it may be used, such as 30m, 8h or 7d", "1h")
    .option("--uses <count>", "how many clusters may join with it", "1")
    .option("--server <url>", "address of the hub as members reach it; absent: as at hub init")
    .addOption(
      new Option(
        "-o, --output <format>",
        "yaml: print what it would apply; token: only the token",
      ).choices(["yaml", "token"]),
    )
    .action(async (flags: TokenFlags) => {
      const { hubToken } = await import("./jointoken.ts");
      await hubToken(context, flags);
    });
  withCluster(token.command("list"), "the hub")
    .description("list join tokens, never their secrets")
    .addOption(
      new Option("-o, --output <format>", "for programs, or with more columns").choices([
        "json",
        "yaml",
        "wide",
        "name",
      ]),
    )
    .action(async (flags: HubFlags) => {
      const { hubTokenList } = await import("./jointoken.ts");
      await hubTokenList(context, flags);
    });
  withCluster(token.command("delete"), "the hub")
    .description("delete a join token; it is refused from then on")
    .argument("<name>", "as in the list")
    .addOption(yamlOption("print what it would delete, and delete nothing"))
    .action(async (name: string, flags: HubFlags) => {
      const { hubTokenDelete } = await import("./jointoken.ts");
      await hubTokenDelete(context, name, flags);
    });

  withCluster(hub.command("evict"), "the hub")
    .description("remove members that are gone for good, with all that they share")
    .argument("[id...]", "clusters to remove")
    .option("--lost-for <time>", "instead: all that were not heard for so long, such as 720h")
    .addOption(yamlOption("print what it would delete, and delete nothing"))
    .action(async (ids: readonly string[], flags: EvictFlags) => {
      const { hubEvict } = await import("./hub.ts");
      await hubEvict(context, ids, flags);
    });
}

function addJoin(program: Command, context: CliContext): void {
  withHub(withCluster(program.command("join"), "the joining cluster"))
    .description("make a cluster a member of a hub")
    .option("--token <token>", "from `isthmus hub token`; - reads standard input, @file a file")
    .option(
      "--hub-server <url>",
      "with --hub-kubeconfig: address of the hub as the member reaches it",
    )
    .option("--cluster-id <id>", "one DNS label; absent: from the cluster's ClusterProperty")
    .option(
      "--pod-cidr <range>",
      "range of its pods; repeat it; absent: from its nodes",
      collect,
      [],
    )
    .option(
      "--service-cidr <range>",
      "range of its Services; repeat it; absent: from its API server",
      collect,
      [],
    )
    .option("--region <name>", "where it is; absent: from its nodes")
    .option(
      "--zone <name>",
      "zone with nodes of it; repeat it; absent: from its nodes",
      collect,
      [],
    )
    .option("--clusterset <name>", "name of the clusterset, for the ClusterProperty")
    .option("--allow-overlap", "join although another member has pods in the same ranges", false)
    .addOption(yamlOption())
    .action(async (flags: JoinFlags) => {
      const { runJoin } = await import("./join.ts");
      await runJoin(context, flags);
    });
}

function addLeave(program: Command, context: CliContext): void {
  withHub(withCluster(program.command("leave"), "the member that leaves"))
    .description("withdraw what a cluster shares, and remove from it everything that was imported")
    .option("--local-only", "leave the hub alone: it is gone, or has evicted the cluster", false)
    .option("--force", "take the lease from an agent that is still at work", false)
    .addOption(yamlOption("print what it would delete, and delete nothing"))
    .action(async (flags: LeaveFlags) => {
      const { runLeave } = await import("./leave.ts");
      await runLeave(context, flags);
    });
}

function withCluster(command: Command, which: string): Command {
  return command
    .option("--kubeconfig <file>", `kubeconfig of ${which}; absent: $KUBECONFIG, ~/.kube/config`)
    .option("--context <name>", "context of the kubeconfig; absent: its current one");
}

function withHub(command: Command): Command {
  return command
    .option("--hub-kubeconfig <file>", "kubeconfig of an administrator of the hub")
    .option("--hub-context <name>", "context of it; absent: its current one");
}
