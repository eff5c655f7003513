// Failures on the way to a server, made for real: each becomes one sentence that names server, file and context.

import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer } from "node:net";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { type Loopback, rejectionOf, serve, temporaryDirectory } from "../../test/loopback.ts";
import { NAMESPACE } from "../api/builtin.ts";
import { Problem } from "../api/problem.ts";
import {
  createAuthority,
  issueCertificate,
  type KeyedCertificate,
} from "../embedded/certificate.ts";
import { StoreError } from "../ports/store.ts";
import { createClient } from "./client.ts";
import { loadKubeconfig } from "./config.ts";
import type { ClusterConfig } from "./connection.ts";
import { describeFailure } from "./failure.ts";

const SECRET = "sup3r-secret-token-value";
const PAST = { notBefore: new Date("2001-01-01"), notAfter: new Date("2002-01-01") };
const LONG = { notBefore: new Date("2001-01-01"), notAfter: new Date("2100-01-01") };
const FUTURE = { notBefore: new Date("2090-01-01"), notAfter: new Date("2100-01-01") };
const LOOPBACK = { ipAddresses: ["127.0.0.1"], usage: "server" as const, commonName: "server" };

let authority: KeyedCertificate;
beforeAll(async () => {
  authority = await createAuthority({ commonName: "test authority", ...LONG });
});

/** A kubeconfig on disk, as users have it. */
function kubeconfig(server: string, cluster: object = {}, user: object = { token: SECRET }) {
  const file = join(temporaryDirectory(), "config");
  const trust = server.startsWith("https:")
    ? { "certificate-authority-data": base64(authority.certPem) }
    : {};
  writeFileSync(
    file,
    JSON.stringify({
      clusters: [{ name: "c", cluster: { server, ...trust, ...cluster } }],
      users: [{ name: "u", user }],
      contexts: [{ name: "east", context: { cluster: "c", user: "u" } }],
      "current-context": "east",
    }),
  );
  return { file, config: loadKubeconfig({ paths: [file], env: {}, home: "/" }) };
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

function open(config: ClusterConfig) {
  const clock = new VirtualClock("2026-01-01T00:00:00Z");
  const client = createClient(config, { clock });
  onTestFinished(() => client.close());
  return { client, clock };
}

async function problemOf(config: ClusterConfig): Promise<Problem> {
  const { client, clock } = open(config);
  const error = await rejectionOf(client.list(NAMESPACE));
  expect(error).toBeInstanceOf(StoreError);
  const problem = describeFailure(error, { config, nowMs: clock.now() });
  expect(String(error) + problem.message + problem.hint + JSON.stringify(error)).not.toContain(
    SECRET,
  );
  expect(problem.hint ?? "").toMatch(/^[A-Z].*\.$/);
  return problem;
}

async function serveTls(certificate: KeyedCertificate, more: object = {}): Promise<Loopback> {
  const { certPem: cert, keyPem: key } = certificate;
  return serve(
    (_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ metadata: { resourceVersion: "1" }, items: [] }));
    },
    { cert, key, ...more },
  );
}

