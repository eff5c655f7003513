// Fault tests: the `isthmus` command as a person runs it: arguments in, what it printed out. Fails when it fails.

import { execFile } from "node:child_process";

export type Isthmus = (...args: readonly string[]) => Promise<string>;

const TIMEOUT_MS = 120_000;

export function createCommand(bundlePath: string, home: string): Isthmus {
  return (...args) =>
    new Promise((resolve, reject) => {
      const options = {
        env: { PATH: process.env["PATH"], HOME: home },
        timeout: TIMEOUT_MS,
        killSignal: "SIGKILL",
      } as const;
      execFile(process.execPath, [bundlePath, ...args], options, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`isthmus ${args.slice(0, 2).join(" ")} failed:\n${stdout}${stderr}`));
      });
    });
}
