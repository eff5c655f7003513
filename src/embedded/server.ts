// Edge: an embedded cluster in, an HTTPS server on loopback with credentials of its own out. For demos and tests:
// everything it holds dies with it. Never listens beyond loopback unless told to.

import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { isIP, isIPv6, type Socket } from "node:net";
import { Problem } from "../api/problem.ts";
import type { Clock } from "../ports/clock.ts";
import { createAuthority, issueCertificate, type KeyedCertificate } from "./certificate.ts";
import { createAuthenticator } from "./http/credential.ts";
import { type ExchangeContext, handleExchange, type ServedCluster } from "./http/exchange.ts";
import { renderKubeconfig } from "./http/kubeconfig.ts";
import type { WatchStream } from "./http/stream.ts";

export interface ServeOptions {
  readonly clock: Clock;
  /** 0, the default, takes a free one. */
  readonly port?: number;
  /** Loopback by default. */
  readonly host?: string;
  /** True by default; false for plain HTTP, where only the token counts. */
  readonly tls?: boolean;
  /** What may wait in memory for one slow reader of a watch. */
  readonly watchBufferBytes?: number;
}

export interface EmbeddedServer {
  readonly url: string;
  readonly token: string;
  /** Empty without TLS. */
  readonly caPem: string;
  /** Proves the same user as the token; absent without TLS. */
  readonly client?: KeyedCertificate;
  kubeconfig(): string;
  /** Ends every watch and every connection; resolves when nothing is left. */
  close(): Promise<void>;
}

const DEFAULT_HOST = "127.0.0.1";
const DEFAULT_WATCH_BUFFER_BYTES = 16 * 1024 * 1024;

/** Real time, as sockets are real: a peer that stalls is not part of a simulation. */
const TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 90_000,
  connectionsCheckingInterval: 5_000,
};
const MAX_CONNECTIONS = 8192;

export async function serveCluster(
  cluster: ServedCluster,
  options: ServeOptions,
): Promise<EmbeddedServer> {
  const host = options.host ?? DEFAULT_HOST;
  const token = randomBytes(32).toString("hex");
  const identity = options.tls === false ? undefined : await createIdentity(cluster.name, host);
  const streams = new Set<WatchStream>();
  const server =
    identity === undefined
      ? createServer(TIMEOUTS)
      : createTlsServer({
          ...TIMEOUTS,
          handshakeTimeout: TIMEOUTS.headersTimeout,
          cert: identity.server.certPem,
          key: identity.server.keyPem,
          ca: identity.authority.certPem,
          // A certificate is welcome, not needed: who has none may have a token.
          requestCert: true,
          rejectUnauthorized: false,
        });
  server.maxConnections = MAX_CONNECTIONS;
  const sockets = trackSockets(server);
  await listen(server, host, options.port ?? 0);

  const address = `${isIPv6(host) ? `[${host}]` : host}:${portOf(server)}`;
  const url = `${identity === undefined ? "http" : "https"}://${address}`;
  const context: ExchangeContext = {
    cluster,
    clock: options.clock,
    authenticate: createAuthenticator(token),
    address,
    watchBufferBytes: options.watchBufferBytes ?? DEFAULT_WATCH_BUFFER_BYTES,
    streams,
  };
  server.on("request", (request, response) => {
    void handleExchange(context, request, response);
  });
  const caPem = identity?.authority.certPem;
  let closing: Promise<void> | undefined;
  return {
    url,
    token,
    caPem: caPem ?? "",
    ...(identity === undefined ? {} : { client: identity.client }),
    kubeconfig: () =>
      renderKubeconfig({
        name: cluster.name,
        url,
        ...(identity === undefined ? { token } : { caPem, client: identity.client }),
      }),
    close: () => (closing ??= closeServer(server, sockets, streams)),
  };
}

interface Identity {
  readonly authority: KeyedCertificate;
  readonly server: KeyedCertificate;
  readonly client: KeyedCertificate;
}

// Peers judge certificates by their own clocks, and ours may be simulated: the period must hold in all of them. The keys
// live as long as this process.
const PERIOD = {
  notBefore: new Date("2000-01-01T00:00:00Z"),
  notAfter: new Date("2099-12-31T00:00:00Z"),
};

async function createIdentity(name: string, host: string): Promise<Identity> {
  const authority = await createAuthority({ ...PERIOD, commonName: `${name} embedded authority` });
  const isAddress = isIP(host) !== 0;
  const [server, client] = await Promise.all([
    issueCertificate(authority, {
      ...PERIOD,
      commonName: "kube-apiserver",
      usage: "server",
      dnsNames: ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"].concat(
        isAddress ? [] : [host],
      ),
      ipAddresses: [...new Set(["127.0.0.1", "::1", ...(isAddress ? [host] : [])])],
    }),
    issueCertificate(authority, {
      ...PERIOD,
      commonName: "kubernetes-admin",
      organizations: ["system:masters"],
      usage: "client",
    }),
  ]);
  return { authority, server, client };
}

/** Every socket, those in the middle of a TLS handshake included, which the HTTP server does not know. */
function trackSockets(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  return sockets;
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException): void => {
      reject(explainListenError(error, host, port));
    };
    server.once("error", onError);
    server.listen({ host, port }, () => {
      server.off("error", onError);
      resolve();
    });
  });
}

export function explainListenError(
  error: NodeJS.ErrnoException,
  host: string,
  port: number,
): Error {
  if (error.code === "EACCES") {
    return new Problem("ArgumentInvalid", `this user may not listen on port ${port} of ${host}`, {
      hint: "choose a port from 1024 up: 0 takes a free one",
      cause: error,
    });
  }
  if (error.code !== "EADDRINUSE") {
    return new Error(`cannot listen on ${host} port ${port}: ${error.message}`, { cause: error });
  }
  return new Problem("PortInUse", `port ${port} on ${host} is already in use`, {
    hint: "stop what listens there, or choose another port: 0 takes a free one",
    cause: error,
  });
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

async function closeServer(
  server: Server,
  sockets: ReadonlySet<Socket>,
  streams: ReadonlySet<WatchStream>,
): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  for (const stream of streams) stream.end();
  // One turn for the last chunk of each watch to reach its socket; a reader that is behind loses it.
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  for (const socket of sockets) socket.destroy();
  await closed;
}