async function closedPort(): Promise<number> {
  const server = createTcpServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe("a server that", () => {
  it("refuses connections is unreachable, and the sentence says whose it is", async () => {
    const port = await closedPort();
    const { file, config } = kubeconfig(`https://127.0.0.1:${port}`);
    const problem = await problemOf(config);
    expect(problem.code).toBe("ServerUnreachable");
    expect(problem.message).toBe(
      `cannot reach https://127.0.0.1:${port} (context "east" of ${file}): the connection was refused`,
    );
  });

  it("has no address is unknown", async () => {
    const { config } = kubeconfig("https://no-such-host.invalid:6443");
    expect((await problemOf(config)).code).toBe("ServerNameUnknown");
  });

  it("has an expired certificate is refused for that", async () => {
    const server = await serveTls(await issueCertificate(authority, { ...LOOPBACK, ...PAST }));
    expect((await problemOf(kubeconfig(server.url).config)).code).toBe("CertificateExpired");
  });

  it("has a certificate of the future is refused for that", async () => {
    const server = await serveTls(await issueCertificate(authority, { ...LOOPBACK, ...FUTURE }));
    expect((await problemOf(kubeconfig(server.url).config)).code).toBe("CertificateNotYetValid");
  });

  it("is signed by another authority, or by itself, is not trusted", async () => {
    const other = await createAuthority({ commonName: "other", ...LONG });
    const foreign = await serveTls(await issueCertificate(other, { ...LOOPBACK, ...LONG }));
    expect((await problemOf(kubeconfig(foreign.url).config)).code).toBe("CertificateUntrusted");
    const itself = await serveTls(other);
    expect((await problemOf(kubeconfig(itself.url).config)).code).toBe("CertificateUntrusted");
  });

  it("has a certificate for another name is refused, unless tls-server-name says that name", async () => {
    const names = { commonName: "s", dnsNames: ["kubernetes"], usage: "server" as const };
    const server = await serveTls(await issueCertificate(authority, { ...names, ...LONG }));
    expect((await problemOf(kubeconfig(server.url).config)).code).toBe("CertificateNameMismatch");
    const named = kubeconfig(server.url, { "tls-server-name": "kubernetes" });
    expect(await open(named.config).client.list(NAMESPACE)).toMatchObject({ items: [] });
  });

  it("is not checked at all with insecure-skip-tls-verify", async () => {
    const server = await serveTls(await issueCertificate(authority, { ...LOOPBACK, ...PAST }));
    const { config } = kubeconfig(server.url, {
      "certificate-authority-data": "",
      "insecure-skip-tls-verify": true,
    });
    expect(await open(config).client.list(NAMESPACE)).toMatchObject({ items: [] });
  });

  it("speaks HTTP on an https address, or TLS on an http one, is told apart", async () => {
    const plain = await serve((_, response) => response.end());
    const asTls = kubeconfig(plain.url.replace("http:", "https:"));
    expect((await problemOf(asTls.config)).code).toBe("ServerNotTls");
    const noise = createTcpServer((socket) => {
      socket.once("data", () => socket.end("SSH-2.0-OpenSSH_9\r\n"));
    });
    await new Promise<void>((resolve) => noise.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void noise.close());
    const { port } = noise.address() as AddressInfo;
    const asHttp = kubeconfig(`http://127.0.0.1:${port}`);
    expect((await problemOf(asHttp.config)).code).toBe("ServerNotKubernetes");
  });

  it.each([
    [401, "Unauthorized", "CredentialsRefused"],
    [403, "Forbidden", "PermissionDenied"],
    [500, "InternalError", "ServerFailed"],
    [422, "Invalid", "RequestRefused"],
  ])("answers %i %s gives %s", async (status, reason, code) => {
    const server = await serve((_, response) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ kind: "Status", reason, code: status, message: "no" }));
    });
    const { file, config } = kubeconfig(server.url);
    const { client } = open(config);
    const problem = describeFailure(await rejectionOf(client.list(NAMESPACE)), { config });
    expect(problem.code).toBe(code);
    expect(problem.message).toContain(`${server.url} (context "east" of ${file})`);
  });

  it("redirects, or answers with a page, is no Kubernetes API", async () => {
    const away = await serve((_, response) =>
      response.writeHead(302, { location: "/login" }).end(),
    );
    expect((await problemOf(kubeconfig(away.url).config)).code).toBe("ServerNotKubernetes");
    const page = await serve((_, response) => response.writeHead(400).end("<html>"));
    expect((await problemOf(kubeconfig(page.url).config)).code).toBe("ServerNotKubernetes");
  });

  it("says 401 to an expired client certificate makes us say so", async () => {
    const server = await serve((_, response) => response.writeHead(401).end());
    const me = await issueCertificate(authority, { commonName: "me", usage: "client", ...PAST });
    const user = {
      "client-certificate-data": base64(me.certPem),
      "client-key-data": base64(me.keyPem),
    };
    expect((await problemOf(kubeconfig(server.url, {}, user).config)).code).toBe(
      "ClientCertificateExpired",
    );
  });
});

describe("client certificates", () => {
  function me(name: string): Promise<KeyedCertificate> {
    return issueCertificate(authority, { commonName: name, usage: "client", ...LONG });
  }

  /** Answers with the common name of the client as resourceVersion. */
  async function serveWhoAmI(): Promise<Loopback> {
    const { certPem, keyPem } = await issueCertificate(authority, { ...LOOPBACK, ...LONG });
    const options = { cert: certPem, key: keyPem, ca: authority.certPem, requestCert: true };
    return serve((request, response) => {
      const peer = (request.socket as TLSSocket).getPeerCertificate();
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ metadata: { resourceVersion: peer.subject.CN }, items: [] }));
    }, options);
  }

  it("that rotate on disk are picked up within a minute, and a half-written pair does no harm", async () => {
    const directory = temporaryDirectory();
    const put = (suffix: string, text: string): void => {
      writeFileSync(join(directory, "part"), text);
      renameSync(join(directory, "part"), join(directory, suffix));
    };
    const [old, next] = await Promise.all([me("old"), me("next")]);
    put("crt", old.certPem);
    put("key", old.keyPem);
    const user = {
      "client-certificate": join(directory, "crt"),
      "client-key": join(directory, "key"),
    };
    const server = await serveWhoAmI();
    const { client, clock } = open(kubeconfig(server.url, {}, user).config);
    const whoAmI = async () => (await client.list(NAMESPACE)).resourceVersion;
    expect(await whoAmI()).toBe("old");
    put("crt", next.certPem);
    await clock.advance(60_000);
    expect(await whoAmI()).toBe("old");
    put("key", next.keyPem);
    await clock.advance(59_999);
    expect(await whoAmI()).toBe("old");
    await clock.advance(1);
    expect(await whoAmI()).toBe("next");
  });

  it("come from exec plugins as well", async () => {
    const { certPem, keyPem } = await me("from-plugin");
    const answer = JSON.stringify({
      apiVersion: "client.authentication.k8s.io/v1",
      kind: "ExecCredential",
      status: { clientCertificateData: certPem, clientKeyData: keyPem },
    });
    const exec = {
      apiVersion: "client.authentication.k8s.io/v1",
      command: process.execPath,
      args: ["-e", `process.stdout.write(${JSON.stringify(answer)})`],
      interactiveMode: "Never",
    };
    const server = await serveWhoAmI();
    const { client } = open(kubeconfig(server.url, {}, { exec }).config);
    expect((await client.list(NAMESPACE)).resourceVersion).toBe("from-plugin");
  });

  it("that do not fit their key, or are missing, are a problem with a name", async () => {
    const [one, two] = await Promise.all([me("one"), me("two")]);
    const mixed = {
      "client-certificate-data": base64(one.certPem),
      "client-key-data": base64(two.keyPem),
    };
    const url = "https://127.0.0.1:1";
    expect((await problemOf(kubeconfig(url, {}, mixed).config)).code).toBe(
      "ClientCertificateInvalid",
    );
    const missing = { "client-certificate": "/not/there", "client-key": "/not/there" };
    expect((await problemOf(kubeconfig(url, {}, missing).config)).message).toBe(
      "/not/there cannot be read",
    );
    const junk = { "certificate-authority-data": base64("-----BEGIN JUNK-----") };
    expect((await problemOf(kubeconfig(url, junk).config)).code).toBe("KubeconfigInvalid");
  });
});

