// CLI: names the commands around the policies of a member cluster, and their flags. Each is loaded when asked for.

import { type Command, Option } from "commander";
import { HANDMADE_IMPORTS } from "../policy/imports.ts";
import type { CliContext } from "./context.ts";
import type { ChangeFlags, PolicyFlags } from "./policy.ts";
import { collect } from "./repeated.ts";
import { yamlOption } from "./sourceFlags.ts";

export function addPolicyCommands(program: Command, context: CliContext): void {
  const policy = program
    .command("policy")
    .description("policies that keep people's hands off what Isthmus makes in a member cluster");
  withContent(policy.command("print"))
    .description("print them as YAML, for kubectl apply or for review")
    .action(async (flags: PolicyFlags) => {
      const { printPolicies } = await import("./policy.ts");
      printPolicies(context, flags);
    });
  withContent(withCluster(policy.command("install")))
    .description("install them, or bring them in line with the flags")
    .addOption(yamlOption())
    .action(async (flags: PolicyFlags & ChangeFlags) => {
      const { installPolicies } = await import("./policy.ts");
      await installPolicies(context, flags);
    });
  withCluster(policy.command("remove"))
    .description("remove them; what they protected stays as it is")
    .addOption(yamlOption("print what it would delete, and change nothing"))
    .action(async (flags: ChangeFlags) => {
      const { removePolicies } = await import("./policy.ts");
      await removePolicies(context, flags);
    });
}

function withCluster(command: Command): Command {
  return command
    .option("--kubeconfig <file>", "kubeconfig of the cluster; absent: $KUBECONFIG, ~/.kube/config")
    .option("--context <name>", "context of the kubeconfig; absent: its current one");
}

function withContent(command: Command): Command {
  return command
    .option(
      "--controller-user <name>",
      "who keeps services in step here, as the API server names him; repeat it; absent: the agent of `isthmus join`",
      collect,
      [],
    )
    .option("--controller-group <name>", "the same by group; repeat it", collect, [])
    .option(
      "--allow-namespace <name>",
      "let people export from this one although it is denied by default",
      collect,
      [],
    )
    .option("--deny-namespace <name>", "let nobody export from this one", collect, [])
    .addOption(
      new Option("--hand-made-imports <policy>", "whether people may write ServiceImports by hand")
        .choices(HANDMADE_IMPORTS)
        .default("allow"),
    );
}
