// Where the real control plane's binaries come from: the environment in, paths out.
// Either a folder that KUBEBUILDER_ASSETS names, or a build by Go into a cache. Never a silent substitute.

import { execFile } from "node:child_process";
import { access, constants, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { buildOnce, type GoModule, type GoToolchain } from "./build.ts";

export interface Binaries {
  readonly kubeApiserver: string;
  readonly etcd: string;
  /** Absent when KUBEBUILDER_ASSETS has none. */
  readonly kubeControllerManager?: string;
  /** Absent when KUBEBUILDER_ASSETS has none. */
  readonly kubeProxy?: string;
  /** Absent when KUBEBUILDER_ASSETS has none. */
  readonly kubectl?: string;
  /** Of Kubernetes, as in "v1.36.3". */
  readonly version: string;
  /** Where they come from, for people. */
  readonly source: string;
}

export interface BinariesOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly report?: (line: string) => void;
}

/** What the user has to change, in one sentence; never a bug. */
export class BinariesError extends Error {
  override readonly name = "BinariesError";
}

const MODULES_FOLDER = fileURLToPath(new URL("../../tools/controlplane/", import.meta.url));
const OLDEST_GO_MINOR = 26;
const BOTH_WAYS =
  "put Go 1.26 or newer on the PATH, or set KUBEBUILDER_ASSETS to a folder with kube-apiserver and etcd";

const run = promisify(execFile);

export async function requireBinaries(options: BinariesOptions = {}): Promise<Binaries> {
  const { env = process.env, report = () => {} } = options;
  const assets = env["KUBEBUILDER_ASSETS"];
  if (assets) return readAssets(assets);
  const go = await requireGo(env);
  const kubernetesVersion = await getPinnedVersion();
  const modules = describeModules(kubernetesVersion);
  const { folder } = await buildOnce({ go, modules, cacheRoot: findCache(env), report, pause });
  return {
    kubeApiserver: join(folder, "kube-apiserver"),
    etcd: join(folder, "etcd"),
    kubeControllerManager: join(folder, "kube-controller-manager"),
    kubeProxy: join(folder, "kube-proxy"),
    kubectl: join(folder, "kubectl"),
    version: kubernetesVersion,
    source: `${folder}, built by ${go.version}`,
  };
}

/** From the same place as the servers, or from the PATH when KUBEBUILDER_ASSETS has none. */
export async function requireKubectl(options: BinariesOptions = {}): Promise<string> {
  const binaries = await requireBinaries(options);
  const kubectl = binaries.kubectl ?? (await findOnPath("kubectl", options.env ?? process.env));
  if (kubectl) return kubectl;
  throw new BinariesError(
    "KUBEBUILDER_ASSETS names a folder without kubectl, and there is none on the PATH: add one to either, or unset KUBEBUILDER_ASSETS and put Go 1.26 or newer on the PATH.",
  );
}

export function requireCoreDns(options: BinariesOptions = {}): Promise<string> {
  return requireTool("coredns", "The tests that ask a real CoreDNS", options);
}

export function requireHelm(options: BinariesOptions = {}): Promise<string> {
  return requireTool("helm", "The tests that render and install the chart", options);
}

/** A cache entry of its own: whoever does not need it does not build it, and a newer one rebuilds no API server. */
async function requireTool(name: string, whose: string, options: BinariesOptions): Promise<string> {
  const { env = process.env, report = () => {} } = options;
  const assets = env["KUBEBUILDER_ASSETS"];
  const given = assets ? join(assets, name) : undefined;
  if (given !== undefined && (await isExecutable(given))) return given;
  const go = await requireGo(env, {
    whose,
    place: `a ${name} where KUBEBUILDER_ASSETS points`,
    ways: `put Go 1.26 or newer on the PATH, or set KUBEBUILDER_ASSETS to a folder with kube-apiserver, etcd and ${name}`,
  });
  const modules = [{ folder: join(MODULES_FOLDER, name), binaries: [name], ldflags: "-s -w" }];
  const { folder } = await buildOnce({ go, modules, cacheRoot: findCache(env), report, pause });
  return join(folder, name);
}

function findCache(env: Readonly<Record<string, string | undefined>>): string {
  return join(env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "isthmus/controlplane");
}

