// CLI: names the commands that take traffic away from a cluster and give it back, and their flags. Each is loaded when asked
// for.

import type { Command } from "commander";
import type { CliContext } from "./context.ts";
import type { DrainFlags, UndrainFlags } from "./drain.ts";
import { withTarget, yamlOption } from "./sourceFlags.ts";

export function addDrainCommands(program: Command, context: CliContext): void {
  withClusters(program.command("drain"))
    .description("lead traffic away from a cluster, as before maintenance; nothing in it stops")
    .option("--reason <text>", "for people to read", "drained with isthmus drain")
    .option("--dry-run", "show what every service would have left, and change nothing", false)
    .addOption(yamlOption("print what it would apply in the cluster, and change nothing"))
    .action(async (cluster: string, flags: DrainFlags, command: Command) => {
      const { runDrain } = await import("./drain.ts");
      const isReasonGiven = command.getOptionValueSource("reason") === "cli";
      await runDrain(context, cluster, { ...flags, isReasonGiven });
    });

  withClusters(program.command("undrain"))
    .description("lead traffic to a cluster again that was drained")
    .addOption(yamlOption("print what it would delete in the cluster, and delete nothing"))
    .action(async (cluster: string, flags: UndrainFlags) => {
      const { runUndrain } = await import("./drain.ts");
      await runUndrain(context, cluster, flags);
    });
}

function withClusters(command: Command): Command {
  return withTarget(
    command.argument("<cluster>", "its id, as isthmus get clusters has it"),
    "do not ask the hub that the cluster has joined",
  )
    .option("--wait", "until all clusters that are named have done it", false)
    .option("--timeout <time>", "with --wait: how long, such as 90s or 5m", "2m");
}
