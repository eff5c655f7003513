// Demo: a temporary folder in, one that goes away with the demo out. What a demo that was killed left behind goes when the next one starts.

import { rmSync } from "node:fs";
import { lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { Problem } from "../../api/problem.ts";

export interface Folder {
  readonly path: string;
  remove(): Promise<void>;
}

const PREFIX = "isthmus-demo-";
/** The number is that of the process whose folder it is. */
const NAME = /^isthmus-demo-(\d+)-[A-Za-z0-9]+$/;

export async function openFolder(parent: string): Promise<Folder> {
  const path = await makeFolder(parent);
  // Whoever ends the process without asking us, such as a pipe that was closed, ends the folder too.
  const onExit = (): void => rmSync(path, { recursive: true, force: true });
  process.once("exit", onExit);
  return {
    path,
    async remove() {
      await rm(path, { recursive: true, force: true });
      process.off("exit", onExit);
    },
  };
}

async function makeFolder(parent: string): Promise<string> {
  try {
    await removeLeftovers(parent);
    return await mkdtemp(join(parent, `${PREFIX}${process.pid}-`));
  } catch (cause) {
    throw new Problem("FileUnwritable", `no folder for kubeconfigs can be made in ${parent}`, {
      hint: "Set TMPDIR to a folder that you may read and write.",
      cause,
    });
  }
}

async function removeLeftovers(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = Number(NAME.exec(name)?.[1]);
    if (Number.isNaN(pid) || isRunning(pid)) continue;
    const path = join(parent, name);
    // The folder is everybody's: what another user called so is not ours to touch.
    if (await isOurs(path)) await rm(path, { recursive: true, force: true });
  }
}

async function isOurs(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  return found?.isDirectory() === true && found.uid === (process.getuid?.() ?? found.uid);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Not ours to signal is not gone.
    return !(error instanceof Error && "code" in error && error.code === "ESRCH");
  }
}
