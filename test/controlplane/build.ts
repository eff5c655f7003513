// Builds the control plane: folders with a go.mod in, a cache folder with the binaries out.
// The folder appears whole, by rename, or not at all. Never writes into the repository.

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { getProcessIdentity, isRunning } from "./identity.ts";
import { takeLock } from "./lock.ts";

export interface GoModule {
  /** Holds go.mod and go.sum. */
  readonly folder: string;
  /** What its tools are called; several come by the names of their packages. */
  readonly binaries: readonly string[];
  readonly ldflags: string;
}

export interface GoToolchain {
  readonly command: string;
  /** As in "go1.26.8". */
  readonly version: string;
  /** As in "linux/amd64". */
  readonly platform: string;
}

export interface BuildOptions {
  readonly go: GoToolchain;
  readonly modules: readonly GoModule[];
  /** One folder per key is made in here. */
  readonly cacheRoot: string;
  readonly report: (line: string) => void;
  readonly pause: (milliseconds: number) => Promise<void>;
}

const DOWNLOAD_ATTEMPTS = 6;
const FIRST_PAUSE_MS = 5_000;
const PROGRESS_MS = 15_000;
const UNUSED_DAYS = 30;

/** Go says what went wrong in words only; these are a proxy that is busy or a line that broke, not a wrong go.mod. */
const TRANSIENT =
  /\b429\b|too many requests|\b50[0234]\b|time(?:d )?out|deadline exceeded|connection re(?:set|fused)|unexpected EOF|temporary failure|stream error|GOAWAY/iu;

/** Builds unless the cache has it already; resolves to the folder with the binaries. */
export async function buildOnce(
  options: BuildOptions,
): Promise<{ folder: string; built: boolean }> {
  const key = await computeKey(options);
  const folder = join(options.cacheRoot, key);
  if (await markUsed(folder)) return { folder, built: false };
  await mkdir(options.cacheRoot, { recursive: true });
  const release = await takeLock({
    path: `${folder}.lock`,
    onWait: (owner) => {
      options.report(`waiting for process ${owner.pid}, which builds the same control plane`);
    },
  });
  try {
    if (await markUsed(folder)) return { folder, built: false };
    await removeLeftovers(options.cacheRoot, key);
    await buildInto(folder, options);
    return { folder, built: true };
  } finally {
    await release();
  }
}

