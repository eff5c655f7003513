// DNS: starts this program again as a server process that shares our sockets (node:cluster), and is the other end of the line in it.
// The processes take queries from one socket without passing them on: the reader can be busy, or stopped, and they answer.

import cluster from "node:cluster";
import process from "node:process";
import type { Clock, Timer } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { detachChange, type FromServer, type ToServer } from "./channel.ts";
import type { Child } from "./member.ts";
import { createDnsServer, type DnsServer } from "./server.ts";

/** Tells a process that it was started to serve. */
const ROLE = "ISTHMUS_DNS_ROLE";
const REPORT_MS = 1_000;

export function isServerProcess(env: Readonly<Record<string, string | undefined>>): boolean {
  return env[ROLE] === "server" && cluster.isWorker;
}

/** The same program with the same arguments, whatever way it was started. */
export function createFork(): () => Child {
  // Each process accepts connections by itself; by default the first would accept them for all.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  cluster.setupPrimary({ serialization: "advanced" });
  return () => {
    const worker = cluster.fork({ [ROLE]: "server" });
    return {
      pid: worker.process.pid,
      // A process that has just died cannot be sent anything; its end is told apart.
      send: (message) => void worker.send(message, () => undefined),
      kill: () => void worker.process.kill("SIGKILL"),
      listen(listener) {
        worker.on("message", (message: FromServer) => listener.onMessage(message));
        worker.on("error", () => undefined);
        worker.on("exit", (code, signal) => listener.onExit(signal ?? `exit code ${code}`));
      },
    };
  };
}

/** Every second, but never a second one before the first is on its way: a reader that is stopped hears nothing for as long as it likes. */
export function repeatReport(clock: Clock, report: () => Promise<void>): Timer {
  let isUnderWay = false;
  async function send(): Promise<void> {
    isUnderWay = true;
    await report();
    isUnderWay = false;
  }
  let timer = clock.schedule(REPORT_MS, tick);
  function tick(): void {
    timer = clock.schedule(REPORT_MS, tick);
    if (!isUnderWay) void send();
  }
  return { cancel: () => timer.cancel() };
}

/** Resolves when the reader says so, or the signal; a reader that is gone ends the process at once. */
export async function runServerProcess(options: {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}): Promise<void> {
  const { clock, log, signal } = options;
  let server: DnsServer | undefined;
  /** Resolves when it is on its way. */
  function tell(message: FromServer): Promise<void> {
    return new Promise((resolve) => {
      if (process.connected) process.send?.(message, undefined, {}, () => resolve());
      else resolve();
    });
  }
  async function report(): Promise<void> {
    if (server !== undefined) await tell({ kind: "report", report: server.report() });
  }
  const timer = repeatReport(clock, report);

  async function open(): Promise<void> {
    try {
      await server?.open();
      await report();
      await tell({ kind: "opened" });
    } catch (error) {
      await tell({ kind: "failed", message: String(error) });
    }
  }

  await new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
    process.on("message", (message: ToServer) => {
      switch (message.kind) {
        case "start":
          server = createDnsServer(message.config, { clock, log });
          return;
        case "changes":
          for (const change of message.changes) server?.replace(detachChange(change));
          void tell({ kind: "taken" });
          return;
        case "synced":
          server?.markSynced();
          void report();
          return;
        case "open":
          void open();
          return;
        case "stop":
          resolve();
      }
    });
    void tell({ kind: "hello" });
  });
  timer.cancel();
  await server?.close();
  await report();
  process.disconnect?.();
}
