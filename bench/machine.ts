// Bench: what it ran on, as plain data and as a few lines. A ratio travels between machines, though not from a busy one.

import { availableParallelism, cpus, loadavg, release, totalmem, type } from "node:os";
import { BinariesError, getPinnedVersion, requireBinaries } from "../test/controlplane/binaries.ts";

export interface Machine {
  readonly processor: string;
  /** That may be used. */
  readonly cores: number;
  readonly memoryBytes: number;
  readonly kernel: string;
  readonly node: string;
  /** As in "v1.36.3". */
  readonly kubernetes: string;
  /** Mean of the last minute, 5 and 15 minutes before the start. */
  readonly load: readonly number[];
}

export async function readMachine(): Promise<Machine> {
  return {
    processor: [...new Set(cpus().map(({ model }) => model.trim()))].join(" and ") || "unknown",
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    kernel: `${type()} ${release()}`,
    node: process.version,
    kubernetes: await readKubernetes(),
    load: loadavg(),
  };
}

/** Without a build: the benches that need one make it, or say what is missing. */
async function readKubernetes(): Promise<string> {
  if (!process.env["KUBEBUILDER_ASSETS"]) return getPinnedVersion();
  try {
    return (await requireBinaries()).version;
  } catch (error) {
    if (error instanceof BinariesError) return "unknown";
    throw error;
  }
}

export function renderMachine(machine: Machine): string {
  const { processor, cores, load } = machine;
  // Half a core of others shows in the spread.
  const isBusy = (load[0] ?? 0) >= 0.5;
  const lines = [
    ["processor", `${processor}, ${renderCores(cores)}`],
    ["memory", renderMemory(machine)],
    ["kernel", machine.kernel],
    ["Node", machine.node],
    ["Kubernetes", machine.kubernetes],
    [
      "load",
      `${load.map((mean) => mean.toFixed(2)).join(" ")} at the start${isBusy ? ": others work here too, look at the spread" : ""}`,
    ],
  ];
  return `${lines.map(([name = "", words = ""]) => `${name.padEnd(10)}  ${words}`).join("\n")}\n`;
}

/** In one line, and the same for every run on it. */
export function nameMachine(machine: Machine): string {
  const { processor, cores, kernel, node, kubernetes } = machine;
  return [
    processor,
    renderCores(cores),
    renderMemory(machine),
    kernel,
    `Node ${node}`,
    `Kubernetes ${kubernetes}`,
  ].join(", ");
}

function renderCores(cores: number): string {
  return `${cores} ${cores === 1 ? "core" : "cores"}`;
}

function renderMemory({ memoryBytes }: Machine): string {
  return `${(memoryBytes / 1e9).toFixed(1)} GB`;
}
