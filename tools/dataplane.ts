// `npm run test:dataplane`: arguments for the runner in, its exit code out; or one sentence why this machine cannot do it. Runs the
// tests in namespaces of their own, and holds them by a chain of which each link is killed by the kernel with the one before:
//
//   npm ─watched by─▶ this ─dies with─▶ unshare ─dies with─▶ bash, process 1 of all namespaces ─▶ runner, daemons, pods
//
// So there is nothing to clean up and nobody to forget it: processes, networks, rules and files go with process 1. Changes nothing
// outside, except for the binaries' cache.

import { spawn, spawnSync } from "node:child_process";
import { accessSync, constants as fileConstants, readFileSync, readlinkSync } from "node:fs";
import { constants } from "node:os";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";
import { requireBinaries, requireCoreDns, requireHelm } from "../test/controlplane/binaries.ts";
import {
  getProcessIdentity,
  isRunning,
  type ProcessIdentity,
} from "../test/controlplane/identity.ts";
import { OUTER_NETWORK } from "../test/dataplane/fabric.ts";

const ROOT = join(import.meta.dirname, "..");
/** With the Debian packages that have them. */
const PROGRAMS: Readonly<Record<string, string>> = {
  bash: "bash",
  mount: "mount",
  unshare: "util-linux",
  setpriv: "util-linux",
  nsenter: "util-linux",
  ip: "iproute2",
  iptables: "iptables",
  ip6tables: "iptables",
  nft: "nftables",
};
const UNSHARE = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
/** A file system of its own for all that is written: namespaces by name, locks, temporary folders, the clusters' data. */
const SET_UP = `set -eu
mount -t tmpfs -o mode=755 isthmus /run
mkdir /run/netns
mkdir -m 700 /run/isthmus
export TMPDIR=/run/isthmus
ip link set lo up`;
const TRIAL = `${SET_UP}
ip link add br0 type bridge
ip addr add fd42::1/64 dev br0 nodad
ip netns add trial
ip link add trial type veth peer name eth0 netns trial
for table in nat mangle; do iptables -t $table -S > /dev/null; ip6tables -t $table -S > /dev/null; done
nft list ruleset > /dev/null`;
/** Not in place of bash: process 1 has to adopt and bury what loses its parent. */
const RUN = `${SET_UP}
"$@" & wait $!`;
const WATCH_MS = 250;

export interface Machine {
  readonly platform: string;
  readonly isRoot: boolean;
  hasProgram(name: string): boolean;
  /** What the kernel or a program said when it refused. */
  tryNamespaces(): string | undefined;
}

/** Undefined when the tests can run here. */
export function findRefusal(machine: Machine): string | undefined {
  if (machine.platform !== "linux") {
    return `The data-plane tests run real packets through network namespaces, which only Linux has (this is ${machine.platform}): run them on Linux, as root.`;
  }
  if (!machine.isRoot) {
    return "The data-plane tests make network namespaces, which takes root: run them as root.";
  }
  const missing = Object.keys(PROGRAMS).filter((name) => !machine.hasProgram(name));
  if (missing.length > 0) {
    const packages = new Set(missing.map((name) => PROGRAMS[name]));
    return `The data-plane tests need ${missing.join(", ")} on the PATH: install the Debian packages ${[...packages].join(", ")} or their like.`;
  }
  const said = machine.tryNamespaces();
  if (said === undefined) return undefined;
  return `The data-plane tests need namespaces, veth links, bridges, IPv6, iptables and nftables, and this system refuses (${said}): run them where root has CAP_SYS_ADMIN and CAP_NET_ADMIN, in a privileged container for instance.`;
}

const thisMachine: Machine = {
  platform: process.platform,
  isRoot: process.getuid?.() === 0,
  hasProgram(name) {
    const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
    return folders.some((folder) => isExecutable(join(folder, name)));
  },
  tryNamespaces() {
    const [file = "", ...args] = UNSHARE;
    const trial = spawnSync(file, [...args, "bash", "-c", TRIAL], { encoding: "utf8" });
    if (trial.status === 0) return undefined;
    const said = trial.stderr.trim().split("\n")[0] ?? "";
    return said || trial.error?.message || `exit code ${trial.status}`;
  },
};

function isExecutable(path: string): boolean {
  try {
    accessSync(path, fileConstants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** From our parent up to npm, when npm started us. */
export function listParents(): readonly ProcessIdentity[] {
  if (process.env["npm_lifecycle_event"] === undefined) return [];
  const parents: ProcessIdentity[] = [];
  for (let pid = process.ppid; pid > 1; pid = readParent(pid)) {
    const identity = getProcessIdentity(pid);
    if (identity === undefined) break;
    parents.push(identity);
    if (readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith("npm")) break;
  }
  return parents;
}

function readParent(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}

async function main(): Promise<number> {
  const parents = process.platform === "linux" ? listParents() : [];
  const refusal = findRefusal(thisMachine);
  if (refusal !== undefined) return refuse(refusal);
  try {
    // While there is a network: inside there is none.
    const report = (line: string): void => void process.stdout.write(`data plane: ${line}\n`);
    const binaries = await requireBinaries({ report });
    await requireCoreDns({ report });
    await requireHelm({ report });
    const lacking = (["kubeControllerManager", "kubeProxy"] as const).find(
      (name) => !binaries[name],
    );
    if (lacking !== undefined) {
      return refuse(
        "The data-plane tests need kube-controller-manager and kube-proxy, and the folder that KUBEBUILDER_ASSETS names lacks one of them: add both, or unset KUBEBUILDER_ASSETS and put Go 1.26 or newer on the PATH.",
      );
    }
    report(`Kubernetes ${binaries.version} from ${binaries.source}`);
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
  const runner = [process.execPath, join(ROOT, "node_modules/vitest/vitest.mjs"), "run"];
  const config = ["--config", "vitest.dataplane.config.ts"];
  return runInside([...runner, ...config, ...process.argv.slice(2)], parents);
}

function refuse(sentence: string): number {
  process.stderr.write(`${sentence}\n`);
  return 1;
}

/** A command in namespaces of its own, which end with it, with this process, or with one of its parents. */
export function runInside(
  command: readonly string[],
  parents: readonly ProcessIdentity[],
): Promise<number> {
  const child = spawn(
    "setpriv",
    ["--pdeathsig", "KILL", ...UNSHARE, "bash", "-c", RUN, "bash", ...command],
    {
      cwd: ROOT,
      stdio: ["ignore", "inherit", "inherit"],
      env: { ...process.env, [OUTER_NETWORK]: readlinkSync("/proc/self/ns/net") },
    },
  );
  // At once and for good, whatever the tests would like to say first: the kernel cleans up.
  let wanted: NodeJS.Signals | undefined;
  const kill = (signal: NodeJS.Signals): void => {
    wanted = signal;
    child.kill("SIGKILL");
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, kill);
  const watch = setInterval(() => {
    if (!parents.every(isRunning)) kill("SIGHUP");
  }, WATCH_MS);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      clearInterval(watch);
      if (code !== null) return resolve(code);
      process.stderr.write(`The data-plane tests were ended by ${wanted ?? signal}.\n`);
      resolve(128 + constants.signals[wanted ?? signal ?? "SIGKILL"]);
    });
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  process.exitCode = await main();
}
