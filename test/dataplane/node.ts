// Data-plane bed: a program in a network namespace: a command line in, a process out that ends with its supervisor, or what it
// printed.

import { execFile } from "node:child_process";
import { join } from "node:path";
import type { Daemons } from "../controlplane/daemons.ts";
import { type CommandLine, inNamespace } from "../controlplane/namespace.ts";

const RUN_MS = 60_000;

export interface Program {
  /** Unique among those that run beside it; its log is `<name>.log`. */
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
}

export interface NodeProgram {
  readonly name: string;
  readonly logPath: string;
  isRunning(): boolean;
  /** Resolves when it has ended; after five seconds it is killed whatever the signal was. */
  stop(signal: NodeJS.Signals): Promise<void>;
}

/** Without a namespace: where this process is. */
export async function startProgram(
  program: Program,
  place: { readonly daemons: Daemons; readonly logsPath: string; readonly netns?: string },
): Promise<NodeProgram> {
  const { daemons, logsPath, netns } = place;
  const { name, file, args } = program;
  const logPath = join(logsPath, `${name}.log`);
  const command = netns === undefined ? { file, args } : inNamespace(netns, { file, args });
  await daemons.start({ name, ...command, log: logPath });
  return {
    name,
    logPath,
    isRunning: () => daemons.isRunning(name),
    stop: (signal) => daemons.stop(name, signal),
  };
}

/** To its end; answers what it printed, and fails when it does. */
export function runProgram(netns: string, program: CommandLine, limitMs = RUN_MS): Promise<string> {
  const { file, args } = inNamespace(netns, program);
  return new Promise((resolve, reject) => {
    execFile(
      file,
      [...args],
      { timeout: limitMs, killSignal: "SIGKILL" },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`${program.file} in ${netns} failed: ${stderr}`, { cause: error }));
      },
    );
  });
}
