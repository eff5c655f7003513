// CLI: arguments in, exit code out. Names the commands; each command lives in its own file and is loaded when asked for.

import { Argument, Command, CommanderError, Help, Option } from "commander";
import pc from "picocolors";
import { isProblem, Problem } from "../api/problem.ts";
import { VERSION } from "../api/version.ts";
import { addCheckCommands } from "./checkCommand.ts";
import { SHELLS, type Shell } from "./shell.ts";
import type { CliContext } from "./context.ts";
import { addConfigCommands } from "./configCommand.ts";
import { addDashboardCommand } from "./dashboardCommand.ts";
import type { DemoFlags } from "./demo/manner.ts";
import { addDnsCommand } from "./dnsCommand.ts";
import { addSwitchCommands } from "./dnsSwitch.ts";
import { addDrainCommands } from "./draining.ts";
import { addExportCommands } from "./exporting.ts";
import { addMembershipCommands } from "./membership.ts";
import { addPolicyCommands } from "./policyCommand.ts";
import { addReadingCommands } from "./reading.ts";
import { readGivenFlags, withSettings } from "./settingFlags.ts";
import { yamlOption } from "./sourceFlags.ts";
import { plain, plainLines } from "./terminal.ts";

/** 0 done, 1 a problem that was explained, 2 wrong usage. */
export async function runCli(argv: readonly string[], context: CliContext): Promise<number> {
  try {
    const program = createProgram(context);
    refuseStrangeHelp(program, argv);
    await program.parseAsync([...argv], { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    // Who ends a process that runs until it is ended has what he wanted; a command that was cut short has not done its work.
    if (context.signal.aborted && !isProblem(error, "Interrupted")) return 0;
    printFailure(error, context);
    return isProblem(error, "ArgumentInvalid", "ConfigurationInvalid") ? 2 : 1;
  }
}

/** Of a command that there is not, commander would show the help of all, and not say why. */
function refuseStrangeHelp(program: Command, [help, wanted = ""]: readonly string[]): void {
  if (help !== "help" || wanted === "" || wanted === "help" || wanted.startsWith("-")) return;
  if (program.commands.some((one) => [one.name(), ...one.aliases()].includes(wanted))) return;
  program.error(`error: unknown command '${plain(wanted)}'`);
}

/** Exported for the test that holds the docs to it: nothing runs before it parses. */
export function createProgram(context: CliContext): Command {
  const program = new Command(context.name ?? "isthmus")
    .description("Multi-Cluster Services for Kubernetes, on any CNI")
    .version(VERSION, "-V, --version", "print the version")
    .exitOverride()
    // Flags behind `dns enable` are those of enable, though `dns` has some of the same name.
    .enablePositionalOptions()
    .showHelpAfterError("Add --help to see what there is.")
    .configureHelp({ optionDescription: describeOption })
    .configureOutput({
      writeOut: (text) => context.out(text.trimEnd()),
      writeErr: (text) => context.error(text.trimEnd()),
    });

  program
    .command("demo")
    .description(
      "three clusters, real controllers, real requests, told step by step; needs nothing but Node",
    )
    .option("--fast", "do not wait for Enter between the steps")
    .option("--stay", "leave everything running until Ctrl-C: the default in a terminal")
    .option("--script", "tell the story without waiting and leave: the default without a terminal")
    .action(async (options: DemoFlags) => {
      const { runDemo } = await import("./demo.ts");
      const { chooseManner } = await import("./demo/manner.ts");
      const hasExplain = program.commands.some((command) => command.name() === "explain");
      await runDemo(context, { ...chooseManner(context, options), hasExplain });
    });

  program
    .command("embedded")
    .description(
      "run one embedded cluster until Ctrl-C: for trying things out, never for production",
    )
    .option("--name <name>", "name of the cluster and of its kubeconfig context", "embedded")
    .option("--port <port>", "port on 127.0.0.1; 0 takes a free one", "0")
    .option("--kubeconfig <file>", "where to write the kubeconfig; absent: a temporary file")
    .action(async (options: { name: string; port: string; kubeconfig?: string }) => {
      const { runEmbedded } = await import("./embedded.ts");
      await runEmbedded(context, options);
    });

  withSettings(program.command("central"), "central")
    .description(
      "keep the services of several clusters in step: one process, a kubeconfig per cluster",
    )
    .action(async (_: unknown, command: Command) => {
      const { runCentral } = await import("./central.ts");
      const { runConfigured } = await import("./configured.ts");
      const given = { name: "central", flags: readGivenFlags(command) } as const;
      await runConfigured(context, given, (settings, log) => runCentral(context, settings, log));
    });

  addMembershipCommands(program, context);
  addExportCommands(program, context);
  addDrainCommands(program, context);
  addReadingCommands(program, context);
  addDashboardCommand(program, context);
  addCheckCommands(program, context);

  withSettings(program.command("agent"), "agent")
    .description(
      "keep the services of one cluster in step with those of a hub that it joined; several may run, one works",
    )
    .action(async (_: unknown, command: Command) => {
      const { runAgent } = await import("./agent.ts");
      const { runConfigured } = await import("./configured.ts");
      const given = { name: "agent", flags: readGivenFlags(command) } as const;
      await runConfigured(context, given, (settings, log) => runAgent(context, settings, log));
    });

  addSwitchCommands(addDnsCommand(program, context), context);
  addConfigCommands(program, context);

  const crds = program
    .command("crds")
    .description("the CustomResourceDefinitions that Isthmus needs");
  crds
    .command("print")
    .description("print them as YAML, for kubectl apply or for review")
    .action(async () => {
      const { printCrds } = await import("./crds.ts");
      printCrds(context);
    });
  crds
    .command("install")
    .description("install or upgrade them; a newer definition is never downgraded")
    .option("--kubeconfig <file>", "kubeconfig to use; absent: $KUBECONFIG, then ~/.kube/config")
    .option("--context <name>", "context of the kubeconfig; absent: its current one")
    .addOption(yamlOption())
    .action(async (options: { kubeconfig?: string; context?: string; output?: "yaml" }) => {
      const { installCrdsCommand } = await import("./crds.ts");
      await installCrdsCommand(context, options);
    });

  addPolicyCommands(program, context);

  program
    .command("completion")
    .description("print a script that completes commands, flags and choices in a shell")
    .addArgument(new Argument("<shell>", "the shell to complete in").choices(SHELLS))
    .action(async (shell: Shell) => {
      const { printCompletion } = await import("./completion.ts");
      printCompletion(context, program, shell);
    });

  return program;
}

/** That a flag is off or empty unless it is given goes without saying. */
function describeOption(option: Option): string {
  const { defaultValue } = option;
  const isObvious = defaultValue === false || (Array.isArray(defaultValue) && !defaultValue.length);
  if (!isObvious) return new Help().optionDescription(option);
  return new Help().optionDescription(new Option(option.flags, option.description));
}

function printFailure(error: unknown, context: CliContext): void {
  const { red, dim } = pc.createColors(context.errorColor ?? context.color);
  const isDebugged = context.env["ISTHMUS_DEBUG"] === "1";
  if (isDebugged && error instanceof Error) context.error(plainLines(error.stack ?? ""));
  if (error instanceof Problem) {
    context.error(`${red("error:")} ${plainLines(error.message)}`);
    if (error.hint !== undefined) context.error(plainLines(error.hint));
    context.error(dim(`See ${error.code} in docs/errors.md.`));
    return;
  }
  const text = error instanceof Error ? error.message : String(error);
  context.error(`${red("error:")} ${plainLines(text)}`);
  context.error(
    isDebugged
      ? "This was not foreseen: please report it, with the lines above."
      : "This was not foreseen. With ISTHMUS_DEBUG=1 in the environment it shows where it happened: please report it with that.",
  );
}
