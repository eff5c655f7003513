// CLI: names `isthmus dns`. It is loaded when asked for.

import type { Command } from "commander";
import type { CliContext } from "./context.ts";
import { readGivenFlags, withSettings } from "./settingFlags.ts";

/** Answers the command, for those below it. */
export function addDnsCommand(program: Command, context: CliContext): Command {
  return withSettings(program.command("dns"), "dns")
    .description("answer DNS queries for the services that a cluster imports")
    .action(async (_: unknown, command: Command) => {
      const { runDns } = await import("./dns.ts");
      const { runConfigured } = await import("./configured.ts");
      const { isServerProcess } = await import("../dns/fork.ts");
      const isHelper = isServerProcess(context.env);
      const given = { name: "dns", flags: readGivenFlags(command), isHelper } as const;
      await runConfigured(context, given, (settings, log) => runDns(context, settings, log));
    });
}
