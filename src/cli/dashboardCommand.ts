// CLI: names `isthmus dashboard`. It is loaded when asked for.

import type { Command } from "commander";
import type { CliContext } from "./context.ts";
import { readGivenFlags, withSettings } from "./settingFlags.ts";

export function addDashboardCommand(program: Command, context: CliContext): void {
  withSettings(program.command("dashboard"), "dashboard")
    .description("show the clusterset as a page that changes as it does; changes nothing itself")
    .action(async (_: unknown, command: Command) => {
      const { runDashboard } = await import("./dashboard.ts");
      const { readConfiguration } = await import("./configuration.ts");
      const { settings } = readConfiguration(context, "dashboard", readGivenFlags(command));
      await runDashboard(context, settings);
    });
}
