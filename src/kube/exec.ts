// Credentials: an exec plugin's configuration → a credential, kept until shortly before it expires.
// Never runs the plugin twice at once, never shows what it printed on stdout.

import type { Clock } from "../ports/clock.ts";
import type { ClusterConfig, ExecConfig } from "./connection.ts";
import { type Credential, type CredentialSource, isToken } from "./credential.ts";
import { readPem } from "./pem.ts";
import { pluginFailed, runPlugin } from "./plugin.ts";
import { isRecord } from "./record.ts";

interface HeldCredential {
  readonly credential: Credential;
  /** Wall clock; the plugin speaks of wall time. Absent: good until refused. */
  readonly expiresAtMs: number | undefined;
  /** From then on a newer one is sought; the old one serves while that fails. */
  readonly renewAtMs: number | undefined;
}

const RENEW_BEFORE_MS = 60_000;
/** A plugin that fails while the old credential still serves is not asked again at once. */
const RETRY_MS = 10_000;

export function createExecCredential(
  exec: ExecConfig,
  options: {
    readonly clock: Clock;
    readonly config: ClusterConfig;
    readonly interactive?: boolean | undefined;
  },
): CredentialSource {
  const { clock, config, interactive = false } = options;
  let held: HeldCredential | undefined;
  let running: Promise<HeldCredential> | undefined;
  let failedAt = Number.NEGATIVE_INFINITY;

  function run(): Promise<HeldCredential> {
    running ??= runOnce().finally(() => {
      running = undefined;
    });
    return running;
  }

  async function runOnce(): Promise<HeldCredential> {
    const terminal = interactive && exec.interactiveMode !== "Never";
    if (exec.interactiveMode === "Always" && !terminal) {
      throw pluginFailed(exec, "it insists on a terminal (interactiveMode: Always)");
    }
    const info = await describeRequest(exec, config, terminal);
    const output = await runPlugin(exec, {
      clock,
      interactive: terminal,
      environment: { KUBERNETES_EXEC_INFO: JSON.stringify(info) },
    });
    held = readExecCredential(output, exec, clock.now());
    return held;
  }

  async function renew(old: HeldCredential): Promise<Credential> {
    try {
      return (await run()).credential;
    } catch {
      failedAt = clock.monotonic();
      return old.credential;
    }
  }

  return {
    current() {
      const now = clock.now();
      if (held === undefined || (held.expiresAtMs !== undefined && now >= held.expiresAtMs)) {
        return run().then(({ credential }) => credential);
      }
      const isDue = held.renewAtMs !== undefined && now >= held.renewAtMs;
      return isDue && clock.monotonic() - failedAt >= RETRY_MS ? renew(held) : held.credential;
    },
    async refresh(refused) {
      // Another request may have fetched a newer one while this one was on its way.
      if (held !== undefined && held.credential !== refused) return true;
      await run();
      return true;
    },
  };
}

/** What the plugin printed → the credential. Any doubt is an error that does not quote the output. */
export function readExecCredential(
  output: string,
  exec: ExecConfig,
  nowMs: number,
): HeldCredential {
  let parsed: unknown;
  try {
    parsed = JSON.parse(output);
  } catch {
    throw pluginFailed(exec, "what it printed is not JSON");
  }
  if (!isRecord(parsed) || parsed["kind"] !== "ExecCredential") {
    throw pluginFailed(exec, "what it printed is not an ExecCredential");
  }
  if (parsed["apiVersion"] !== exec.apiVersion) {
    throw pluginFailed(exec, `it did not answer in ${exec.apiVersion}, as the kubeconfig asks`);
  }
  const status = isRecord(parsed["status"]) ? parsed["status"] : {};
  const token = text(status["token"]);
  const certificate = text(status["clientCertificateData"]);
  const key = text(status["clientKeyData"]);
  if ((certificate === undefined) !== (key === undefined)) {
    throw pluginFailed(exec, "it returned a client certificate without a key, or the reverse");
  }
  if (token === undefined && certificate === undefined) {
    throw pluginFailed(exec, "it returned neither a token nor a client certificate");
  }
  if (token !== undefined && !isToken(token)) {
    throw pluginFailed(exec, "its token is not one line of plain text");
  }
  const expiry = text(status["expirationTimestamp"]);
  const expiresAtMs = expiry === undefined ? undefined : Date.parse(expiry);
  if (Number.isNaN(expiresAtMs)) throw pluginFailed(exec, "its expirationTimestamp is not a time");
  return {
    credential: {
      authorization: token === undefined ? undefined : `Bearer ${token}`,
      certificate:
        certificate === undefined || key === undefined ? undefined : { certificate, key },
    },
    expiresAtMs,
    renewAtMs: expiresAtMs === undefined ? undefined : planRenewal(expiresAtMs, nowMs),
  };
}

/** A minute early, but never in the first four fifths of a short life. */
function planRenewal(expiresAtMs: number, nowMs: number): number {
  const life = Math.max(0, expiresAtMs - nowMs);
  return expiresAtMs - Math.min(RENEW_BEFORE_MS, life / 5);
}

/** The ExecCredential that the plugin finds in KUBERNETES_EXEC_INFO. */
async function describeRequest(
  exec: ExecConfig,
  config: ClusterConfig,
  interactive: boolean,
): Promise<unknown> {
  const spec: Record<string, unknown> = { interactive };
  if (exec.provideClusterInfo) {
    const { authority, serverName, insecure } = config.tls;
    const pem = await readPem(authority);
    spec["cluster"] = {
      server: config.server,
      "tls-server-name": serverName,
      "insecure-skip-tls-verify": insecure === true ? true : undefined,
      "certificate-authority-data":
        pem === undefined ? undefined : Buffer.from(pem).toString("base64"),
      "proxy-url": config.proxyUrl,
      "disable-compression": config.disableCompression ? true : undefined,
      config: exec.clusterExtension,
    };
  }
  return { apiVersion: exec.apiVersion, kind: "ExecCredential", spec };
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
