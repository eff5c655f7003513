// CLI: names the commands that look for what is wrong, and their flags: check and gather. Each is loaded when asked for.

import { type Command, Option } from "commander";
import type { CheckFlags } from "./check.ts";
import type { CliContext } from "./context.ts";
import type { GatherFlags } from "./gather.ts";
import { withSources } from "./sourceFlags.ts";

export function addCheckCommands(program: Command, context: CliContext): void {
  withSources(program.command("check"))
    .description("check all that Isthmus needs in and between clusters, and say what to do")
    .addOption(
      new Option("-o, --output <format>", "how: all of it, only what is not well, or for programs")
        .choices(["table", "short", "json"])
        .default("table"),
    )
    .option("--wait", "look again until nothing fails", false)
    .option("--timeout <time>", "with --wait: how long, such as 90s or 5m", "5m")
    .action(async (flags: CheckFlags) => {
      const { runCheck } = await import("./check.ts");
      await runCheck(context, flags);
    });

  withSources(program.command("gather"))
    .description("put all that helps to understand a problem into one archive, without secrets")
    .option("-f, --file <file>", "the archive to write; absent: isthmus-<time>.tar.gz")
    .option("--folder <folder>", "write into a new folder instead of an archive")
    .option("--no-logs", "without the logs of agents")
    .action(async (flags: GatherFlags) => {
      const { runGather } = await import("./gather.ts");
      await runGather(context, flags);
    });
}
