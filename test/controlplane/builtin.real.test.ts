// The committed schemas of built-in types against the server they were taken from.

import { readFile } from "node:fs/promises";
import { expect, inject, test } from "vitest";
import { generateBuiltin, renderBuiltin } from "../../tools/builtin.ts";
import { getPinnedVersion } from "./binaries.ts";
import { openReader } from "./request.ts";

const COMMITTED = new URL("../../src/embedded/builtin.json", import.meta.url);

async function generateFromEast(): Promise<Awaited<ReturnType<typeof generateBuiltin>>> {
  const reader = await openReader(inject("clusters")[0]!.kubeconfigPath);
  try {
    return await generateBuiltin((path) => reader.getJson(path));
  } finally {
    await reader.close();
  }
}

test("the committed schemas are of the pinned Kubernetes version", async () => {
  const committed = JSON.parse(await readFile(COMMITTED, "utf8"));
  expect(committed.kubernetesVersion).toBe(await getPinnedVersion());
});

test("the committed schemas are what a server of their version publishes, and any server publishes those types", async () => {
  const text = await readFile(COMMITTED, "utf8");
  const committed = JSON.parse(text);
  const generated = await generateFromEast();
  expect(generated["types"]).toEqual(committed.types);
  // KUBEBUILDER_ASSETS may bring another version, whose fields differ by right.
  const comparable = generated["kubernetesVersion"] === committed.kubernetesVersion;
  expect(renderBuiltin(comparable ? generated : committed)).toBe(text);
});
