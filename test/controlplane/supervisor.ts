// The daemons' parent: commands on standard input, answers on standard output, one JSON object per line.
// When its input ends, for whatever reason, it kills its daemons, removes its folder and ends. It outlives a
// test process that is killed, which is why it is a process of its own. Never touches a process it did not start.
//
//   test process ──pipe──▶ supervisor ──▶ etcd, kube-apiserver, kube-controller-manager
//        ✝ ────────────────▶ input ends ──▶ kill, remove, exit

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { getProcessIdentity, type ProcessIdentity } from "./identity.ts";
import type { Command, Reply } from "./protocol.ts";
import { killGroup, OWNER_FILE, sweepLeftovers } from "./sweep.ts";

const TERMINATE_MS = 5_000;

const [root = "", prefix = ""] = process.argv.slice(2);
sweepLeftovers(root, prefix);
const folder = mkdtempSync(join(root, prefix));
const daemons = new Map<string, { child: ChildProcess; identity: ProcessIdentity | undefined }>();
let ending = false;
recordOwner();

// Asked to end, or unable to answer: the same clean-up.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, end);
process.stdout.on("error", end);
process.on("uncaughtException", (error) => {
  process.stderr.write(`${error.stack}\n`);
  end();
});

const input = createInterface(process.stdin);
input.on("line", (line) => {
  const command: Command = JSON.parse(line);
  obey(command).then(
    (pid) => reply({ id: command.id, ...(pid === undefined ? {} : { pid }) }),
    (error: unknown) => reply({ id: command.id, error: String(error) }),
  );
});
input.on("close", end);
reply({ ready: folder });

async function obey(command: Command): Promise<number | undefined> {
  switch (command.do) {
    case "start":
      return start(command);
    case "stop":
      await stop(command.daemon, command.signal);
      return undefined;
    case "signal":
      daemons.get(command.daemon)?.child.kill(command.signal);
      return undefined;
    default:
      throw new Error(`unknown command ${JSON.stringify(command)}`);
  }
}

function start(command: Command & { do: "start" }): Promise<number> {
  const log = openSync(command.log, "a");
  // A group of its own: a keyboard interrupt must not reach it, and killing the group misses no grandchild.
  const child = spawn(command.file, command.args, {
    cwd: folder,
    detached: true,
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      daemons.delete(command.daemon);
      if (!ending) {
        recordOwner();
        reply({ exited: command.daemon, code, signal });
      }
    });
    child.once("spawn", () => {
      const pid = child.pid ?? 0;
      daemons.set(command.daemon, { child, identity: getProcessIdentity(pid) });
      recordOwner();
      resolve(pid);
    });
  });
}

async function stop(name: string, signal: NodeJS.Signals): Promise<void> {
  const daemon = daemons.get(name);
  if (!daemon) return;
  const exited = new Promise((resolve) => daemon.child.once("exit", resolve));
  daemon.child.kill(signal);
  const timer = setTimeout(() => daemon.child.kill("SIGKILL"), TERMINATE_MS);
  await exited;
  clearTimeout(timer);
}

/** What a later run needs to clean up after this process, should it be killed itself. */
function recordOwner(): void {
  const identities = [...daemons.values()].flatMap(({ identity }) => identity ?? []);
  writeFileSync(
    join(folder, OWNER_FILE),
    JSON.stringify({ owner: getProcessIdentity(process.pid), daemons: identities }),
  );
}

function reply(message: Reply): void {
  if (!ending) process.stdout.write(`${JSON.stringify(message)}\n`);
}

function end(): void {
  if (ending) return;
  ending = true;
  const exits = [...daemons.values()].map(({ child }) => {
    const exited = new Promise((resolve) => child.once("exit", resolve));
    killGroup(child.pid);
    return exited;
  });
  // Only when nobody writes there any more can the folder be removed for good.
  void Promise.all(exits).then(() => {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    process.exit(0);
  });
}
