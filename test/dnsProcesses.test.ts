// `isthmus dns --processes 2` as it runs on a machine: a bundle, real processes behind one port, signals.

import { type ChildProcess, spawn } from "node:child_process";
import { Resolver } from "node:dns/promises";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { NAMESPACE } from "../src/api/builtin.ts";
import { CRDS } from "../src/api/crds.ts";
import { SERVICE_IMPORT } from "../src/api/mcs.ts";
import { installCrds } from "../src/controllers/crd.ts";
import { EmbeddedCluster } from "../src/embedded/cluster.ts";
import { serveCluster } from "../src/embedded/server.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";
import type { Store } from "../src/ports/store.ts";
import { bundle } from "../tools/build.ts";
import { anImport, aWebImport, encodeQuery, frame, TcpClient, WEB, WEB_IP } from "./dnsServer.ts";
import { temporaryDirectory } from "./loopback.ts";
import { eventually } from "./scenarios/poll.ts";

let command: string;
beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), "isthmus-bundle-"));
  command = await bundle(folder);
  return () => rmSync(folder, { recursive: true });
});

interface Line {
  readonly msg: string;
  readonly pid?: number;
  readonly listen?: readonly string[];
  readonly metrics?: string;
}

interface Running {
  readonly store: Store;
  readonly reader: ChildProcess;
  readonly exit: Promise<number | null>;
  readonly resolver: Resolver;
  readonly at: { readonly host: string; readonly port: number };
  /** Of the server processes that answered so far. */
  readonly pids: () => readonly number[];
  readonly said: (message: string) => readonly Line[];
  readonly ask: (path: string) => Promise<string>;
}

/** `program`: what Node runs, in front of the command's own arguments. */
async function start(program: readonly string[] = [command]): Promise<Running> {
  const cluster = new EmbeddedCluster({ name: "east", clock: systemClock, random: systemRandom });
  onTestFinished(() => cluster.stop());
  const server = await serveCluster(cluster, { clock: systemClock });
  onTestFinished(() => server.close());
  const home = temporaryDirectory();
  const kubeconfig = join(home, "east.yaml");
  writeFileSync(kubeconfig, server.kubeconfig());
  const store = cluster.store({});
  await installCrds({ store, crds: CRDS, clock: systemClock });
  const metadata = { name: "shop" };
  await store.create(NAMESPACE, { apiVersion: "v1", kind: "Namespace", metadata });
  await store.create(SERVICE_IMPORT, aWebImport());

  const args = ["dns", "--kubeconfig", kubeconfig, "--processes", "2"];
  const free = ["--listen", "127.0.0.1:0", "--metrics-address", "127.0.0.1:0"];
  const reader = spawn(process.execPath, [...program, ...args, ...free], {
    env: { PATH: process.env["PATH"], HOME: home },
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(() => void reader.kill("SIGKILL"));
  let text = "";
  reader.stderr?.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  const exit = new Promise<number | null>((resolve) => reader.on("close", resolve));
  const said = (message: string): readonly Line[] =>
    text
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Line)
      .filter(({ msg }) => msg === message);
  const { listen, metrics } = await eventually("it starts", () => {
    const [line] = said("dns server starts");
    if (line === undefined) throw new Error(text);
    return line;
  });
  const ask = async (path: string): Promise<string> =>
    (await fetch(`http://${metrics}${path}`)).text();
  const pids = (): readonly number[] => said("server process answers").map(({ pid }) => pid!);
  await eventually("both processes answer", async () => {
    expect(pids()).toHaveLength(2);
    expect(await ask("/readyz")).toBe("ok\n");
  });
  const resolver = new Resolver({ tries: 6, timeout: 2_000 });
  resolver.setServers([...listen!]);
  const [host = "", port = ""] = listen![0]!.split(":");
  return { store, reader, exit, resolver, at: { host, port: Number(port) }, pids, said, ask };
}

/** Gone, or dead and only not yet noticed by whoever inherits it. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

async function gone(pids: readonly number[]): Promise<void> {
  await eventually("no process is left", () => {
    expect(pids.filter(isRunning)).toEqual([]);
  });
}

/** On many connections: whichever process takes them. */
async function askOften(at: Running["at"], count: number): Promise<void> {
  for (let asked = 0; asked < count; asked++) {
    const client = new TcpClient(at);
    client.send(frame(encodeQuery(WEB)));
    await client.received(1);
    client.socket.destroy();
  }
}

describe("isthmus dns with several processes", () => {
  test("answers on one port over UDP and TCP, follows changes in all of them, and counts as one", async () => {
    const { store, resolver, at, ask } = await start();
    for (let count = 0; count < 20; count++) expect(await resolver.resolve4(WEB)).toEqual([WEB_IP]);
    await askOften(at, 20);
    await store.create(SERVICE_IMPORT, {
      ...aWebImport("10.96.0.81"),
      metadata: anImport("api", undefined).metadata,
    });
    await eventually("all answer for the new service", async () => {
      for (let count = 0; count < 20; count++)
        await resolver.resolve4("api.shop.svc.clusterset.local");
    });
    await eventually("everything is counted", async () => {
      const metrics = await ask("/metrics");
      expect(metrics).toContain("isthmus_dns_processes 2\n");
      expect(metrics).toContain('isthmus_dns_received_total{transport="tcp"} 20\n');
    });
  });

  test("answers on when one of them is killed, and starts another that knows the same", async () => {
    const { store, resolver, pids, said, ask } = await start();
    const [first, second] = pids();
    process.kill(first!, "SIGKILL");
    for (let count = 0; count < 20; count++) expect(await resolver.resolve4(WEB)).toEqual([WEB_IP]);
    await store.delete(SERVICE_IMPORT, { namespace: "shop", name: "web" });
    await store.create(SERVICE_IMPORT, aWebImport("10.96.0.99"));
    await eventually("a third process answers", () => {
      expect(pids()).toHaveLength(3);
    });
    expect(said("server process ended")).toMatchObject([{ reason: "SIGKILL" }]);
    // Now only the new one is left to answer.
    process.kill(second!, "SIGSTOP");
    onTestFinished(() => void process.kill(second!, "SIGKILL"));
    await eventually("the new one has caught up", async () => {
      expect(await resolver.resolve4(WEB)).toEqual(["10.96.0.99"]);
    });
    expect(await ask("/metrics")).toContain("isthmus_dns_process_restarts_total 1\n");
  });

  test("works from its sources as well", async () => {
    const source = fileURLToPath(new URL("../src/bin/isthmus.ts", import.meta.url));
    const { resolver, reader, exit, pids } = await start(["--import", "tsx", source]);
    expect(await resolver.resolve4(WEB)).toEqual([WEB_IP]);
    reader.kill("SIGTERM");
    expect(await exit).toBe(0);
    await gone(pids());
  });

  test("ends with all its processes on SIGTERM", async () => {
    const { reader, exit, pids, said } = await start();
    const servers = pids();
    reader.kill("SIGTERM");
    expect(await exit).toBe(0);
    await gone(servers);
    expect(said("dns server stops")).toHaveLength(1);
    expect(said("server process ended")).toEqual([]);
  });

  test("leaves no process behind when the one that reads is killed", async () => {
    const { reader, exit, pids } = await start();
    const servers = pids();
    reader.kill("SIGKILL");
    await exit;
    await gone(servers);
    expect(servers).toHaveLength(2);
  });
});
