// `npm run build`: the sources in, and in one folder out: the `isthmus` command as one file, the list of what others' code is in it, and
// their licences. Equal sources give equal bytes, wherever they are and whenever it runs.

import { createHash } from "node:crypto";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Metafile } from "esbuild";
import { renderBom } from "./bom.ts";
import { listBundled, renderNotices } from "./bundled.ts";

const ROOT = join(import.meta.dirname, "..");

export const COMMAND_FILE = "isthmus.mjs";
export const BOM_FILE = "isthmus.cdx.json";
export const NOTICES_FILE = "THIRD-PARTY-NOTICES.txt";

/** One file that needs nothing but Node. Answers its path. */
export async function bundle(folder: string): Promise<string> {
  await compile(folder);
  return join(folder, COMMAND_FILE);
}

/** All that is given to others. Answers what the command was made of. */
export async function buildRelease(folder: string): Promise<Metafile> {
  await mkdir(folder, { recursive: true });
  const metafile = await compile(folder);
  const packages = listBundled(metafile, ROOT);
  const command = await readFile(join(folder, COMMAND_FILE));
  const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as {
    readonly version: string;
  };
  const sha256 = createHash("sha256").update(command).digest("hex");
  await writeFile(join(folder, BOM_FILE), renderBom({ version, sha256 }, packages));
  await writeFile(join(folder, NOTICES_FILE), renderNotices(packages));
  return metafile;
}

async function compile(folder: string): Promise<Metafile> {
  const outfile = join(folder, COMMAND_FILE);
  const metafile = await bundleFile("src/bin/isthmus.ts", outfile);
  await chmod(outfile, 0o755);
  return metafile;
}

/** A program and all that it imports as one file. */
export async function bundleFile(entry: string, outfile: string): Promise<Metafile> {
  const { metafile } = await build({
    entryPoints: [join(ROOT, entry)],
    // The bundle names the files that it is made of, from here.
    absWorkingDir: ROOT,
    outfile,
    bundle: true,
    metafile: true,
    platform: "node",
    target: "node20.19",
    format: "esm",
    logLevel: "warning",
    banner: {
      // Some dependencies are CommonJS and call require for Node's own modules.
      js: '#!/usr/bin/env node\nimport { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);',
    },
  });
  return metafile;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const folder = join(ROOT, "dist");
  await buildRelease(folder);
  process.stdout.write(`${join(folder, COMMAND_FILE)}\n`);
}
