// What others are given: the command as one file, what is in it, and a package to install it from.

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Metafile } from "esbuild";
import { beforeAll, expect, test } from "vitest";
import { VERSION } from "../../src/api/version.ts";
import { BOM_FILE, buildRelease, COMMAND_FILE, NOTICES_FILE } from "../../tools/build.ts";
import { renderCrdFiles } from "../../tools/generate.ts";
import { temporaryDirectory } from "../loopback.ts";
import { CHECKOUT_MS, checkOut } from "./checkout.ts";
import { readContainerfile, REPOSITORY } from "./containerfile.ts";

const run = promisify(execFile);

let dist: string;
let metafile: Metafile;
beforeAll(async () => {
  dist = mkdtempSync(join(tmpdir(), "isthmus-dist-"));
  metafile = await buildRelease(dist);
  return () => rmSync(dist, { recursive: true });
}, CHECKOUT_MS);

const readDist = (file: string): string => readFileSync(join(dist, file), "utf8");

interface Bom {
  readonly metadata: { readonly component: Readonly<Record<string, unknown>> };
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly licenses: readonly unknown[];
    readonly hashes: readonly { readonly alg: string; readonly content: string }[];
  }[];
}
const readBom = (): Bom => JSON.parse(readDist(BOM_FILE)) as Bom;

function hashFiles(folder: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    readdirSync(folder)
      .sort()
      .map((file) => [
        file,
        createHash("sha256")
          .update(readFileSync(join(folder, file)))
          .digest("hex"),
      ]),
  );
}

test("the command imports nothing but what is in Node", () => {
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  expect(imports.length).toBeGreaterThan(0);
  expect(imports.filter(({ path }) => !path.startsWith("node:") && !isBuiltin(path))).toEqual([]);
});

test("the bill of materials lists each package that the command has code of, by its version, and no other", () => {
  // The bundler writes over each module where it was, whatever it says of it elsewhere.
  const folders = new Set(
    [
      ...readDist(COMMAND_FILE).matchAll(/^ *\/\/ ((?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+)\//gm),
    ].map(([, folder]) => folder!),
  );
  expect(folders.size).toBeGreaterThan(20);
  const contained = [...folders].map((folder) => {
    const { name, version } = JSON.parse(
      readFileSync(join(REPOSITORY, folder, "package.json"), "utf8"),
    ) as { readonly name: string; readonly version: string };
    return `${name} ${version}`;
  });
  const listed = readBom().components.map(({ name, version }) => `${name} ${version}`);
  expect(listed.toSorted()).toEqual([...new Set(contained)].toSorted());
});

test("the bill of materials leaves out what is installed with our packages and never gets into the command", () => {
  const listed = readBom().components.map(({ name }) => name);
  expect(listed).toContain("pino");
  expect(readdirSync(join(REPOSITORY, "node_modules"))).toContain("pino-abstract-transport");
  expect(listed).not.toContain("pino-abstract-transport");
  expect(listed).not.toContain("typescript");
});

test("the bill of materials names the version and the very bytes of the command, and of each package its licence and hash", () => {
  const { metadata, components } = readBom();
  const { [COMMAND_FILE]: content } = hashFiles(dist);
  expect(metadata.component).toMatchObject({
    name: "isthmus",
    version: VERSION,
    hashes: [{ alg: "SHA-256", content }],
  });
  for (const { licenses, hashes } of components) {
    expect(licenses).toHaveLength(1);
    expect(hashes).toEqual([{ alg: "SHA-512", content: expect.stringMatching(/^[\da-f]{128}$/) }]);
  }
});

test("the notices hold the licence of each package whose code is in the command", () => {
  const parts = readDist(NOTICES_FILE)
    .split(`${"=".repeat(80)}\n`)
    .slice(1);
  const { components } = readBom();
  expect(parts.map((part) => part.split(" (")[0])).toEqual(
    components.map(({ name, version }) => `${name} ${version}`),
  );
  const silent = parts.filter((part) => !/copyright|permission is hereby granted/i.test(part));
  expect(silent).toEqual([]);
});

test("equal sources give equal bytes, in whatever folder and from what the Containerfile copies", {
  timeout: CHECKOUT_MS,
}, async () => {
  const folder = checkOut(Object.keys(metafile.inputs));
  await run(process.execPath, ["--import", "tsx", join(folder, "tools/build.ts")], {
    cwd: REPOSITORY,
  });
  expect(hashFiles(join(folder, "dist"))).toEqual(hashFiles(dist));
});

test("npm pack makes a package that installs without anything else, and runs as isthmus and as kubectl-isthmus", {
  timeout: CHECKOUT_MS,
}, async () => {
  const home = temporaryDirectory();
  const folder = checkOut(Object.keys(metafile.inputs));
  // A cache of its own, which is empty: nothing can come from it.
  const env = { PATH: process.env["PATH"], HOME: home, npm_config_cache: join(home, "cache") };
  await run("npm", ["pack", "--pack-destination", home], { cwd: folder, env });
  const tarball = join(home, `isthmus-${VERSION}.tgz`);
  const place = join(home, "place");
  await run("npm", ["install", "--offline", "--prefix", place, tarball], { cwd: home, env });
  const installed = join(place, "node_modules");
  expect(readdirSync(installed).filter((name) => !name.startsWith("."))).toEqual(["isthmus"]);
  const files = readdirSync(join(installed, "isthmus"), { recursive: true }).map(String);
  expect(files.toSorted()).toEqual(
    [
      "LICENSE",
      "README.md",
      "dist",
      ...[COMMAND_FILE, BOM_FILE, NOTICES_FILE].map((file) => join("dist", file)),
      "package.json",
    ].toSorted(),
  );
  expect(hashFiles(join(installed, "isthmus/dist"))).toEqual(hashFiles(dist));

  const ask = async (name: string, ...args: readonly string[]): Promise<string> =>
    (await run(join(installed, ".bin", name), args, { cwd: home, env })).stdout;
  expect(await ask("isthmus", "--version")).toBe(`${VERSION}\n`);
  expect(await ask("isthmus", "--help")).toContain("Usage: isthmus ");
  expect(await ask("kubectl-isthmus", "--help")).toContain("Usage: kubectl isthmus ");
  const definitions = await ask("isthmus", "crds", "print");
  for (const text of renderCrdFiles().values()) {
    expect(definitions).toContain(text.replace(/^#.*\n/, "").trim());
  }
});

test("the image is what the tool made of Node and the command, and runs as a number that is not root", () => {
  const { lastStage, steps, user } = readContainerfile();
  expect(steps.at(-1)).toMatch(/^npm run rootfs -- .* --into \/rootfs$/);
  expect(lastStage.filter((line) => /^(FROM|COPY|ADD|RUN) /.test(line))).toEqual([
    "FROM scratch",
    "COPY --from=build /rootfs/ /",
  ]);
  expect(user.uid).toBeGreaterThan(0);
  expect(user.gid).toBeGreaterThan(0);
});
