// Finding and building the binaries, with a stand-in for Go that records what it is asked.

import { execFile } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  BinariesError,
  requireBinaries,
  requireCoreDns,
  requireHelm,
  requireKubectl,
} from "./binaries.ts";
import { buildOnce, type BuildOptions } from "./build.ts";

const PREPARE = fileURLToPath(new URL("../../tools/controlplane/prepare.ts", import.meta.url));
const TSX = fileURLToPath(new URL("../../node_modules/tsx/dist/loader.mjs", import.meta.url));

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "isthmus-binaries-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function script(path: string, text: string): string {
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** Answers `go env`, and does what the test says for `go list` and `go build`; every call is a line in go.log. */
function aGo(options: { version?: string; list?: string; build?: string } = {}): string {
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  const { version = "go1.26.8", list = "echo a; echo b", build = `touch "$output"one` } = options;
  return script(
    join(bin, "go"),
    `output=; for argument in "$@"; do case "$last" in -o) output=$argument;; esac; last=$argument; done
echo "$1" >> "${folder}/go.log"
case "$1" in
env) printf '${version}\\nlinux\\namd64\\n';;
list) ${list};;
build) ${build};;
esac`,
  );
}

function calls(): readonly string[] {
  return readFileSync(join(folder, "go.log"), "utf8").trim().split("\n");
}

function aBuild(go: string, overrides: Partial<BuildOptions> = {}): BuildOptions {
  const module = join(folder, "module");
  mkdirSync(module, { recursive: true });
  writeFileSync(join(module, "go.mod"), "module test\n");
  writeFileSync(join(module, "go.sum"), "");
  return {
    go: { command: go, version: "go1.26.8", platform: "linux/amd64" },
    modules: [{ folder: module, binaries: ["one", "two"], ldflags: "-s" }],
    cacheRoot: join(folder, "cache"),
    report: () => {},
    pause: () => Promise.resolve(),
    ...overrides,
  };
}

const BUILD_TWO = `touch "$output"one "$output"two`;

test("without Go and without KUBEBUILDER_ASSETS one sentence names both ways", async () => {
  const failed = requireBinaries({ env: { PATH: folder } });
  await expect(failed).rejects.toThrow(BinariesError);
  await expect(failed).rejects.toThrow(
    /^[^.\n]*neither Go nor KUBEBUILDER_ASSETS: put Go 1\.26 or newer on the PATH, or set KUBEBUILDER_ASSETS to a folder[^\n]*\.$/u,
  );
});

