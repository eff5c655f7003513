// Fault tests: one process of `isthmus agent`, with a credential of its own for its cluster, so that the server's audit log
// can tell it from the others. A child of a supervisor: it ends with the test, however that ends.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SYSTEM_NAMESPACE } from "../../src/api/names.ts";
import { renderTokenRequest } from "../../src/hub/manifest/tokenrequest.ts";
import { AGENT_NAME } from "../../src/hub/local.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import { systemClock } from "../../src/kube/clock.ts";
import { requestToken } from "../../src/kube/tokenrequest.ts";
import type { RealCluster } from "../controlplane/cluster.ts";
import type { Daemons } from "../controlplane/daemons.ts";
import { eventually } from "../scenarios/poll.ts";
import { credentialIdOf } from "./audit.ts";

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly problem?: string;
  readonly error?: string;
  readonly about?: string;
}

/** A process that starts on a machine which is busy with other tests takes its time. */
const SAY_MS = 60_000;

export interface Replica {
  /** Names its credential for its own cluster in audit logs. */
  readonly credentialId: string;
  /** What it logged since it was last started. */
  log(): readonly LogLine[];
  says(message: string, boundMs?: number): Promise<LogLine>;
  start(): Promise<void>;
  /** Resolves when it has ended. */
  stop(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
  pause(): Promise<void>;
  resume(): Promise<void>;
  isRunning(): boolean;
}

export async function createReplica(options: {
  readonly name: string;
  readonly bundlePath: string;
  readonly cluster: RealCluster;
  readonly admin: KubeClient;
  readonly daemons: Daemons;
  readonly logsPath: string;
}): Promise<Replica> {
  const { name, bundlePath, cluster, admin, daemons, logsPath } = options;
  const order = renderTokenRequest({
    account: { namespace: SYSTEM_NAMESPACE, name: AGENT_NAME },
    seconds: 3_600,
  });
  const token = await requestToken(admin, order, { nowMs: systemClock.now() });
  const kubeconfigPath = join(daemons.folder, `${name}.kubeconfig`);
  writeFileSync(kubeconfigPath, renderTokenConfig(cluster, token), { mode: 0o600 });
  let starts = 0;
  const logPath = (): string => join(logsPath, `agent-${name}-${starts}.log`);

  function log(): readonly LogLine[] {
    const text = existsSync(logPath()) ? readFileSync(logPath(), "utf8") : "";
    // The last line may not be whole yet.
    const lines = text.slice(0, text.lastIndexOf("\n") + 1).split("\n");
    return lines
      .filter((line) => line !== "")
      .map((line) =>
        line.startsWith("{") ? (JSON.parse(line) as LogLine) : { level: "error", msg: line },
      );
  }

  return {
    credentialId: credentialIdOf(token),
    log,
    says: (message, boundMs = SAY_MS) =>
      eventually(
        `agent ${name} says "${message}"`,
        () => {
          const said = log();
          const found = said.find(({ msg }) => msg === message);
          if (found !== undefined) return found;
          throw new Error(`it said:\n${said.map((line) => JSON.stringify(line)).join("\n")}`);
        },
        boundMs,
      ),
    start() {
      starts += 1;
      const flags = ["--kubeconfig", kubeconfigPath, "--metrics-address", "127.0.0.1:0"];
      const args = [bundlePath, "agent", ...flags];
      return daemons.start({ name, file: process.execPath, args, log: logPath() });
    },
    stop: (signal) => daemons.stop(name, signal),
    pause: () => daemons.signal(name, "SIGSTOP"),
    resume: () => daemons.signal(name, "SIGCONT"),
    isRunning: () => daemons.isRunning(name),
  };
}

export function renderTokenConfig({ name, url, caPem }: RealCluster, token: string): string {
  const ca = Buffer.from(caPem).toString("base64");
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server: url, "certificate-authority-data": ca } }],
    users: [{ name: AGENT_NAME, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: AGENT_NAME } }],
    "current-context": name,
  });
}
