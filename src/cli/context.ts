// CLI: what a command gets from the outside world, so that it can be run and read in a test.

import type { Clock, Random } from "../ports/clock.ts";

export interface CliContext {
  /** What people call it: "kubectl isthmus" as a plugin of kubectl; absent: "isthmus". */
  readonly name?: string;
  readonly out: (line: string) => void;
  readonly error: (line: string) => void;
  /** All of standard input. */
  readonly input: () => Promise<string>;
  readonly color: boolean;
  /** Of what `error` prints; absent: as `color`. */
  readonly errorColor?: boolean;
  /** A person sits at the other end. */
  readonly interactive: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Aborts on Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
}

/** Resolves when the user asks to stop. */
export function untilStopped(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** For people: a line that is the same as the one before is not said again. */
export function tellOnce(context: Pick<CliContext, "error">): (line: string) => void {
  let told = "";
  return (line) => {
    if (line !== told) context.error(line);
    told = line;
  };
}
