// Bench: the other side of child.ts, in the child itself: what the bench asks is answered, and what the process has used is told.

import type { Access } from "./access.ts";

/** The first message connects, each later one is answered when its work is done. */
export function serveParent<T>(
  connect: (access: readonly Access[]) => Promise<T>,
  answer: (connection: T, message: unknown) => unknown,
): void {
  let connection: T | undefined;
  const receive = async (message: unknown): Promise<unknown> => {
    if (connection !== undefined) return answer(connection, message);
    connection = await connect(message as readonly Access[]);
    return "connected";
  };
  process.on("disconnect", () => process.exit());
  process.on("message", (message) => {
    receive(message).then(
      (reply) => process.send?.(reply ?? "done"),
      (error: unknown) => {
        process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
        process.exit(1);
      },
    );
  });
}

/** What a child has used so far. */
export function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

export function peakRssBytes(): number {
  return process.resourceUsage().maxRSS * 1_024;
}
