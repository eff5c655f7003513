// Test tool: commands as a person meets them, `isthmus` above all: a real process, what it prints, how it ends.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, onTestFinished } from "vitest";
import { bundle } from "../tools/build.ts";

export interface CommandProcess {
  readonly process: ChildProcess;
  /** Standard output and error so far. */
  output(): string;
  /** Resolves when the text has been printed; rejects when the process ends before. */
  prints(text: string): Promise<void>;
  /** The same of whatever can be told from all that was printed. */
  shows(isThere: (output: string) => boolean): Promise<void>;
  readonly exit: Promise<number | null>;
}

/** Temporary files of the command go to `temp`, so that a test can see what is left. */
export type StartCommand = (
  args: readonly string[],
  temp: string,
  input?: "ignore" | "pipe",
  env?: NodeJS.ProcessEnv,
) => CommandProcess;

/** To be called once, at the top of a file of tests. */
export function bundleCommand(): StartCommand {
  let command = "";
  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), "isthmus-bundle-"));
    command = await bundle(folder);
    return () => rmSync(folder, { recursive: true });
  });
  return (args, temp, input = "ignore", env = {}) =>
    startProcess(process.execPath, [command, ...args], {
      env: { PATH: process.env["PATH"], HOME: temp, TMPDIR: temp, ...env },
      input,
    });
}

export function startProcess(
  file: string,
  args: readonly string[],
  options: {
    readonly env: NodeJS.ProcessEnv;
    readonly input: "ignore" | "pipe";
    readonly cwd?: string;
  },
): CommandProcess {
  const { env, input, cwd } = options;
  const child = spawn(file, args, {
    env,
    ...(cwd !== undefined && { cwd }),
    stdio: [input, "pipe", "pipe"],
    // A group of its own: who is left of it can be seen.
    detached: true,
  });
  // A process that ends early does not read what it was given.
  child.stdin?.on("error", () => {});
  onTestFinished(() => void child.kill("SIGKILL"));
  let text = "";
  const waiting = new Set<() => void>();
  const read = (chunk: Buffer): void => {
    text += chunk.toString();
    for (const look of waiting) look();
  };
  child.stdout?.on("data", read);
  child.stderr?.on("data", read);
  const exit = new Promise<number | null>((resolve) => child.on("close", resolve));
  const shows = (isThere: (output: string) => boolean, what = "what it should"): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (isThere(text)) resolve();
      };
      waiting.add(look);
      look();
      void exit.then(() => reject(new Error(`it ended without printing ${what}:\n${text}`)));
    });
  return {
    process: child,
    output: () => text,
    prints: (wanted) => shows((output) => output.includes(wanted), `"${wanted}"`),
    shows,
    exit,
  };
}