/** The Kubernetes version that the go.mod pins. */
export async function getPinnedVersion(): Promise<string> {
  const text = await readFile(join(MODULES_FOLDER, "kubernetes/go.mod"), "utf8");
  const version = /^(?:require )?\s*k8s\.io\/kubernetes (v\d+\.\d+\.\d+)$/mu.exec(text)?.[1];
  if (!version) throw new Error("tools/controlplane/kubernetes/go.mod pins no k8s.io/kubernetes.");
  return version;
}

function describeModules(kubernetesVersion: string): readonly GoModule[] {
  const [major = "", minor = ""] = kubernetesVersion.slice(1).split(".");
  const variable = "k8s.io/component-base/version";
  return [
    { folder: join(MODULES_FOLDER, "etcd"), binaries: ["etcd"], ldflags: "-s -w" },
    {
      folder: join(MODULES_FOLDER, "kubernetes"),
      binaries: ["kube-apiserver", "kube-controller-manager", "kube-proxy", "kubectl"],
      // Without a version the server says v0.0.0, and clients refuse or misjudge it.
      ldflags: `-s -w -X ${variable}.gitVersion=${kubernetesVersion} -X ${variable}.gitMajor=${major} -X ${variable}.gitMinor=${minor}`,
    },
  ];
}

async function readAssets(assets: string): Promise<Binaries> {
  const found = async (name: string): Promise<string | undefined> => {
    const path = join(assets, name);
    return (await isExecutable(path)) ? path : undefined;
  };
  const [kubeApiserver, etcd] = [await found("kube-apiserver"), await found("etcd")];
  if (!kubeApiserver || !etcd) {
    const missing = [kubeApiserver ? [] : ["kube-apiserver"], etcd ? [] : ["etcd"]].flat();
    throw new BinariesError(
      `KUBEBUILDER_ASSETS names ${assets}, which has no executable ${missing.join(" and no ")}: correct it, or unset it and put Go 1.26 or newer on the PATH.`,
    );
  }
  const [kubeControllerManager, kubeProxy, kubectl] = [
    await found("kube-controller-manager"),
    await found("kube-proxy"),
    await found("kubectl"),
  ];
  return {
    kubeApiserver,
    etcd,
    ...(kubeControllerManager ? { kubeControllerManager } : {}),
    ...(kubeProxy ? { kubeProxy } : {}),
    ...(kubectl ? { kubectl } : {}),
    version: await askVersion(kubeApiserver),
    source: `KUBEBUILDER_ASSETS, ${assets}`,
  };
}

async function askVersion(kubeApiserver: string): Promise<string> {
  try {
    const { stdout } = await run(kubeApiserver, ["--version"]);
    return stdout.trim().split(" ").at(-1) ?? "";
  } catch (cause) {
    throw new BinariesError(
      `${kubeApiserver} does not run on this machine: correct KUBEBUILDER_ASSETS, or unset it and put Go 1.26 or newer on the PATH.`,
      { cause },
    );
  }
}

async function requireGo(
  env: Readonly<Record<string, string | undefined>>,
  words = {
    whose: "The tests on a real control plane",
    place: "KUBEBUILDER_ASSETS",
    ways: BOTH_WAYS,
  },
): Promise<GoToolchain> {
  const command = await findOnPath("go", env);
  if (!command) {
    throw new BinariesError(`${words.whose} found neither Go nor ${words.place}: ${words.ways}.`);
  }
  const { stdout } = await run(command, ["env", "GOVERSION", "GOOS", "GOARCH"], {
    // Outside any module and without its toolchain: the question is what is installed, not what could be downloaded.
    cwd: "/",
    env: { ...env, GOTOOLCHAIN: "local", GOWORK: "off", GOFLAGS: "" },
  });
  const [version = "", os = "", arch = ""] = stdout.trim().split("\n");
  const [, major, minor] = /^go(\d+)\.(\d+)/u.exec(version) ?? [];
  // A version without numbers is a build of Go's own main branch, newer than any release.
  if (major !== undefined && Number(major) === 1 && Number(minor) < OLDEST_GO_MINOR) {
    throw new BinariesError(
      `${words.whose} found ${version}, which is too old, and no ${words.place.replace(/^a /u, "")}: ${words.ways}.`,
    );
  }
  return { command, version, platform: `${os}/${arch}` };
}

async function findOnPath(
  name: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | undefined> {
  for (const folder of (env["PATH"] ?? "").split(delimiter)) {
    const path = join(folder, name);
    if (folder !== "" && (await isExecutable(path))) return path;
  }
  return undefined;
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
