// Credentials: runs one exec plugin, with bounded time and output → what it printed. Leaves no process behind.

import { type ChildProcess, spawn } from "node:child_process";
import { Problem } from "../api/problem.ts";
import type { Clock } from "../ports/clock.ts";
import type { ExecConfig } from "./connection.ts";

const TIMEOUT_MS = 60_000;
/** People type slower than programs answer. */
const INTERACTIVE_TIMEOUT_MS = 300_000;
const MAX_OUTPUT_BYTES = 1024 * 1024;
const MAX_COMPLAINT_BYTES = 4096;

export function runPlugin(
  exec: ExecConfig,
  options: {
    readonly clock: Clock;
    readonly interactive: boolean;
    readonly environment: Readonly<Record<string, string>>;
  },
): Promise<string> {
  const { clock, interactive } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(exec.command, [...exec.args], {
      env: { ...exec.environment(), ...exec.env, ...options.environment },
      stdio: [interactive ? "inherit" : "ignore", "pipe", interactive ? "inherit" : "pipe"],
      // Its own process group, so that what it started ends with it; on a terminal it must stay in ours.
      detached: !interactive,
    });
    const output: Buffer[] = [];
    let outputBytes = 0;
    let complaint = "";

    const timeoutMs = interactive ? INTERACTIVE_TIMEOUT_MS : TIMEOUT_MS;
    const timer = clock.schedule(timeoutMs, () => {
      fail(`it did not finish within ${timeoutMs / 1000} seconds`);
    });
    function fail(why: string, cause?: unknown): void {
      timer.cancel();
      endProcess(child, !interactive);
      reject(pluginFailed(exec, why, { complaint, cause }));
    }
    child.stdout?.on("data", (chunk: Buffer) => {
      outputBytes += chunk.length;
      if (outputBytes > MAX_OUTPUT_BYTES) fail(`it printed more than ${MAX_OUTPUT_BYTES} bytes`);
      else output.push(chunk);
    });
    child.stderr?.on("data", (chunk: Buffer) => {
      complaint = (complaint + chunk.toString("utf8")).slice(-MAX_COMPLAINT_BYTES);
    });
    child.on("error", (cause: NodeJS.ErrnoException) => {
      if (cause.code === "ENOENT") fail("there is no such command", cause);
      else fail(`it cannot be started (${cause.code ?? "unknown error"})`, cause);
    });
    child.on("close", (code, signal) => {
      timer.cancel();
      const why = code === null ? `it was ended by ${signal}` : `it exited with ${code}`;
      if (code === 0) resolve(Buffer.concat(output).toString("utf8"));
      else reject(pluginFailed(exec, why, { complaint }));
    });
  });
}

/** Names the command without its arguments, which may hold secrets, and adds the plugin's own install hint. */
export function pluginFailed(
  exec: ExecConfig,
  why: string,
  details: { readonly complaint?: string; readonly cause?: unknown } = {},
): Problem {
  const said = redact(lastLine(details.complaint ?? ""), Object.values(exec.env));
  const message = `the credential plugin ${exec.command} failed: ${why}`;
  return new Problem("ExecPluginFailed", said === "" ? message : `${message}; it said: ${said}`, {
    hint: exec.installHint?.trim() || "Run the command by hand to see what it needs.",
    cause: details.cause,
  });
}

/** Hides what looks like a token, and the values that the kubeconfig hands to the plugin. */
function redact(text: string, secrets: readonly string[]): string {
  let safe = text;
  for (const secret of secrets) {
    if (secret.length >= 6) safe = safe.replaceAll(secret, "[hidden]");
  }
  return safe.replaceAll(/[\w+=-]{24,}(?:[./][\w+=-]{24,})*|eyJ[\w.=-]+/g, "[hidden]");
}

function lastLine(text: string): string {
  const lines = text.split("\n").map((line) => line.trim());
  return lines.findLast((line) => line !== "")?.slice(0, 300) ?? "";
}

function endProcess(child: ChildProcess, isGroup: boolean): void {
  child.stdout?.destroy();
  child.stderr?.destroy();
  if (child.pid === undefined) return;
  try {
    // The group may outlive its leader: a plugin that exited can leave a child that holds our pipe.
    if (isGroup) process.kill(-child.pid, "SIGKILL");
    else if (child.exitCode === null) child.kill("SIGKILL");
  } catch {
    // Already gone.
  }
}
