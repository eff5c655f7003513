import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test, type TestContext } from "vitest";
import { parse } from "yaml";

import { SERVICE_EXPORT_CRD, SERVICE_IMPORT_CRD } from "../../src/api/mcs.ts";

const MODULE = "sigs.k8s.io/mcs-api@v0.5.2";

/** Where Go keeps the published release, fetched and checked by its checksum database; undefined without a go command. */
async function fetchModule(): Promise<string | undefined> {
  try {
    // Outside the repository: no go.mod may influence what is fetched.
    const { stdout } = await promisify(execFile)("go", ["mod", "download", "-json", MODULE], {
      cwd: tmpdir(),
      timeout: 150_000,
    });
    return (JSON.parse(stdout) as { readonly Dir: string }).Dir;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Wording is ours; so are the notes that a generator leaves about itself. */
function withoutWords(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, inner: unknown) =>
      (key === "description" && typeof inner === "string") || key === "annotations"
        ? undefined
        : inner,
    ),
  );
}

async function readPublished(context: TestContext, file: string): Promise<unknown> {
  const folder = await fetchModule();
  if (folder === undefined) {
    context.skip(`no go command on the PATH, so ${MODULE} cannot be fetched to compare with`);
  }
  return parse(await readFile(join(folder, "config", "crd", file), "utf8"));
}

test("ServiceExport is, field by field, the one that the MCS API publishes", async (context) => {
  const published = await readPublished(context, "multicluster.x-k8s.io_serviceexports.yaml");
  expect(withoutWords(SERVICE_EXPORT_CRD)).toEqual(withoutWords(published));
});

test("ServiceImport is, field by field, the one that the MCS API publishes", async (context) => {
  const published = await readPublished(context, "multicluster.x-k8s.io_serviceimports.yaml");
  expect(withoutWords(SERVICE_IMPORT_CRD)).toEqual(withoutWords(published));
});
