// Test tool: somebody who follows the docs at a terminal: a clone of the repository, a home of his own, kubeconfigs by the names that
// the docs use; command lines in, what they print and how they end out.

import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "../../tools/build.ts";
import type { RealCluster } from "../controlplane/cluster.ts";
import { blocksOf, readPages } from "./pages.ts";

export interface Typed {
  readonly code: number | null;
  /** Standard output and error, as a terminal mixes them. */
  readonly output: string;
}

export interface Lasting {
  output(): string;
  readonly exit: Promise<Typed>;
  /** By a signal to all of it, as Ctrl-C sends it. */
  end(): Promise<void>;
}

export interface Reader {
  type(line: string, env?: Readonly<Record<string, string>>): Lasting;
  /** Ends whatever still runs. */
  leave(): Promise<void>;
}

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Made by commands, or nobody's business. */
const LEFT_OUT: ReadonlySet<string> = new Set(["dist", ".git"]);

export async function createReader(options: {
  /** Empty, and removed by whoever made it. */
  readonly folder: string;
  readonly kubectl: string;
  /** By the names of files and contexts. */
  readonly clusters: Readonly<Record<string, RealCluster>>;
  readonly hub: RealCluster;
  /** Words that command lines may use: $HUB_URL. */
  readonly words: Readonly<Record<string, string>>;
}): Promise<Reader> {
  const { folder, kubectl, clusters, hub, words } = options;
  const clone = join(folder, "clone");
  const home = join(folder, "home");
  const bin = join(folder, "bin");
  for (const path of [
    clone,
    bin,
    join(home, ".local/bin"),
    join(home, ".config/fish/completions"),
  ]) {
    mkdirSync(path, { recursive: true });
  }
  for (const name of readdirSync(ROOT)) {
    if (!LEFT_OUT.has(name)) symlinkSync(join(ROOT, name), join(clone, name));
  }
  symlinkSync(kubectl, join(bin, "kubectl"));
  await bundle(join(clone, "dist"));
  writeFileSync(join(clone, "isthmus.yaml"), exampleSettings());
  for (const [name, cluster] of Object.entries(clusters)) {
    writeFileSync(join(clone, `${name}.yaml`), renderConfig({ [name]: cluster }), { mode: 0o600 });
  }
  writeFileSync(join(clone, "hub.yaml"), renderConfig({ hub }), { mode: 0o600 });
  mkdirSync(join(home, ".kube"));
  writeFileSync(join(home, ".kube/config"), renderConfig(clusters), { mode: 0o600 });
  const path = [join(home, ".local/bin"), bin, dirname(process.execPath), process.env["PATH"]];
  const running = new Set<Lasting>();
  return {
    type(line, env = {}) {
      const own = { PATH: path.join(":"), HOME: home, TMPDIR: folder, ...words };
      const lasting = startLine(line, clone, { ...own, ...fill(env, words) });
      running.add(lasting);
      void lasting.exit.then(() => running.delete(lasting));
      return lasting;
    },
    async leave() {
      await Promise.all([...running].map((lasting) => lasting.end()));
    },
  };
}

/** The file that docs/configuration.md shows. */
function exampleSettings(): string {
  const page = readPages().find(({ name }) => name === "docs/configuration.md");
  const block = page && blocksOf(page).find(({ language }) => language === "yaml");
  if (block === undefined) throw new Error("docs/configuration.md shows no file");
  return `${block.lines.join("\n")}\n`;
}

function renderConfig(clusters: Readonly<Record<string, RealCluster>>): string {
  const all = Object.entries(clusters);
  const encode = (text: string): string => Buffer.from(text).toString("base64");
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: all.map(([name, { url, caPem }]) => ({
      name,
      cluster: { server: url, "certificate-authority-data": encode(caPem) },
    })),
    users: all.map(([name, { adminToken }]) => ({ name, user: { token: adminToken } })),
    contexts: all.map(([name]) => ({ name, context: { cluster: name, user: name } })),
    "current-context": all[0]?.[0],
  });
}

function fill(
  env: Readonly<Record<string, string>>,
  words: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const expand = (text: string): string =>
    text.replaceAll(/\$(\w+)/g, (_, name: string) => words[name] ?? "");
  return Object.fromEntries(Object.entries(env).map(([name, text]) => [name, expand(text)]));
}

/** Held open by this process: whatever becomes of it, nothing that it started is left. */
const WATCH = "( read -r _ <&3; kill -KILL -- -$$ ) >/dev/null 2>&1 & exec 3<&-";

function startLine(line: string, cwd: string, env: NodeJS.ProcessEnv): Lasting {
  const child = spawn("bash", ["-c", `${WATCH}\n${line}`], {
    cwd,
    env,
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    // A group of its own: npm starts a shell, which starts the program.
    detached: true,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  }
  const signal = (name: NodeJS.Signals): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, name);
    } catch {
      // All of it has ended.
    }
  };
  // It has ended, and nobody whom it started writes any more: the watch may go as well.
  const silence = new Promise<void>((resolve) => child.stdout?.on("end", resolve));
  child.on("exit", () => void silence.then(() => child.stdio[3]?.destroy()));
  const exit = new Promise<Typed>((resolve) => {
    child.on("close", (code) => resolve({ code, output }));
  });
  return {
    output: () => output,
    exit,
    async end() {
      signal("SIGTERM");
      const force = setTimeout(() => signal("SIGKILL"), 30_000);
      await exit;
      clearTimeout(force);
    },
  };
}
