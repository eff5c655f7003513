// Bench: one process beside the bench, told what to do and asked for answers over its channel. It ends with the bench. It runs as one
// bundled file, as the product does.

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleFile } from "../tools/build.ts";
import type { Access } from "./access.ts";

export interface Child {
  /** The answer to one message; one at a time. */
  readonly ask: (message: unknown) => Promise<unknown>;
  /** The same promise, but it rejects when the child dies first. */
  unlessDead<T>(work: Promise<T>): Promise<T>;
  stop(): Promise<void>;
}

/** By name: programs of this folder. */
const bundles = new Map<string, Promise<string>>();

/** Resolves when the child is connected. */
export async function startChild(name: string, access: readonly Access[]): Promise<Child> {
  const bundling = bundles.get(name) ?? bundleChild(name);
  bundles.set(name, bundling);
  const child = fork(await bundling, { execArgv: [] });
  const died = new AbortController();
  child.once("exit", (code) => died.abort(new Error(`bench/${name}.ts ended with ${code}`)));
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

async function bundleChild(name: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "isthmus-bench-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, `${name}.mjs`);
  await bundleFile(`bench/${name}.ts`, file);
  return file;
}
