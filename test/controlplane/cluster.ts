// A real control plane on loopback, or in a network namespace: a name in, a running cluster with its kubeconfig out, gone for
// good after stop or when this process ends. Never a kubelet, a scheduler or a network: Pods exist, nothing runs.

import { mkdirSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { requireBinaries } from "./binaries.ts";
import { type Credentials, renderKubeconfig, writeCredentials } from "./credentials.ts";
import { type Daemons, startDaemons } from "./daemons.ts";
import {
  apiserverFlags,
  AUDIT_POLICY,
  auditFlags,
  controllerManagerFlags,
  etcdFlags,
} from "./flags.ts";
import { inNamespace } from "./namespace.ts";
import { openReader, type Reader } from "./request.ts";

export interface ClusterOptions {
  readonly name: string;
  /** IPv4 and IPv6; distinct from every other cluster of this process when absent. */
  readonly serviceCidrs?: readonly [string, string];
  /** Default: true when there is a binary for it. */
  readonly controllerManager?: boolean;
  /** Every request by a ServiceAccount is on record, see `auditPath`. Default: nothing is. */
  readonly audit?: boolean;
  /** Absent: on loopback, at a free port. */
  readonly at?: ClusterSite;
  /** That the controller manager runs besides those that every test leans on. */
  readonly controllers?: readonly string[];
  /** Each controller is a ServiceAccount of kube-system, as installers set it up. Default: all of them are administrators. */
  readonly controllerAccounts?: boolean;
}

/** A network namespace of that name, which has the addresses; all else is up to whoever made it. */
export interface ClusterSite {
  readonly netns: string;
  /** Where the API server is found, and by which its Service leads to it. */
  readonly address: string;
  readonly port: number;
  /** All by which it may be called, in its certificate. */
  readonly addresses: readonly string[];
}

export interface RealCluster {
  readonly name: string;
  readonly url: string;
  readonly kubeconfigPath: string;
  readonly caPem: string;
  readonly adminToken: string;
  readonly serviceCidrs: readonly [string, string];
  readonly hasControllerManager: boolean;
  /** Of Kubernetes, as in "v1.36.3". */
  readonly version: string;
  /** Holds etcd.log, kube-apiserver.log, kube-controller-manager.log; removed by stop unless ISTHMUS_TEST_LOGS names a folder. */
  readonly logsPath: string;
  /** One JSON object per request and line; written before the request is answered. Empty or absent without `audit`. */
  readonly auditPath: string;
  /** Its supervisor: what else it starts ends with the cluster. */
  readonly daemons: Daemons;
  /** Same port, same data; clients see their connections end. */
  restartApiserver(): Promise<void>;
  /** At once by default: asked politely, it waits for open watches to end. */
  stopApiserver(signal?: NodeJS.Signals): Promise<void>;
  startApiserver(): Promise<void>;
  /** Connections stay open and nothing answers: what a hung server or a silent network looks like. */
  pauseApiserver(): Promise<void>;
  resumeApiserver(): Promise<void>;
  /** Killed on the spot; the API server stays, with nothing behind it. */
  killEtcd(): Promise<void>;
  /** With the data that it had. Resolves when the API server, which has to run, is ready again. */
  startEtcd(): Promise<void>;
  /** All its processes on the spot, in no order. */
  kill(): Promise<void>;
  /** After `kill`, with the data that it had: servers and controllers. */
  revive(): Promise<void>;
  stop(): Promise<void>;
}

/** Several start at once, on a machine that may have no time for them. */
const READY_MS = 180_000;
const POLL_MS = 50;
/** Whoever snatched a server's port may accept and then say nothing. */
const IMPATIENT = { connectMs: 2_000, answerMs: 10_000 };
const PORT_ATTEMPTS = 5;

let clustersStarted = 0;

export async function startCluster(options: ClusterOptions): Promise<RealCluster> {
  const { name, at, serviceCidrs = nextServiceCidrs() } = options;
  const binaries = await requireBinaries();
  const controllerManager =
    options.controllerManager === false ? undefined : binaries.kubeControllerManager;
  if (options.controllerManager === true && !controllerManager) {
    throw new Error(
      "This test needs kube-controller-manager, and the folder that KUBEBUILDER_ASSETS names has none.",
    );
  }
  const daemons = await startDaemons();
  try {
    const { folder } = daemons;
    const logsPath = makeLogsFolder(folder, name);
    const logOf = (daemon: string): string => join(logsPath, `${daemon}.log`);
    const launch = (daemon: string, file: string, args: readonly string[]): Promise<void> => {
      const command = at === undefined ? { file, args } : inNamespace(at.netns, { file, args });
      return daemons.start({ name: daemon, ...command, log: logOf(daemon) });
    };

    const launchEtcd = (): Promise<void> => launch("etcd", binaries.etcd, etcdFlags(folder));
    const [credentials] = await Promise.all([
      writeCredentials(folder, name, at?.addresses),
      launchEtcd(),
    ]);
    const auditPath = logOf("audit");
    const policyPath = join(folder, "audit-policy.json");
    if (options.audit === true) writeFileSync(policyPath, JSON.stringify(AUDIT_POLICY));
    const audit = options.audit === true ? auditFlags({ policyPath, auditPath }) : [];
    let server = await describeServer({ folder, name, credentials, at });
    const startApiserver = async (): Promise<void> => {
      await launch("kube-apiserver", binaries.kubeApiserver, [
        ...apiserverFlags({
          folder,
          credentials,
          serviceCidrs,
          port: server.port,
          address: at?.address,
        }),
        ...audit,
      ]);
      await waitFor("kube-apiserver", { daemons, logOf }, () => isServing(server.reader));
    };
    for (let attempt = 1; ; attempt += 1) {
      try {
        await startApiserver();
        break;
      } catch (error) {
        // Between finding a free port and the server's bind somebody else may take it.
        if (attempt === PORT_ATTEMPTS || !(await lostThePort(logOf("kube-apiserver")))) throw error;
        await server.reader.close();
        server = await describeServer({ folder, name, credentials, at });
      }
    }
    const startControllers = async (): Promise<void> => {
      if (!controllerManager) return;
      const { controllers, controllerAccounts: hasAccounts } = options;
      const kubeconfigPath =
        hasAccounts === true
          ? writeControllerConfig({ folder, name, url: server.url, credentials })
          : server.kubeconfigPath;
      const flags = controllerManagerFlags({
        credentials,
        kubeconfigPath,
        controllers,
        hasAccounts,
      });
      await launch("kube-controller-manager", controllerManager, flags);
      await waitFor("kube-controller-manager", { daemons, logOf }, () =>
        exists(server.reader, "/api/v1/namespaces/default/serviceaccounts/default"),
      );
    };
    await startControllers();
    const stopApiserver = (signal: NodeJS.Signals = "SIGKILL"): Promise<void> =>
      daemons.stop("kube-apiserver", signal);
    return {
      name,
      url: server.url,
      kubeconfigPath: server.kubeconfigPath,
      caPem: credentials.caPem,
      adminToken: credentials.adminToken,
      serviceCidrs,
      hasControllerManager: controllerManager !== undefined,
      version: binaries.version,
      logsPath,
      auditPath,
      daemons,
      stopApiserver,
      startApiserver,
      async restartApiserver() {
        await stopApiserver();
        await startApiserver();
      },
      pauseApiserver: () => daemons.signal("kube-apiserver", "SIGSTOP"),
      resumeApiserver: () => daemons.signal("kube-apiserver", "SIGCONT"),
      killEtcd: () => daemons.stop("etcd", "SIGKILL"),
      async startEtcd() {
        await launchEtcd();
        await waitFor("kube-apiserver", { daemons, logOf }, () => isServing(server.reader));
      },
      async kill() {
        const names = ["kube-controller-manager", "kube-apiserver", "etcd"];
        await Promise.all(names.map((daemon) => daemons.stop(daemon, "SIGKILL")));
      },
      async revive() {
        await launchEtcd();
        await startApiserver();
        await startControllers();
      },
      async stop() {
        await server.reader.close();
        await daemons.end();
      },
    };
  } catch (error) {
    await daemons.end();
    throw error;
  }
}

interface ServerDescription {
  readonly port: number;
  readonly url: string;
  readonly kubeconfigPath: string;
  readonly reader: Reader;
}

async function describeServer(options: {
  readonly folder: string;
  readonly name: string;
  readonly credentials: Credentials;
  readonly at: ClusterSite | undefined;
}): Promise<ServerDescription> {
  const { folder, name, credentials, at } = options;
  const { address, port } = at ?? { address: "127.0.0.1", port: await findFreePort() };
  const url = `https://${address}:${port}`;
  const kubeconfigPath = join(folder, "kubeconfig");
  const { caPem, admin } = credentials;
  writeFileSync(kubeconfigPath, renderKubeconfig({ name, url, caPem, client: admin }), {
    mode: 0o600,
  });
  return { port, url, kubeconfigPath, reader: await openReader(kubeconfigPath, IMPATIENT) };
}

function writeControllerConfig(options: {
  readonly folder: string;
  readonly name: string;
  readonly url: string;
  readonly credentials: Credentials;
}): string {
  const { folder, name, url, credentials } = options;
  const { caPem, controllerManager: client } = credentials;
  const path = join(folder, "controller-manager.kubeconfig");
  writeFileSync(path, renderKubeconfig({ name, url, caPem, client }), { mode: 0o600 });
  return path;
}

/** Ready, and past the start-up work that readiness does not cover. */
async function isServing(reader: Reader): Promise<boolean> {
  if ((await reader.get("/readyz")).status !== 200) return false;
  return exists(reader, "/api/v1/namespaces/default");
}

async function exists(reader: Reader, path: string): Promise<boolean> {
  return (await reader.get(path)).status === 200;
}

async function waitFor(
  daemon: string,
  context: { readonly daemons: Daemons; readonly logOf: (daemon: string) => string },
  condition: () => Promise<boolean>,
): Promise<void> {
  const deadline = performance.now() + READY_MS;
  for (;;) {
    if (await condition()) return;
    const stopped = ["etcd", daemon].find((name) => !context.daemons.isRunning(name));
    if (stopped || performance.now() > deadline) {
      const blamed = stopped ?? daemon;
      const what = stopped ? "ended while it started" : `was not ready after ${READY_MS / 1000} s`;
      throw new Error(
        `${blamed} ${what}; its last words:\n${await readTail(context.logOf(blamed))}`,
      );
    }
    await pause(POLL_MS);
  }
}

async function lostThePort(log: string): Promise<boolean> {
  return (await readTail(log)).includes("address already in use");
}

async function readTail(log: string): Promise<string> {
  const text = await readFile(log, "utf8").catch(() => "(no log)");
  return text.trimEnd().split("\n").slice(-15).join("\n");
}

/** In the folder that goes, or where ISTHMUS_TEST_LOGS wants to keep them. */
export function makeLogsFolder(folder: string, name: string): string {
  const kept = process.env["ISTHMUS_TEST_LOGS"];
  const logsPath = kept ? join(kept, `${name}-${process.pid}`) : join(folder, "logs");
  mkdirSync(logsPath, { recursive: true });
  return logsPath;
}

function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => {
        if (address !== null && typeof address === "object") resolve(address.port);
        else reject(new Error("The system named no port."));
      });
    });
  });
}

function nextServiceCidrs(): readonly [string, string] {
  clustersStarted += 1;
  return [`10.${127 + clustersStarted}.0.0/16`, `fd00:10:${127 + clustersStarted}::/112`];
}
