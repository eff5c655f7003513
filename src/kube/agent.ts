// Client: TLS material and proxy → the undici dispatcher of one cluster, rebuilt when certificates on disk change.

import { X509Certificate } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";
import { Agent, type Dispatcher, ProxyAgent } from "undici";
import { Problem } from "../api/problem.ts";
import type { Clock } from "../ports/clock.ts";
import type { ClusterConfig } from "./connection.ts";
import type { Credential } from "./credential.ts";
import { readPem } from "./pem.ts";

interface Material {
  readonly authority: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}

const REREAD_MS = 60_000;
const CONNECT_TIMEOUT_MS = 10_000;
/** Shorter than the idle limit of API servers (90 s) and of common load balancers (60 s). */
const KEEP_ALIVE_MS = 30_000;

export interface AgentHolder {
  /** Reads what is due to be read; undefined: nothing is. Call `take` at once after it, without waiting in between. */
  prepare(credential: Credential): Promise<void> | undefined;
  take(): Dispatcher;
  close(): Promise<void>;
}

export function createAgentHolder(config: ClusterConfig, clock: Clock): AgentHolder {
  const { authority, certificate } = config.tls;
  const pems = [authority, certificate?.certificate, certificate?.key];
  const rotates = pems.some((pem) => pem !== undefined && "file" in pem);
  let fromFiles: Material | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  let used: Material | undefined;
  let agent: Dispatcher | undefined;
  const retired = new Set<Dispatcher>();

  function isFresh(): boolean {
    return !rotates || clock.monotonic() - readAt < REREAD_MS;
  }

  async function readMaterial(): Promise<Material> {
    if (fromFiles !== undefined && isFresh()) return fromFiles;
    const startedAt = clock.monotonic();
    try {
      const [ca, cert, key] = await Promise.all(pems.map(readPem));
      fromFiles = { authority: ca, certificate: cert, key };
    } catch (error) {
      // In the middle of a rotation: what worked a minute ago serves until the files are whole again.
      if (fromFiles === undefined) throw error;
    }
    readAt = startedAt;
    return fromFiles;
  }

  function retire(old: Dispatcher): void {
    retired.add(old);
    // Requests under way, watches among them, end in their own time.
    old.close().then(
      () => retired.delete(old),
      () => retired.delete(old),
    );
  }

  /** Throws only while there is no agent. */
  function use(material: Material): void {
    if (used !== undefined && isSame(used, material)) return;
    let next: Dispatcher;
    try {
      next = createAgent(config, createContext(material));
    } catch (error) {
      // Certificate and key of two different generations: as above.
      if (agent === undefined) throw error;
      return;
    }
    if (agent !== undefined) retire(agent);
    agent = next;
    used = material;
  }

  return {
    prepare({ certificate: own }) {
      if (agent === undefined || fromFiles === undefined || !isFresh()) {
        return readMaterial().then((material) => use({ ...material, ...own }));
      }
      use({ ...fromFiles, ...own });
      return undefined;
    },
    take() {
      if (agent === undefined) throw new TypeError("prepare() comes before take()");
      return agent;
    },
    async close() {
      const all = agent === undefined ? [...retired] : [agent, ...retired];
      await Promise.all(all.map((one) => one.destroy()));
    },
  };
}

function createAgent(config: ClusterConfig, secureContext: SecureContext): Dispatcher {
  const { serverName, insecure } = config.tls;
  const connect = {
    secureContext,
    rejectUnauthorized: insecure !== true,
    timeout: CONNECT_TIMEOUT_MS,
    ...(serverName === undefined ? {} : { servername: serverName }),
  };
  const options = {
    // Silence is judged by our own watchdog, on our own clock: undici would end a quiet watch after five minutes.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
  };
  if (config.proxyUrl === undefined) return new Agent({ ...options, connect });
  const { username, password } = new URL(config.proxyUrl);
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const token = username === "" ? {} : { token: `Basic ${Buffer.from(login).toString("base64")}` };
  return new ProxyAgent({ ...options, ...token, uri: config.proxyUrl, requestTls: connect });
}

/** Checked once here, because a bad key would otherwise surface as an unclear error at connect. */
function createContext(material: Material): SecureContext {
  const { authority, certificate, key } = material;
  if (authority !== undefined && !isCertificate(authority)) {
    throw new Problem("KubeconfigInvalid", "the certificate authority is not a certificate", {
      hint: "Check certificate-authority and certificate-authority-data of the kubeconfig.",
    });
  }
  try {
    return createSecureContext({
      ...(authority === undefined ? {} : { ca: authority }),
      ...(certificate === undefined ? {} : { cert: certificate }),
      ...(key === undefined ? {} : { key }),
    });
  } catch (cause) {
    throw new Problem(
      "ClientCertificateInvalid",
      "the client certificate and its key cannot be used together",
      { hint: "Check that both are of the same pair, in PEM form, without a passphrase.", cause },
    );
  }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

function isSame(a: Material, b: Material): boolean {
  return a.authority === b.authority && a.certificate === b.certificate && a.key === b.key;
}
