// CLI: names the commands that offer a Service to the clusterset and take it back, and their flags. Each is loaded when asked
// for.

import type { Command } from "commander";
import type { CliContext } from "./context.ts";
import type { ExportFlags } from "./export.ts";
import { collect } from "./repeated.ts";
import { withTarget, yamlOption } from "./sourceFlags.ts";
import type { UnexportFlags } from "./unexport.ts";

export function addExportCommands(program: Command, context: CliContext): void {
  withClusters(program.command("export"))
    .description("offer Services of a cluster to all others")
    .argument("<service...>", "web, or shop/web")
    .option("--dry-run", "show the merged result and every conflict, and change nothing", false)
    .option("--wait", "until each export is valid and ready, or says why not", false)
    .option("--timeout <time>", "with --wait: how long, such as 90s or 5m", "2m")
    .option(
      "--allow-namespace <name>",
      "export from this one although it is denied by default: whoever runs Isthmus has allowed it, too",
      collect,
      [],
    )
    .addOption(yamlOption("print what it would apply, and change nothing"))
    .action(async (services: readonly string[], flags: ExportFlags) => {
      const { runExport } = await import("./export.ts");
      await runExport(context, services, flags);
    });

  withClusters(program.command("unexport"))
    .description("take back what a cluster offers to all others; the Service itself stays")
    .argument("<service...>", "web, or shop/web")
    .option("--dry-run", "show what would be left of it and for whom, and change nothing", false)
    .option("--ignore-not-found", "do not fail when there is no such export", false)
    .addOption(yamlOption("print what it would delete, and delete nothing"))
    .action(async (services: readonly string[], flags: UnexportFlags) => {
      const { runUnexport } = await import("./unexport.ts");
      await runUnexport(context, services, flags);
    });
}

function withClusters(command: Command): Command {
  return withTarget(
    command.option(
      "-n, --namespace <name>",
      "of Services without one; absent: that of the context",
    ),
    "with --dry-run: do not ask the hub that the cluster has joined",
  );
}
