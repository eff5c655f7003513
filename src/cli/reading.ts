// CLI: names the commands that only look, and their flags: get, status, explain, top, simulate. Each is loaded when asked for.

import { type Command, Option } from "commander";
import type { CliContext } from "./context.ts";
import type { Gettable } from "./get.ts";
import type { ReadingFlags } from "./observer.ts";
import { withSources } from "./sourceFlags.ts";
import type { SimulateFlags } from "./simulate.ts";
import type { StatusFlags } from "./status.ts";

const KINDS: Readonly<
  Record<Gettable, { readonly aliases: readonly string[]; readonly what: string }>
> = {
  exports: {
    aliases: ["export", "svcex"],
    what: "what each cluster offers: conflicts, endpoints, who wins",
  },
  imports: {
    aliases: ["import", "svcim"],
    what: "what each cluster sees of it: address, endpoints by source, age of sync",
  },
  clusters: { aliases: ["cluster"], what: "who takes part, and when each was last heard" },
};

export function addReadingCommands(program: Command, context: CliContext): void {
  const get = program
    .command("get")
    .description("list what clusters export and import, and the clusters themselves");
  for (const [kind, { aliases, what }] of Object.entries(KINDS)) {
    const command = get
      .command(kind)
      .description(what)
      .aliases([...aliases]);
    withReading(kind === "clusters" ? command : withNamespace(command))
      .argument("[name...]", "only these")
      .action(async (names: readonly string[], flags: ReadingFlags) => {
        const { runGet } = await import("./get.ts");
        await runGet(context, kind as Gettable, { names, flags });
      });
  }

  withReading(withScope(program.command("status")))
    .description("say whether all is well, and if not, what is not and what to do about it")
    .option("--wait", "look again until all is well", false)
    .option("--timeout <time>", "with --wait: how long, such as 90s or 5m", "5m")
    .action(async (flags: StatusFlags) => {
      const { runStatus } = await import("./status.ts");
      await runStatus(context, flags);
    });

  withReading(program.command("explain"))
    .description("say why a service can be used or not, from its exports down to every endpoint")
    .argument("<service>", "web, shop/web or web.shop.svc.clusterset.local")
    .option("-n, --namespace <name>", "of a service without one; absent: that of the context")
    .action(async (service: string, flags: ReadingFlags) => {
      const { runExplain } = await import("./explain.ts");
      await runExplain(context, service, flags);
    });

  withReading(withScope(program.command("top")))
    .description("list services by endpoints, and how long changes take to arrive")
    .action(async (flags: ReadingFlags) => {
      const { runTop } = await import("./top.ts");
      await runTop(context, flags);
    });

  withReading(withScope(program.command("simulate")))
    .description("say what every service would have left without a cluster; changes nothing")
    .requiredOption("--without <cluster>", "the cluster that would be gone")
    .action(async (flags: SimulateFlags) => {
      const { runSimulate } = await import("./simulate.ts");
      await runSimulate(context, flags);
    });
}

function withReading(command: Command): Command {
  return withSources(command).addOption(
    new Option("-o, --output <format>", "for programs, or with more columns").choices([
      "json",
      "yaml",
      "wide",
      "name",
    ]),
  );
}

/** As kubectl: one namespace unless told otherwise. */
function withNamespace(command: Command): Command {
  return command
    .option("-n, --namespace <name>", "namespace to look in; absent: that of the context")
    .option("-A, --all-namespaces", "look in all namespaces", false);
}

/** All namespaces unless told otherwise. */
function withScope(command: Command): Command {
  return command.option("-n, --namespace <name>", "look in one namespace only");
}
