// Bundle: a mutant in, the simulation with that bug in it out, as one file of code. What must hold is worked out by the rules
// as they were: the model that worlds are compared with must not make the same mistake.

import { readFile } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { OnLoadResult, Plugin } from "esbuild";
import { bundleWorker } from "../crew.ts";
import type { Mutant } from "./mutant.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const SIMULATION = join(ROOT, "sim") + sep;
const CORE = join(ROOT, "src", "core") + sep;
/** Files as the simulation itself imports them. */
const MODEL = "model";

export function bundleMutant(mutant: Mutant): Promise<string> {
  return bundleWorker([createPlugin(mutant)]);
}

export async function readOriginal({ file }: Mutant): Promise<string> {
  return readFile(join(ROOT, file), "utf8");
}

export function countOccurrences(text: string, { from }: Mutant): number {
  return text.split(from).length - 1;
}

function createPlugin(mutant: Mutant): Plugin {
  return {
    name: "mutant",
    setup(build) {
      build.onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir, importer, namespace }) => {
        const target = resolve(resolveDir, path);
        const isForModel = namespace === MODEL || importer.startsWith(SIMULATION);
        return {
          path: target,
          namespace: isForModel && target.startsWith(CORE) ? MODEL : "file",
        };
      });
      build.onLoad({ filter: /\.ts$/, namespace: MODEL }, ({ path }) => load(path));
      build.onLoad({ filter: /\.ts$/ }, ({ path }) =>
        path === join(ROOT, mutant.file) ? load(path, mutant) : undefined,
      );
    },
  };
}

async function load(path: string, mutant?: Mutant): Promise<OnLoadResult> {
  const text = await readFile(path, "utf8");
  if (mutant !== undefined && countOccurrences(text, mutant) !== 1) {
    throw new Error(
      `"${mutant.name}" replaces text that is not, or not once, in ${mutant.file}: write it anew.`,
    );
  }
  const contents = mutant === undefined ? text : text.replace(mutant.from, () => mutant.to);
  return { contents, loader: "ts", resolveDir: dirname(path) };
}
