// Test tool: `isthmus agent` as its users run it, in this process: where its cluster is in, how to end it out.

import { runCli } from "../src/cli/program.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";

export function startAgentCommand(
  at: readonly string[],
  onLine: (line: string) => void = () => undefined,
): () => Promise<void> {
  const stopping = new AbortController();
  const exit = runCli(["agent", "--metrics-address", "127.0.0.1:0", ...at], {
    out: () => undefined,
    error: onLine,
    input: () => Promise.resolve(""),
    color: false,
    interactive: false,
    env: {},
    home: "/",
    clock: systemClock,
    random: systemRandom,
    signal: stopping.signal,
  });
  return async () => {
    stopping.abort();
    await exit;
  };
}
