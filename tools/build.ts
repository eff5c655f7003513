// Bundles the `isthmus` command into one file: `npm run build`, and the tests that run it as a process.

import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

const root = join(import.meta.dirname, "..");

/** One file that needs nothing but Node. Answers its path. */
export async function bundle(folder: string): Promise<string> {
  const outfile = join(folder, "isthmus.mjs");
  await build({
    entryPoints: [join(root, "src/bin/isthmus.ts")],
    outfile,
    bundle: true,
    platform: "node",
    target: "node20.19",
    format: "esm",
    logLevel: "warning",
    banner: {
      // Some dependencies are CommonJS and call require for Node's own modules.
      js: '#!/usr/bin/env node\nimport { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);',
    },
  });
  await chmod(outfile, 0o755);
  return outfile;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  process.stdout.write(`${await bundle(join(root, "dist"))}\n`);
}
