// The `isthmus` command: wires the real world to the CLI and turns signals into an abort.

import { homedir } from "node:os";
import { basename } from "node:path";
import process from "node:process";
import { addAbortSignal } from "node:stream";
import { text } from "node:stream/consumers";
import { isatty } from "node:tty";
import { runCli } from "../cli/program.ts";
import { systemClock, systemRandom } from "../kube/clock.ts";

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    // A second signal means: now.
    if (stop.signal.aborted) process.exit(130);
    stop.abort();
  });
}
// A closed pipe (`isthmus crds print | head`) is the reader's choice, not a failure.
process.stdout.on("error", () => process.exit(0));

// kubectl runs whatever is called so on the PATH as `kubectl isthmus`.
const isPlugin = basename(process.argv[1] ?? "").startsWith("kubectl-isthmus");

// `isTTY` of a pipe is undefined, which invites guesses: CI and FORCE_COLOR would put colours into files.
const allowsColor = process.env["NO_COLOR"] === undefined;

process.exitCode = await runCli(process.argv.slice(2), {
  ...(isPlugin && { name: "kubectl isthmus" }),
  out: (line) => process.stdout.write(`${line}\n`),
  error: (line) => process.stderr.write(`${line}\n`),
  input: () => text(addAbortSignal(stop.signal, process.stdin)),
  color: allowsColor && isatty(1),
  errorColor: allowsColor && isatty(2),
  interactive: isatty(0) && isatty(1),
  env: process.env,
  home: homedir(),
  clock: systemClock,
  random: systemRandom,
  signal: stop.signal,
});
