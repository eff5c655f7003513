// A real CoreDNS on loopback: a Corefile in, a running server out, gone for good after stop or when this process ends.

import { createSocket } from "node:dgram";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { requireCoreDns } from "./binaries.ts";
import { startDaemons } from "./daemons.ts";

export interface RealCoreDns {
  readonly host: string;
  readonly port: number;
  /** What it has said so far. */
  readLog(): Promise<string>;
  stop(): Promise<void>;
}

const READY_MS = 180_000;
const POLL_MS = 50;
const PORT_ATTEMPTS = 5;

/**
 * `isReady` is asked until it says so; CoreDNS answers SERVFAIL while it has not read the cluster yet, so a name that does
 * not exist is a good thing to ask for.
 */
export async function startCoreDns(options: {
  readonly corefile: (address: { readonly host: string; readonly port: number }) => string;
  readonly isReady: (address: { readonly host: string; readonly port: number }) => Promise<boolean>;
}): Promise<RealCoreDns> {
  const file = await requireCoreDns();
  const daemons = await startDaemons();
  const host = "127.0.0.1";
  const conf = join(daemons.folder, "Corefile");
  const log = join(daemons.folder, "coredns.log");
  const readLog = (): Promise<string> => readFile(log, "utf8").catch(() => "(no log)");
  try {
    for (let attempt = 1; ; attempt += 1) {
      const port = await findFreePort(host);
      writeFileSync(conf, options.corefile({ host, port }));
      await daemons.start({ name: "coredns", file, args: ["-conf", conf], log });
      const deadline = performance.now() + READY_MS;
      while (daemons.isRunning("coredns") && performance.now() < deadline) {
        if (await options.isReady({ host, port }).catch(() => false)) {
          return { host, port, readLog, stop: () => daemons.end() };
        }
        await pause(POLL_MS);
      }
      // Between finding a free port and the server's bind somebody else may take it.
      const said = await readLog();
      if (attempt < PORT_ATTEMPTS && said.includes("address already in use")) continue;
      const what = daemons.isRunning("coredns") ? "was not ready in time" : "ended as it started";
      throw new Error(
        `CoreDNS ${what}; its last words:\n${said.trimEnd().split("\n").slice(-15).join("\n")}`,
      );
    }
  } catch (error) {
    await daemons.end();
    throw error;
  }
}

/** Free for TCP and for UDP; somebody may still be faster. */
export async function findFreePort(host: string): Promise<number> {
  for (;;) {
    const listener = createServer();
    const socket = createSocket("udp4");
    try {
      listener.listen(0, host);
      await once(listener, "listening");
      const address = listener.address();
      if (address === null || typeof address === "string") throw new Error("no port was named");
      const bound = once(socket, "listening");
      socket.bind(address.port, host);
      await bound;
      return address.port;
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EADDRINUSE")) throw error;
    } finally {
      listener.close();
      socket.close();
    }
  }
}
