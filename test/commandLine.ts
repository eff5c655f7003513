// Test tool: the command line in this process: arguments in, exit code and what was printed out.

import { tmpdir } from "node:os";
import type { CliContext } from "../src/cli/context.ts";
import { runCli } from "../src/cli/program.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";

export interface CommandRun {
  readonly code: number;
  /** Standard output. */
  readonly out: string;
  readonly err: string;
}

/** Somebody without a terminal, who reads nothing of what is printed. */
export const silentContext: CliContext = {
  out: () => {},
  error: () => {},
  input: () => Promise.resolve(""),
  color: false,
  interactive: false,
  env: {},
  home: tmpdir(),
  clock: systemClock,
  random: systemRandom,
  signal: new AbortController().signal,
};

export async function runCommand(
  args: readonly string[],
  fields: Partial<CliContext> = {},
): Promise<CommandRun> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await runCli(args, {
    ...silentContext,
    out: (line) => out.push(line),
    error: (line) => err.push(line),
    signal: new AbortController().signal,
    ...fields,
  });
  return { code, out: out.join("\n"), err: err.join("\n") };
}

/** Standard output of a run that must go well. */
export async function mustRun(args: readonly string[]): Promise<string> {
  const run = await runCommand(args);
  if (run.code === 0) return run.out;
  throw new Error(`isthmus ${args.join(" ")} ended with ${run.code}:\n${run.err}`);
}

/** What a run that must be refused says. No stack trace is a refusal. */
export async function mustRefuse(args: readonly string[]): Promise<string> {
  const run = await runCommand(args);
  if (run.code !== (run.err.includes("See ArgumentInvalid in") ? 2 : 1)) {
    throw new Error(`isthmus ${args.join(" ")} ended with ${run.code}:\n${run.out}\n${run.err}`);
  }
  if (/^\s+at /m.test(run.err)) throw new Error(`a stack trace:\n${run.err}`);
  return run.err;
}
