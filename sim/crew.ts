// Crew: seeds in, outcomes out as they come, run by worker threads over all cores.

import { Worker } from "node:worker_threads";
import { build, type Plugin } from "esbuild";
import type { Answer, Order, WorkerOptions } from "./worker.ts";

export interface CrewOptions extends WorkerOptions {
  readonly jobs: number;
  /** The bundled worker; absent: it is bundled now. */
  readonly code?: string;
  /** Return false to have no more. */
  readonly onAnswer: (answer: Answer) => boolean | void;
}

/** Worlds make and forget much: with more room for the young they are cleared away less often. */
const RESOURCE_LIMITS = { maxYoungGenerationSizeMb: 128 };

/** One file, so that threads start quickly, whoever runs this. */
export async function bundleWorker(plugins: Plugin[] = []): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [new URL("./worker.ts", import.meta.url).pathname],
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    write: false,
    logLevel: "error",
    plugins,
  });
  return outputFiles[0]?.text ?? "";
}

/** Resolves when every order has been answered, or no more are wanted. Rejects when a thread fails. */
export async function runCrew(orders: Iterable<Order>, options: CrewOptions): Promise<void> {
  const code = options.code ?? (await bundleWorker());
  const left = orders[Symbol.iterator]();
  let isEnough = false;
  const workers = Array.from({ length: options.jobs }, () => {
    const { shrinkBudget } = options;
    return new Worker(code, {
      eval: true,
      workerData: { shrinkBudget },
      resourceLimits: RESOURCE_LIMITS,
    });
  });
  const work = (worker: Worker): Promise<void> =>
    new Promise((resolve, reject) => {
      const giveNext = (): void => {
        const next = left.next();
        if (isEnough || next.done === true) resolve();
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
        else worker.postMessage(next.value);
      };
      worker.on("error", reject);
      worker.on("message", (told: Answer | "ready") => {
        if (told !== "ready" && options.onAnswer(told) === false) isEnough = true;
        giveNext();
      });
    });
  try {
    await Promise.all(workers.map(work));
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}
