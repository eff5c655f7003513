// Data plane: two releases of the product: this one, and one as the next may be. The chart and the command in, both of each out. The
// next says another version; its definitions have one more optional field; its agent may do one thing more.

import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { VERSION } from "../../src/api/version.ts";
import type { Image } from "./images.ts";

export type ReleaseName = "this" | "next";

export const VERSIONS: Readonly<Record<ReleaseName, string>> = {
  this: VERSION,
  next: "99.0.0",
};
/** Optional, at the top of every kind that the next release defines. */
export const NEXT_FIELD = "saidByNext";

const CHART = join(import.meta.dirname, "../../charts/isthmus");
const DEFINITION = /^crd-/;
/** In a bundle, where names that several files have are numbered. */
const VERSION_LINE = new RegExp(`(\\bVERSION\\d* = )"${VERSION.replaceAll(".", "\\.")}"`, "gu");

/** As the chart names the image of each release. */
export function renderReleaseImages(bundlePath: string): readonly (readonly [string, Image])[] {
  const nextPath = `${bundlePath.slice(0, -".mjs".length)}-next.mjs`;
  copyEdited(bundlePath, nextPath, VERSION_LINE, `$1"${VERSIONS.next}"`);
  const run = (path: string): Image => ({ command: [process.execPath, path], hasVolumes: true });
  return [
    [`isthmus:${VERSIONS.this}`, run(bundlePath)],
    [`isthmus:${VERSIONS.next}`, run(nextPath)],
  ];
}

/** The folder of each. */
export function writeCharts(folder: string): Readonly<Record<ReleaseName, string>> {
  const next = join(folder, "chart-next");
  cpSync(CHART, next, { recursive: true });
  const edit = (path: string, from: string, to: string): void =>
    copyEdited(join(next, path), join(next, path), from, to);
  edit("Chart.yaml", renderVersions(VERSION), renderVersions(VERSIONS.next));
  const generated = "templates/generated";
  edit(
    join(generated, "agent.yaml"),
    "      - namespaces\n    verbs:\n",
    "      - namespaces\n    verbs:\n      - get\n",
  );
  for (const file of readdirSync(join(next, generated)).filter((name) => DEFINITION.test(name))) {
    const path = join(next, generated, file);
    writeFileSync(path, renderNextDefinition(readFileSync(path, "utf8")));
  }
  return { this: CHART, next };
}

function renderVersions(version: string): string {
  return `version: ${version}\nappVersion: ${version}`;
}

/** Numbered higher than ours, so that it counts as newer. */
function renderNextDefinition(text: string): string {
  const numbered = text
    .replace(/crd-schema-revision: "(\d+)"/, 'crd-schema-revision: "9$1"')
    .replace(/(isthmus\.mayInstallCrd.*) "(\d+)"\)/, '$1 "9$2")');
  const kind = "\n            kind:\n";
  const field = `\n            ${NEXT_FIELD}:\n              type: string`;
  if (!numbered.includes(kind)) throw new Error("A definition has no place for another field.");
  return numbered.replaceAll(kind, `${field}${kind}`);
}

function copyEdited(from: string, to: string, old: string | RegExp, replacement: string): void {
  const text = readFileSync(from, "utf8");
  const count = [...text.matchAll(new RegExp(old, "gu"))].length;
  if (count !== 1) throw new Error(`${from} has ${count} times: ${old}`);
  writeFileSync(to, text.replace(old, replacement));
}
