// Test tool: `isthmus dns` as a process of its own: a kubeconfig and flags in, a server that has read the cluster out.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { findFreePort } from "../controlplane/coredns.ts";
import { startDaemons } from "../controlplane/daemons.ts";
import { askOnce, type ServerAddress } from "./ask.ts";

const BINARY = fileURLToPath(new URL("../../src/bin/isthmus.ts", import.meta.url));
const TSX = fileURLToPath(new URL("../../node_modules/tsx/dist/loader.mjs", import.meta.url));
const READY_MS = 60_000;
const POLL_MS = 50;

export interface IsthmusDns extends ServerAddress {
  stop(): Promise<void>;
}

/** Resolves when a name that does not exist is denied: until all is read it answers SERVFAIL. */
export async function startIsthmusDns(options: {
  readonly kubeconfigPath: string;
  readonly flags?: readonly string[];
  readonly host?: string;
  /** Absent: a free one. */
  readonly port?: number;
}): Promise<IsthmusDns> {
  const { host = "127.0.0.1", kubeconfigPath, flags = [] } = options;
  const daemons = await startDaemons();
  const log = join(daemons.folder, "isthmus-dns.log");
  try {
    const port = options.port ?? (await findFreePort(host));
    await daemons.start({
      name: "isthmus-dns",
      file: process.execPath,
      args: [
        ["--import", TSX, BINARY, "dns", "--kubeconfig", kubeconfigPath],
        ["--listen", `${host}:${port}`, "--metrics-address", "127.0.0.1:0", ...flags],
      ].flat(),
      log,
    });
    const nobody = { name: "nobody.nowhere.svc.clusterset.local", type: "A" } as const;
    const deadline = performance.now() + READY_MS;
    while (daemons.isRunning("isthmus-dns") && performance.now() < deadline) {
      const reply = await askOnce({ host, port }, nobody, { timeoutMs: 1_000 }).catch(() => {});
      if (reply?.rcode === "NXDOMAIN") return { host, port, stop: () => daemons.end() };
      await pause(POLL_MS);
    }
    const said = await readFile(log, "utf8").catch(() => "(no log)");
    throw new Error(`isthmus dns did not become ready; its last words:\n${said.slice(-2_000)}`);
  } catch (error) {
    await daemons.end();
    throw error;
  }
}