describe("a proxy", () => {
  async function startProxy(answer: "connect" | "refuse") {
    const seen: { target: string | undefined; login: string | undefined }[] = [];
    const proxy = createHttpServer();
    proxy.on("connect", (request, socket) => {
      seen.push({ target: request.url, login: request.headers["proxy-authorization"] });
      if (answer === "refuse") {
        socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
        return;
      }
      const [host, port] = (request.url ?? "").split(":");
      const upstream = connectTcp(Number(port), host);
      upstream.on("error", () => socket.destroy());
      socket.on("error", () => upstream.destroy());
      upstream.on("connect", () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        upstream.pipe(socket).pipe(upstream);
      });
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      proxy.closeAllConnections();
      proxy.close();
    });
    return { port: (proxy.address() as AddressInfo).port, seen };
  }

  it("carries the connection, and TLS goes through it to the server", async () => {
    const server = await serveTls(await issueCertificate(authority, { ...LOOPBACK, ...LONG }));
    const { port, seen } = await startProxy("connect");
    const proxyUrl = `http://me:${SECRET}@127.0.0.1:${port}`;
    const { client } = open(kubeconfig(server.url, { "proxy-url": proxyUrl }).config);
    expect(await client.list(NAMESPACE)).toMatchObject({ items: [] });
    expect(seen).toEqual([
      { target: `127.0.0.1:${server.port}`, login: `Basic ${base64(`me:${SECRET}`)}` },
    ]);
  });

  it("that refuses is named, without its password", async () => {
    const { port } = await startProxy("refuse");
    const proxyUrl = `http://me:${SECRET}@127.0.0.1:${port}`;
    const problem = await problemOf(
      kubeconfig("https://127.0.0.1:1", { "proxy-url": proxyUrl }).config,
    );
    expect(problem.code).toBe("ProxyFailed");
    expect(problem.message).toContain(`through the proxy http://127.0.0.1:${port}:`);
  });
});

describe("describeFailure", () => {
  it("passes a problem on, however deep it lies", () => {
    const problem = new Problem("ExecPluginFailed", "x");
    const wrapped = new StoreError("Unauthorized", "y", {
      cause: new Error("z", { cause: problem }),
    });
    expect(describeFailure(wrapped)).toBe(problem);
  });

  it.each([
    ["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", "CredentialsRefused"],
    ["ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED", "ClientCertificateExpired"],
    ["UND_ERR_CONNECT_TIMEOUT", "ServerUnreachable"],
    ["EHOSTUNREACH", "ServerUnreachable"],
  ])("reads the code %s, which loopback cannot produce, as %s", (code, expected) => {
    const cause = Object.assign(new Error("raw"), { code });
    const error = new StoreError("Unreachable", "x", { cause: new AggregateError([cause]) });
    expect(describeFailure(error).code).toBe(expected);
  });

  it("names a port in use", async () => {
    const { port } = await serve(() => undefined);
    const second = createTcpServer();
    const error = await new Promise((resolve) => {
      second.on("error", resolve);
      second.listen(port, "127.0.0.1");
    });
    expect(describeFailure(error)).toMatchObject({
      code: "PortInUse",
      message: `127.0.0.1:${port} is already in use`,
    });
  });

  it("admits what it does not know", () => {
    expect(describeFailure(new RangeError("odd"))).toMatchObject({
      code: "Unexpected",
      message: "unexpected error: odd",
    });
    expect(describeFailure("odd").code).toBe("Unexpected");
  });

  it("ends on a chain of causes that is a ring", () => {
    const ring = new Error("a");
    ring.cause = ring;
    expect(describeFailure(ring).code).toBe("Unexpected");
  });
});
