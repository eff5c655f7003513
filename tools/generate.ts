// `npm run generate`: from the schemas in src/api to crds/*.yaml, to the tables of settings in the docs, to the schemas of configuration
// files and of the chart's values; from what the commands write to the chart's templates for the same; and from src/dashboard/page to the one
// file that the dashboard is served from. A test fails while a file is stale.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { CRDS } from "../src/api/crds.ts";
import { crdFileName, renderCrdYaml } from "../src/api/yaml.ts";
import { CHART_TEMPLATES, renderChartFiles } from "./chart.ts";
import { PAGE_FILE, renderPage } from "./page.ts";
import {
  renderSettingsPage,
  renderSettingsSchema,
  SETTINGS_PAGE,
  SETTINGS_SCHEMA_FILE,
} from "./settings.ts";
import { renderValuesSchema, VALUES_SCHEMA_FILE } from "./values.ts";

export const CRD_FOLDER = fileURLToPath(new URL("../crds/", import.meta.url));

const HEADER = "# Generated from src/api by `npm run generate`; do not edit.\n";

/** File name → content. */
export function renderCrdFiles(): ReadonlyMap<string, string> {
  return new Map(CRDS.map((crd) => [crdFileName(crd), HEADER + renderCrdYaml(crd)]));
}

async function main(): Promise<void> {
  writeFolder(CRD_FOLDER, renderCrdFiles());
  writeFolder(CHART_TEMPLATES, renderChartFiles());
  writeFileSync(PAGE_FILE, await renderPage());
  writeFileSync(SETTINGS_PAGE, renderSettingsPage(readFileSync(SETTINGS_PAGE, "utf8")));
  mkdirSync(dirname(SETTINGS_SCHEMA_FILE), { recursive: true });
  writeFileSync(SETTINGS_SCHEMA_FILE, renderSettingsSchema());
  writeFileSync(VALUES_SCHEMA_FILE, renderValuesSchema());
}

/** These files and no other. */
function writeFolder(folder: string, files: ReadonlyMap<string, string>): void {
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) {
    if (name.endsWith(".yaml") && !files.has(name)) rmSync(join(folder, name));
  }
  for (const [name, content] of files) writeFileSync(join(folder, name), content);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main();
}
