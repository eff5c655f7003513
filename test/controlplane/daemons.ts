// The test's end of a supervisor: starts one, and offers its daemons as promises. Holds no state of the cluster.

import { spawn } from "node:child_process";
import { realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Command, Reply } from "./protocol.ts";

const FOLDER_PREFIX = "isthmus-controlplane-";

const SUPERVISOR = fileURLToPath(new URL("supervisor.ts", import.meta.url));
const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));

type WithoutId<T> = T extends unknown ? Omit<T, "id"> : never;

export interface Daemons {
  /** Removed when the supervisor ends. */
  readonly folder: string;
  start(daemon: {
    readonly name: string;
    readonly file: string;
    readonly args: readonly string[];
    readonly log: string;
  }): Promise<void>;
  stop(name: string, signal: NodeJS.Signals): Promise<void>;
  signal(name: string, signal: NodeJS.Signals): Promise<void>;
  /** False once it has exited, by itself or not. */
  isRunning(name: string): boolean;
  /** Kills all of them and removes the folder; resolves when both are done. */
  end(): Promise<void>;
}

export async function startDaemons(): Promise<Daemons> {
  // A group of its own, so that an interrupt from the keyboard ends the tests and not this before them.
  const child = spawn(
    process.execPath,
    ["--import", "tsx", SUPERVISOR, realpathSync(tmpdir()), FOLDER_PREFIX],
    { cwd: REPOSITORY, detached: true, stdio: ["pipe", "pipe", "inherit"] },
  );
  const running = new Set<string>();
  const waiting = new Map<number, (reply: { readonly error?: string }) => void>();
  let lastId = 0;
  let ended = false;
  const end = new Promise<void>((resolve) => {
    child.once("close", () => {
      ended = true;
      for (const settle of waiting.values()) settle({ error: "the supervisor ended" });
      resolve();
    });
  });
  // A write after its end is told by the close event already.
  child.stdin.on("error", () => {});

  const folder = await new Promise<string>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => reject(new Error(`The supervisor ended with code ${code}.`)));
    createInterface(child.stdout).on("line", (line) => {
      const reply: Reply = JSON.parse(line);
      if ("ready" in reply) {
        resolve(reply.ready);
      } else if ("exited" in reply) {
        running.delete(reply.exited);
      } else {
        waiting.get(reply.id)?.(reply);
        waiting.delete(reply.id);
      }
    });
  });

  function ask(command: WithoutId<Command>): Promise<void> {
    lastId += 1;
    const id = lastId;
    return new Promise((resolve, reject) => {
      if (ended) reject(new Error("The supervisor has ended."));
      waiting.set(id, (reply) => (reply.error ? reject(new Error(reply.error)) : resolve()));
      child.stdin.write(`${JSON.stringify({ id, ...command })}\n`);
    });
  }

  return {
    folder,
    async start({ name, file, args, log }) {
      running.add(name);
      await ask({ do: "start", daemon: name, file, args, log });
    },
    stop: (name, signal) => ask({ do: "stop", daemon: name, signal }),
    signal: (name, signal) => ask({ do: "signal", daemon: name, signal }),
    isRunning: (name) => running.has(name),
    async end() {
      child.stdin.end();
      await end;
    },
  };
}
