import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";

import { CRDS } from "../src/api/crds.ts";
import { ISTHMUS_RELEASE } from "../src/api/isthmus.ts";
import { findCrdReleaseOwner, ISTHMUS_GROUP } from "../src/api/names.ts";
import { readAsset } from "../src/dashboard/assets.ts";
import { CHART_TEMPLATES, renderChartFiles } from "./chart.ts";
import { CRD_FOLDER, renderCrdFiles } from "./generate.ts";
import { PAGE_FILE, renderPage } from "./page.ts";
import {
  renderSettingsPage,
  renderSettingsSchema,
  SETTINGS_PAGE,
  SETTINGS_SCHEMA_FILE,
} from "./settings.ts";
import { renderValuesSchema, VALUES_SCHEMA_FILE } from "./values.ts";

const files = renderCrdFiles();

test("crds/ holds one file per CRD and nothing else", () => {
  expect(readdirSync(CRD_FOLDER).toSorted()).toEqual([...files.keys()].toSorted());
  expect(files.size).toBe(CRDS.length);
});

test.each([...files])("crds/%s is what `npm run generate` writes now", (name, content) => {
  expect(readFileSync(join(CRD_FOLDER, name), "utf8")).toBe(content);
});

test("the chart's generated templates are what `npm run generate` writes now, and nothing else", () => {
  const names = readdirSync(CHART_TEMPLATES);
  const there = names.map((name) => [name, readFileSync(join(CHART_TEMPLATES, name), "utf8")]);
  expect(Object.fromEntries(there)).toEqual(Object.fromEntries(renderChartFiles()));
});

test("the schema of the chart's values is what `npm run generate` writes now", () => {
  expect(readFileSync(VALUES_SCHEMA_FILE, "utf8")).toBe(renderValuesSchema());
});

test("the dashboard's page is what `npm run generate` writes now", async () => {
  expect(readFileSync(PAGE_FILE, "utf8")).toBe(await renderPage());
});

test("the tables of settings and the schema of the file are what `npm run generate` writes now", () => {
  const page = readFileSync(SETTINGS_PAGE, "utf8");
  expect(page).toBe(renderSettingsPage(page));
  expect(readFileSync(SETTINGS_SCHEMA_FILE, "utf8")).toBe(renderSettingsSchema());
});

test("the dashboard's page asks nobody but its own server for anything", () => {
  const page = String(readAsset("/")?.body);
  const asked = [...page.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, path = ""]) => path);
  expect(asked).toEqual(["/icon.svg", "/page.css", "/page.js"]);
  expect(asked.filter((path) => readAsset(path) === undefined)).toEqual([]);
  expect(page).not.toMatch(/<style|\sstyle=|\son\w+=/);
  expect(String(readAsset("/page.css")?.body)).not.toMatch(/@import|url\(/);
  expect(readAsset("/page.ts")).toBeUndefined();
});

test("what is written reads back as what was rendered", () => {
  expect([...files.values()].map((content) => parse(content) as unknown)).toEqual(CRDS);
});

// Two builds that carry the same release must carry the same schema, or the older one would undo the newer one's.
// When this fails: raise the revision in isthmus.ts (or the release), then put the new fingerprint here.
test("the CRDs that we number have not changed since their release was raised", () => {
  const ours = CRDS.filter(
    ({ metadata }) => findCrdReleaseOwner(metadata.labels) === ISTHMUS_GROUP,
  );
  expect(ours.map(({ metadata }) => metadata.name)).toEqual([
    "clusterproperties.about.k8s.io",
    "clustermembers.isthmus.dev",
    "serviceshares.isthmus.dev",
    "endpointshares.isthmus.dev",
    "jointokens.isthmus.dev",
  ]);
  const text = JSON.stringify(ours.map(({ spec }) => spec));
  expect([ISTHMUS_RELEASE, createHash("sha256").update(text).digest("hex").slice(0, 16)]).toEqual([
    { "isthmus.dev/release-version": "v0.1.0", "isthmus.dev/crd-schema-revision": "3" },
    "e60a710520cac31c",
  ]);
});
