// Data plane: the real `helm` as a person runs it: a cluster and arguments in, what it printed out. Fails when it fails.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { requireHelm } from "../controlplane/binaries.ts";
import type { BedControl } from "./bed.ts";

export type Helm = (cluster: BedControl, ...args: readonly string[]) => Promise<string>;

/** Longer than its own patience. */
const LIMIT_MS = 400_000;

/** What it remembers goes into that folder. */
export async function createHelm(folder: string): Promise<Helm> {
  const file = await requireHelm();
  const homes = ["CACHE", "CONFIG", "DATA"].map((kind) => [
    `HELM_${kind}_HOME`,
    join(folder, "helm", kind.toLowerCase()),
  ]);
  const env = { PATH: process.env["PATH"], HOME: folder, ...Object.fromEntries(homes) };
  return ({ plan, kubeconfigPath }, ...args) =>
    new Promise((resolve, reject) => {
      const options = { env, timeout: LIMIT_MS, killSignal: "SIGKILL" } as const;
      execFile(
        file,
        [...args, "--kubeconfig", kubeconfigPath],
        options,
        (error, stdout, stderr) => {
          if (error === null) resolve(`${stdout}${stderr}`);
          else reject(new Error(`helm ${args[0]} in ${plan.name} failed:\n${stdout}${stderr}`));
        },
      );
    });
}