test("the tests' first step then prints that sentence alone and exits non-zero", async () => {
  const run = await new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    const child = execFile(
      process.execPath,
      ["--import", TSX, PREPARE],
      { env: { PATH: folder } },
      (_, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
  expect(run).toMatchObject({ code: 1, stdout: "" });
  expect(run.stderr.trim().split("\n")).toHaveLength(1);
  expect(run.stderr).toContain("KUBEBUILDER_ASSETS");
});

test("a Go that is too old is named, and so are both ways", async () => {
  aGo({ version: "go1.25.9" });
  const failed = requireBinaries({ env: { PATH: `${join(folder, "bin")}:/bin` } });
  await expect(failed).rejects.toThrow(
    /found go1\.25\.9, which is too old.*Go 1\.26.*KUBEBUILDER_ASSETS/u,
  );
});

test("KUBEBUILDER_ASSETS without etcd is refused by name, though Go is there", async () => {
  aGo();
  script(join(folder, "kube-apiserver"), "echo Kubernetes v1.33.0");
  const env = { KUBEBUILDER_ASSETS: folder, PATH: `${join(folder, "bin")}:/bin` };
  await expect(requireBinaries({ env })).rejects.toThrow(/no executable etcd:/u);
  expect(existsSync(join(folder, "go.log"))).toBe(false);
});

test("KUBEBUILDER_ASSETS with both servers is used as it is, its version asked of the server", async () => {
  script(join(folder, "kube-apiserver"), "echo Kubernetes v1.33.0");
  script(join(folder, "etcd"), "");
  const env = { KUBEBUILDER_ASSETS: folder, PATH: "/nowhere" };
  expect(await requireBinaries({ env })).toEqual({
    kubeApiserver: join(folder, "kube-apiserver"),
    etcd: join(folder, "etcd"),
    version: "v1.33.0",
    source: `KUBEBUILDER_ASSETS, ${folder}`,
  });
  await expect(requireKubectl({ env })).rejects.toThrow(/without kubectl/u);
});

test("a CoreDNS beside the servers that KUBEBUILDER_ASSETS names is used; without one and without Go a sentence names both ways", async () => {
  const env = { KUBEBUILDER_ASSETS: folder, PATH: "/nowhere" };
  await expect(requireCoreDns({ env })).rejects.toThrow(
    /^[^.\n]*neither Go nor a coredns where KUBEBUILDER_ASSETS points: put Go 1\.26[^\n]*\.$/u,
  );
  const coredns = script(join(folder, "coredns"), "");
  expect(await requireCoreDns({ env })).toBe(coredns);
});

test("a Helm beside the servers that KUBEBUILDER_ASSETS names is used; without one and without Go a sentence names both ways", async () => {
  const env = { KUBEBUILDER_ASSETS: folder, PATH: "/nowhere" };
  await expect(requireHelm({ env })).rejects.toThrow(
    /^[^.\n]*neither Go nor a helm where KUBEBUILDER_ASSETS points: put Go 1\.26[^\n]*\.$/u,
  );
  const helm = script(join(folder, "helm"), "");
  expect(await requireHelm({ env })).toBe(helm);
});

test("a second build of the same versions takes the first one's from the cache", async () => {
  const options = aBuild(aGo({ build: BUILD_TWO }));
  const first = await buildOnce(options);
  const second = await buildOnce(options);
  expect([first.built, second.built]).toEqual([true, false]);
  expect(second.folder).toBe(first.folder);
  expect(readdirSync(first.folder).sort()).toEqual(["one", "two"]);
  expect(calls()).toEqual(["list", "build"]);
  expect(readdirSync(options.cacheRoot)).toHaveLength(1);
});

test("another go.sum or another Go is another cache entry", async () => {
  const options = aBuild(aGo({ build: BUILD_TWO }));
  const first = await buildOnce(options);
  const newerGo = await buildOnce({ ...options, go: { ...options.go, version: "go1.27.0" } });
  writeFileSync(join(folder, "module/go.sum"), "changed\n");
  const changed = await buildOnce(options);
  expect(new Set([first.folder, newerGo.folder, changed.folder]).size).toBe(3);
});

test("builders that start together build once", async () => {
  const options = aBuild(aGo({ build: BUILD_TWO }));
  const all = await Promise.all([buildOnce(options), buildOnce(options), buildOnce(options)]);
  expect(all.filter(({ built }) => built)).toHaveLength(1);
  expect(calls()).toEqual(["list", "build"]);
});

test("a failed build shows what Go said and leaves nothing in the cache", async () => {
  const options = aBuild(aGo({ build: `touch "$output"one; echo no such symbol >&2; exit 2` }));
  await expect(buildOnce(options)).rejects.toThrow(/could not build module:\nno such symbol/u);
  expect(readdirSync(options.cacheRoot)).toEqual([]);
});

test("a build that lacks a binary is a failed build", async () => {
  const options = aBuild(aGo({ build: `touch "$output"one` }));
  await expect(buildOnce(options)).rejects.toThrow(/two/u);
  expect(readdirSync(options.cacheRoot)).toEqual([]);
});

test("a busy module proxy is asked again after a growing pause", async () => {
  const busyTwice = `n=$(grep -c list "${folder}/go.log"); if [ "$n" -lt 3 ]; then echo "reading x: 429 Too Many Requests" >&2; exit 1; fi`;
  const pauses: number[] = [];
  const options = aBuild(aGo({ list: busyTwice, build: BUILD_TWO }), {
    pause: (milliseconds) => {
      pauses.push(milliseconds);
      return Promise.resolve();
    },
  });
  expect((await buildOnce(options)).built).toBe(true);
  expect(pauses).toEqual([5_000, 10_000]);
});

test("a proxy that stays busy ends the build after six attempts", async () => {
  const options = aBuild(aGo({ list: `echo "dial tcp: i/o timeout" >&2; exit 1` }));
  await expect(buildOnce(options)).rejects.toThrow(/could not fetch[^]*i\/o timeout/u);
  expect(calls()).toHaveLength(6);
});

test("a wrong go.mod is not asked for twice", async () => {
  const options = aBuild(aGo({ list: `echo "go: updates to go.mod needed" >&2; exit 1` }));
  await expect(buildOnce(options)).rejects.toThrow(/updates to go\.mod needed/u);
  expect(calls()).toEqual(["list"]);
});

test("a lock and a draft whose owner is gone do not stop or outlive the next build", async () => {
  const options = aBuild(aGo({ build: BUILD_TWO }));
  const { folder: built } = await buildOnce(options);
  rmSync(built, { recursive: true });
  // This process's pid with another start time: an owner that died and whose pid was given again.
  const gone = { pid: process.pid, startedAt: "long ago" };
  writeFileSync(`${built}.lock`, JSON.stringify(gone));
  mkdirSync(`${built}.building.${gone.pid}.${encodeURIComponent(gone.startedAt)}`);
  expect((await buildOnce(options)).built).toBe(true);
  expect(readdirSync(options.cacheRoot)).toHaveLength(1);
});