async function buildInto(folder: string, options: BuildOptions): Promise<void> {
  const self = getProcessIdentity(process.pid);
  const draft = `${folder}.building.${process.pid}.${encodeURIComponent(self?.startedAt ?? "")}`;
  await mkdir(draft);
  try {
    for (const module of options.modules) {
      const packages = await download(module, options);
      await compile({ module, draft, packages }, options);
    }
    await rename(draft, folder);
  } catch (error) {
    // Another process may have finished the same folder, if it took this one's lock for abandoned.
    if (!(await markUsed(folder))) throw error;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** Fetches what the tools need and no more; resolves to how many packages that is. */
async function download(module: GoModule, options: BuildOptions): Promise<number> {
  const name = basename(module.folder);
  for (let attempt = 1; ; attempt += 1) {
    let fetched = 0;
    const progress = startProgress(options.report, () => `${name}: ${fetched} modules downloaded`);
    const run = await runGo(options.go, {
      cwd: module.folder,
      args: ["list", "-mod=readonly", "-deps", "tool"],
      onErrorLine: (line) => {
        if (line.startsWith("go: downloading ")) fetched += 1;
      },
    }).finally(progress.stop);
    if (run.code === 0) {
      if (fetched > 0) options.report(`${name}: ${fetched} modules downloaded`);
      return run.outputLines;
    }
    if (attempt === DOWNLOAD_ATTEMPTS || !TRANSIENT.test(run.lastErrors)) {
      throw new Error(`Go could not fetch the modules of ${name}:\n${run.lastErrors}`);
    }
    const pauseMs = FIRST_PAUSE_MS * 2 ** (attempt - 1);
    options.report(
      `${name}: the module proxy is busy, attempt ${attempt + 1} of ${DOWNLOAD_ATTEMPTS} in ${pauseMs / 1000} s`,
    );
    await options.pause(pauseMs);
  }
}

async function compile(
  work: { module: GoModule; draft: string; packages: number },
  options: BuildOptions,
): Promise<void> {
  const { module, draft, packages } = work;
  const name = basename(module.folder);
  const [only = ""] = module.binaries;
  const output = module.binaries.length === 1 ? join(draft, only) : `${draft}/`;
  let compiled = 0;
  options.report(`${name}: compiling ${module.binaries.join(", ")}`);
  const progress = startProgress(
    options.report,
    () => `${name}: ${compiled} of at most ${packages} packages compiled`,
  );
  const run = await runGo(options.go, {
    cwd: module.folder,
    args: [
      "build",
      "-mod=readonly",
      "-trimpath",
      "-v",
      "-ldflags",
      module.ldflags,
      "-o",
      output,
      "tool",
    ],
    onErrorLine: () => {
      compiled += 1;
    },
  }).finally(progress.stop);
  if (run.code !== 0) throw new Error(`Go could not build ${name}:\n${run.lastErrors}`);
  for (const binary of module.binaries) await stat(join(draft, binary));
}

interface GoRun {
  readonly code: number | null;
  readonly outputLines: number;
  readonly lastErrors: string;
}

async function runGo(
  go: GoToolchain,
  call: { cwd: string; args: readonly string[]; onErrorLine: (line: string) => void },
): Promise<GoRun> {
  const child = spawn(go.command, call.args, {
    cwd: call.cwd,
    // The pinned go.mod alone decides: no workspace around the checkout, no other toolchain, no C compiler.
    env: { ...process.env, CGO_ENABLED: "0", GOTOOLCHAIN: "local", GOWORK: "off", GOFLAGS: "" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  let outputLines = 0;
  const lastErrors: string[] = [];
  createInterface(child.stdout).on("line", () => {
    outputLines += 1;
  });
  createInterface(child.stderr).on("line", (line) => {
    call.onErrorLine(line);
    lastErrors.push(line);
    if (lastErrors.length > 20) lastErrors.shift();
  });
  const code = await ended;
  return { code, outputLines, lastErrors: lastErrors.join("\n") };
}

function startProgress(
  report: (line: string) => void,
  describe: () => string,
): { readonly stop: () => void } {
  const started = performance.now();
  const timer = setInterval(() => {
    report(`${describe()}, ${Math.round((performance.now() - started) / 1000)} s`);
  }, PROGRESS_MS);
  return { stop: () => clearInterval(timer) };
}

async function computeKey(options: BuildOptions): Promise<string> {
  const hash = createHash("sha256");
  hash.update(`${options.go.version}\n${options.go.platform}\n`);
  for (const module of options.modules) {
    hash.update(`${module.ldflags}\n${module.binaries.join()}\n`);
    hash.update(await readFile(join(module.folder, "go.mod")));
    hash.update(await readFile(join(module.folder, "go.sum")));
  }
  return hash.digest("hex").slice(0, 20);
}

/** True when the folder exists; its time then says when it was last of use. */
async function markUsed(folder: string): Promise<boolean> {
  const now = new Date();
  try {
    await utimes(folder, now, now);
    return true;
  } catch {
    return false;
  }
}

/** Drafts whose builder is gone, and whole caches of older versions that nobody used for a month. */
async function removeLeftovers(cacheRoot: string, key: string): Promise<void> {
  const oldest = Date.now() - UNUSED_DAYS * 86_400_000;
  for (const name of await readdir(cacheRoot)) {
    const path = join(cacheRoot, name);
    const [, , pid, startedAt] = name.split(".");
    const abandoned = name.includes(".building.")
      ? !isRunning({ pid: Number(pid), startedAt: decodeURIComponent(startedAt ?? "") })
      : name !== key && !name.includes(".") && (await stat(path)).mtimeMs < oldest;
    if (abandoned && dirname(path) === cacheRoot) await rm(path, { recursive: true, force: true });
  }
}
