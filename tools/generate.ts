// `npm run generate`: from the schemas in src/api to crds/*.yaml, to the tables of settings in the docs and to the schema of configuration
// files, and from src/dashboard/page to the one file that the dashboard is served from. A test fails while a file is stale.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { CRDS } from "../src/api/crds.ts";
import { crdFileName, renderCrdYaml } from "../src/api/yaml.ts";
import { PAGE_FILE, renderPage } from "./page.ts";
import {
  renderSettingsPage,
  renderSettingsSchema,
  SETTINGS_PAGE,
  SETTINGS_SCHEMA_FILE,
} from "./settings.ts";

export const CRD_FOLDER = fileURLToPath(new URL("../crds/", import.meta.url));

const HEADER = "# Generated from src/api by `npm run generate`; do not edit.\n";

/** File name → content. */
export function renderCrdFiles(): ReadonlyMap<string, string> {
  return new Map(CRDS.map((crd) => [crdFileName(crd), HEADER + renderCrdYaml(crd)]));
}

async function main(): Promise<void> {
  const files = renderCrdFiles();
  mkdirSync(CRD_FOLDER, { recursive: true });
  for (const name of readdirSync(CRD_FOLDER)) {
    if (name.endsWith(".yaml") && !files.has(name)) {
      rmSync(join(CRD_FOLDER, name));
    }
  }
  for (const [name, content] of files) {
    writeFileSync(join(CRD_FOLDER, name), content);
  }
  writeFileSync(PAGE_FILE, await renderPage());
  writeFileSync(SETTINGS_PAGE, renderSettingsPage(readFileSync(SETTINGS_PAGE, "utf8")));
  mkdirSync(dirname(SETTINGS_SCHEMA_FILE), { recursive: true });
  writeFileSync(SETTINGS_SCHEMA_FILE, renderSettingsSchema());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main();
}
