// Bench: one process beside the bench, told what to do and asked for answers over its channel. It ends with the bench.

import { fork } from "node:child_process";
import { once } from "node:events";
import type { Access } from "./fleet.ts";

export interface Child {
  /** The answer to one message; one at a time. */
  readonly ask: (message: unknown) => Promise<unknown>;
  /** The same promise, but it rejects when the child dies first. */
  unlessDead<T>(work: Promise<T>): Promise<T>;
  stop(): Promise<void>;
}

/** Resolves when the child is connected. */
export async function startChild(file: string, access: readonly Access[]): Promise<Child> {
  const child = fork(new URL(file, import.meta.url));
  const died = new AbortController();
  child.once("exit", (code) => died.abort(new Error(`${file} ended with ${code}`)));
  async function ask(message: unknown): Promise<unknown> {
    const answer = once(child, "message", { signal: died.signal });
    child.send(message as object);
    const [reply]: unknown[] = await answer;
    return reply;
  }
  function unlessDead<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (died.signal.aborted) reject(died.signal.reason);
      died.signal.addEventListener("abort", () => reject(died.signal.reason), { once: true });
      work.then(resolve, reject);
    });
  }
  async function stop(): Promise<void> {
    if (child.connected) child.disconnect();
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
  try {
    await ask(access);
    return { ask, unlessDead, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The child's side: the first message connects, each later one is answered when its work is done. */
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
