// Test tool: the image's root file system and what its Containerfile says in, its processes out, as a container runtime starts them:
// process 1 of a process namespace, a root that is read-only, a user that this machine does not know, no capabilities. The network is ours.
// Namespaces and mounts go with the process.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { type CommandProcess, startProcess } from "../commandProcess.ts";
import type { Containerfile } from "./containerfile.ts";

export interface Mount {
  /** A folder of this machine. */
  readonly from: string;
  readonly to: string;
}

export interface Contained extends CommandProcess {
  /** As a runtime ends a container: to process 1, which ignores what it does not handle. */
  terminate(): Promise<number | null>;
}

const UNSHARE = ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child"];
/** Arguments: the root, uid and gid, folders to mount by pairs, "--", the command. The environment is the command's, not this script's. */
const ENTER = `set -eu
image_path=$PATH
PATH=/usr/sbin:/usr/bin:/sbin:/bin
root=$1 uid=$2 gid=$3
shift 3
mount --bind "$root" "$root"
mkdir -p "$root/proc" "$root/dev"
mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
mount -t tmpfs -o mode=755 dev "$root/dev"
for device in null random urandom; do
  : > "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
while [[ $1 != -- ]]; do
  mkdir -p "$root$2"
  mount --bind "$1" "$root$2"
  mount -o remount,bind,ro "$root$2"
  shift 2
done
shift
mount -o remount,bind,ro "$root"
setpriv=$(command -v setpriv)
chroot=$(command -v chroot)
PATH=$image_path
exec "$setpriv" --no-new-privs "$chroot" --userspec="+$uid:+$gid" --groups="+$gid" "$root" "$@"`;

/** Throws one sentence where this cannot be done. */
export function requireRoom(): void {
  const trial = spawnSync(
    "unshare",
    [...UNSHARE.slice(1), "mount", "-t", "tmpfs", "trial", "/mnt"],
    {
      encoding: "utf8",
    },
  );
  if (process.getuid?.() === 0 && trial.status === 0) return;
  const said = trial.stderr?.trim() || trial.error?.message || "not root";
  throw new Error(
    `The tests of the image start it under a user and in namespaces of its own, and this system refuses (${said}): run them on Linux as root with CAP_SYS_ADMIN.`,
  );
}

export function startContained(
  image: Containerfile & { readonly root: string },
  args: readonly string[],
  options: {
    readonly mounts?: readonly Mount[];
    readonly env?: Readonly<Record<string, string>>;
    /** In place of the image's own. */
    readonly entrypoint?: readonly string[];
  } = {},
): Contained {
  const { mounts = [], env = {}, entrypoint = image.entrypoint } = options;
  const { uid, gid } = image.user;
  const folders = mounts.flatMap(({ from, to }) => [from, to]);
  const room = [image.root, String(uid), String(gid), ...folders, "--"];
  const inside = ["bash", "-c", ENTER, "bash", ...room, ...entrypoint, ...args];
  const run = startProcess("setpriv", ["--pdeathsig", "KILL", ...UNSHARE, ...inside], {
    // HOME: what runtimes set for who has no other.
    env: { HOME: "/", ...image.env, ...env },
    input: "ignore",
  });
  return {
    ...run,
    terminate() {
      const { pid } = run.process;
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
      process.kill(Number(children), "SIGTERM");
      return run.exit;
    },
  };
}
