// Test tool: the room's outside: starts it, sends orders in, gets answers out; and says in one sentence what the machine lacks.

import { execFileSync, spawn } from "node:child_process";
import { accessSync, constants, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { requireCoreDns } from "../controlplane/binaries.ts";

export interface RoomOrder {
  readonly id: number;
  readonly file: string;
  readonly args: readonly string[];
  /** What /etc/resolv.conf holds from now on. */
  readonly resolvConf?: string;
}

export type RoomAnswer =
  | { readonly ready: true }
  | {
      readonly id: number;
      readonly code: number;
      readonly stdout: string;
      readonly stderr: string;
    };
type Outcome = Extract<RoomAnswer, { readonly id: number }>;

export interface Room {
  /** One at a time, because there is one resolv.conf. */
  run(file: string, args: readonly string[], resolvConf?: string): Promise<Outcome>;
  close(): Promise<void>;
}

/** Tools and the Debian packages that have them. */
const PACKAGES = {
  dig: "bind9-dnsutils",
  nslookup: "bind9-dnsutils",
  kdig: "knot-dnsutils",
  "musl-gcc": "musl-tools",
  gcc: "gcc",
  ip: "iproute2",
  unshare: "util-linux",
} as const;
export type Tool = keyof typeof PACKAGES;

export function requireTool(tool: Tool): string {
  for (const folder of [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/sbin"]) {
    try {
      accessSync(join(folder, tool), constants.X_OK);
      return join(folder, tool);
    } catch {
      // Perhaps in the next one.
    }
  }
  throw new Error(
    `The tests with real resolvers need ${tool}: install the Debian package ${PACKAGES[tool]}.`,
  );
}

function requireHeader(path: string, debianPackage: string): void {
  if (existsSync(path)) return;
  throw new Error(
    `The tests with real resolvers need ${path}: install the Debian package ${debianPackage}.`,
  );
}

const ROOM = fileURLToPath(new URL("room.ts", import.meta.url));
const SOURCE = fileURLToPath(new URL("getaddrinfo.c", import.meta.url));
const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));
const READY_MS = 90_000;

export async function openRoom(): Promise<Room> {
  requireTool("ip");
  const unshare = requireTool("unshare");
  const namespaces = ["--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child"];
  const command = [process.execPath, "--import", "tsx", ROOM, await requireCoreDns()];
  const child = spawn(unshare, [...namespaces, "--", ...command], {
    cwd: REPOSITORY,
    stdio: ["pipe", "pipe", "pipe"],
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-4_000);
  });
  child.stdin.on("error", () => {});
  const waiting = new Map<number, (answer: Outcome | undefined) => void>();
  let lastId = 0;
  const closed = new Promise<void>((resolve) => {
    child.once("close", () => {
      for (const settle of waiting.values()) settle(undefined);
      resolve();
    });
  });
  await new Promise<void>((resolve, reject) => {
    const fail = (): void => {
      child.kill("SIGKILL");
      const refused = /unshare|Operation not permitted/u.test(said);
      const why = refused
        ? "The tests with real resolvers need a network namespace: run them as root, or allow unprivileged user namespaces."
        : "The room for the resolvers did not open.";
      reject(new Error(`${why}\n${said}`));
    };
    const timer = setTimeout(fail, READY_MS);
    child.once("error", fail);
    child.once("close", fail);
    createInterface(child.stdout).on("line", (line) => {
      const answer: RoomAnswer = JSON.parse(line);
      if ("ready" in answer) {
        clearTimeout(timer);
        child.removeListener("close", fail);
        resolve();
        return;
      }
      waiting.get(answer.id)?.(answer);
      waiting.delete(answer.id);
    });
  });
  return {
    async run(file, args, resolvConf) {
      lastId += 1;
      const order = { id: lastId, file, args, ...(resolvConf === undefined ? {} : { resolvConf }) };
      const outcome = await new Promise<Outcome | undefined>((resolve) => {
        waiting.set(order.id, resolve);
        child.stdin.write(`${JSON.stringify(order)}\n`);
      });
      if (outcome === undefined) throw new Error(`The room ended:\n${said}`);
      return outcome;
    },
    async close() {
      child.stdin.end();
      await closed;
    },
  };
}

/** The same program with two C libraries. */
export function buildClients(): {
  readonly glibc: string;
  readonly musl: string;
  readonly remove: () => void;
} {
  const folder = mkdtempSync(join(tmpdir(), "isthmus-resolver-"));
  const [glibc, musl] = [join(folder, "glibc"), join(folder, "musl")];
  requireHeader("/usr/include/netdb.h", "libc6-dev");
  execFileSync(requireTool("gcc"), ["-o", glibc, SOURCE]);
  execFileSync(requireTool("musl-gcc"), ["-static", "-o", musl, SOURCE]);
  return { glibc, musl, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
