// CLI: names `isthmus config`, which takes the flags of the command that it speaks of. Loaded when asked for.

import { type Command, Option } from "commander";
import { CONFIGURABLE } from "../api/settings.ts";
import type { ConfigFormat } from "./config.ts";
import type { CliContext } from "./context.ts";
import { readGivenFlags, withSettings } from "./settingFlags.ts";

export function addConfigCommands(program: Command, context: CliContext): void {
  const config = program
    .command("config")
    .description("print the settings that a command would run with, and where each comes from");
  for (const name of CONFIGURABLE) {
    withSettings(config.command(name), name)
      .description(`the settings of isthmus ${name}; starts nothing, and fails if one is wrong`)
      .addOption(
        new Option("-o, --output <format>", "as a table, as a configuration file, or for programs")
          .choices(["table", "yaml", "json"])
          .default("table"),
      )
      .action(async (flags: { readonly output: ConfigFormat }, command: Command) => {
        const { printConfiguration } = await import("./config.ts");
        printConfiguration(context, { name, flags: readGivenFlags(command) }, flags.output);
      });
  }
}
