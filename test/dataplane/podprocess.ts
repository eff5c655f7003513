// The process of a pod: a command and a network namespace in, a process there with its output in a file out. Ends with the bed.

import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { get } from "node:http";
import { connect } from "node:net";
import type { Readiness } from "./images.ts";

export interface PodProcess {
  readonly startedAtMs: number;
  signal(signal: NodeJS.Signals): void;
  /** Its exit code; 128 and more for signals, as shells count. Never rejects. */
  readonly ended: Promise<number>;
}

const PROBE_MS = 1_000;

export function startPodProcess(options: {
  readonly namespace: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly logPath: string;
  readonly nowMs: number;
}): PodProcess {
  const { namespace, command, env, logPath, nowMs } = options;
  const log = openSync(logPath, "a");
  // A group of its own: killing that misses no grandchild. Of our environment only the path: the rest is the runner's.
  const child = spawn("nsenter", [`--net=/run/netns/${namespace}`, ...command], {
    detached: true,
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  const killGroup = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // Nobody of it is left.
    }
  };
  const ended = new Promise<number>((resolve) => {
    child.once("error", () => resolve(127));
    child.once("exit", (code, signal) => {
      killGroup();
      resolve(code ?? (signal === "SIGKILL" ? 137 : 143));
    });
  });
  return {
    startedAtMs: nowMs,
    ended,
    signal(signal) {
      if (signal === "SIGKILL") killGroup();
      else child.kill(signal);
    },
  };
}

/** Whether it says that it is ready; any failure is a no, silence too. */
export function probe(address: string, { port, path }: Readiness): Promise<boolean> {
  return new Promise((resolve) => {
    if (path === undefined) {
      const socket = connect({ host: address, port, timeout: PROBE_MS });
      const say = (isReady: boolean): void => {
        resolve(isReady);
        socket.destroy();
      };
      socket.on("connect", () => say(true));
      socket.on("timeout", () => say(false));
      socket.on("error", () => say(false));
      return;
    }
    const signal = AbortSignal.timeout(PROBE_MS);
    const request = get({ host: address, port, path, agent: false, signal }, (response) => {
      response.resume();
      response.on("error", () => resolve(false));
      resolve(response.statusCode === 200);
    });
    request.on("error", () => resolve(false));
  });
}
