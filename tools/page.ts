// The dashboard's page: from its sources in src/dashboard/page to one TypeScript file that holds them as strings, so that it is
// served alike from the sources and from the bundle.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const ROOT = join(import.meta.dirname, "..");
const FOLDER = join(ROOT, "src/dashboard/page");

export const PAGE_FILE = join(ROOT, "src/dashboard/page.generated.ts");

const HEADER =
  "// Generated from src/dashboard/page by `npm run generate`; do not edit. The dashboard's page: path in, text out.\n";

export async function renderPage(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(FOLDER, "main.ts")],
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    format: "esm",
    platform: "browser",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    logLevel: "warning",
  });
  const files = {
    "/": readFileSync(join(FOLDER, "page.html"), "utf8"),
    "/page.js": outputFiles.map(({ text }) => text).join(""),
    "/page.css": readFileSync(join(FOLDER, "page.css"), "utf8"),
    "/icon.svg": readFileSync(join(FOLDER, "icon.svg"), "utf8"),
  };
  return `${HEADER}\nexport const PAGE: Readonly<Record<string, string>> = ${JSON.stringify(files, undefined, 2)};\n`;
}
