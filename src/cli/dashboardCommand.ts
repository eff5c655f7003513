// CLI: names `isthmus dashboard` and the flags by which other processes serve the same page. Loaded when asked for.

import type { Command } from "commander";
import type { CliContext } from "./context.ts";
import type { DashboardFlags } from "./dashboard.ts";
import { withSources } from "./sourceFlags.ts";

/** Of a process that has other work to do. */
export interface DashboardPlace {
  readonly dashboardAddress?: string;
  readonly dashboardTokenFile?: string;
}

export function addDashboardCommand(program: Command, context: CliContext): void {
  withSources(program.command("dashboard"))
    .description("show the clusterset as a page that changes as it does; changes nothing itself")
    .option(
      "--address <address:port>",
      "where to serve it; port 0 takes a free one; a token is demanded where others can reach it",
      "127.0.0.1:8181",
    )
    .option("--token-file <file>", "a file with the token to demand; absent: made up and printed")
    .action(async (flags: DashboardFlags) => {
      const { runDashboard } = await import("./dashboard.ts");
      await runDashboard(context, flags);
    });
}

export function addDashboardOptions(command: Command): Command {
  return command
    .option(
      "--dashboard-address <address:port>",
      "where to serve the dashboard, such as 127.0.0.1:8181; absent: nowhere",
    )
    .option(
      "--dashboard-token-file <file>",
      "a file with the token that the dashboard demands; needed where others can reach it",
    );
}
