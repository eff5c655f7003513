// Certificates, read back by the TLS stack that will use them.

import { X509Certificate } from "node:crypto";
import { connect, createServer, type TLSSocket } from "node:tls";
import { expect, test } from "vitest";
import {
  type CertificateOptions,
  createAuthority,
  issueCertificate,
  type KeyedCertificate,
} from "./certificate.ts";

const DAY_MS = 86_400_000;
const valid = {
  notBefore: new Date(Date.now() - DAY_MS),
  notAfter: new Date(Date.now() + DAY_MS),
};

function anAuthority(): Promise<KeyedCertificate> {
  return createAuthority({ commonName: "a test authority", ...valid });
}

function aServer(
  authority: KeyedCertificate,
  options: Partial<CertificateOptions> = {},
): Promise<KeyedCertificate> {
  return issueCertificate(authority, {
    commonName: "a server",
    dnsNames: ["localhost"],
    ipAddresses: ["127.0.0.1", "::1"],
    usage: "server",
    ...valid,
    ...options,
  });
}

interface Handshake {
  readonly authority: KeyedCertificate;
  readonly server: KeyedCertificate;
  readonly trusted?: KeyedCertificate;
  readonly client?: KeyedCertificate;
  readonly host?: string;
}

/** What the server learned of its client, or a rejection with the client's reason to refuse the server. */
async function shakeHands({
  authority,
  server,
  trusted = authority,
  client,
  host = "127.0.0.1",
}: Handshake): Promise<{ peer?: { CN: string; O?: string | string[] }; refusal?: string }> {
  const listener = createServer({
    cert: server.certPem,
    key: server.keyPem,
    ca: authority.certPem,
    requestCert: client !== undefined,
    rejectUnauthorized: false,
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const address = listener.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  let socket: TLSSocket | undefined;
  try {
    return await new Promise((resolve, reject) => {
      listener.on("tlsClientError", reject);
      listener.on("secureConnection", (accepted) => {
        accepted.on("error", reject);
        const refusal = client && accepted.authorizationError;
        accepted.end(JSON.stringify({ peer: accepted.getPeerCertificate()?.subject, refusal }));
      });
      socket = connect({
        host: "127.0.0.1",
        port: address.port,
        ca: trusted.certPem,
        ...(client ? { cert: client.certPem, key: client.keyPem } : {}),
        ...(host === "127.0.0.1" ? {} : { servername: host }),
      });
      socket.on("error", reject);
      socket.on("data", (data) => resolve(JSON.parse(data.toString())));
    });
  } finally {
    socket?.destroy();
    await new Promise((resolve) => listener.close(resolve));
  }
}

test("a client that trusts the authority accepts the server by address and by name", async () => {
  const authority = await anAuthority();
  const server = await aServer(authority);
  await expect(shakeHands({ authority, server })).resolves.toEqual({});
  await expect(shakeHands({ authority, server, host: "localhost" })).resolves.toEqual({});
});

test("an expired server certificate is refused", async () => {
  const authority = await anAuthority();
  const server = await aServer(authority, {
    notBefore: new Date(Date.now() - 3 * DAY_MS),
    notAfter: new Date(Date.now() - 2 * DAY_MS),
  });
  await expect(shakeHands({ authority, server })).rejects.toMatchObject({
    code: "CERT_HAS_EXPIRED",
  });
});

test("a server certificate from the future is refused", async () => {
  const authority = await anAuthority();
  const server = await aServer(authority, {
    notBefore: new Date(Date.now() + DAY_MS / 2),
    notAfter: new Date(Date.now() + DAY_MS),
  });
  await expect(shakeHands({ authority, server })).rejects.toMatchObject({
    code: "CERT_NOT_YET_VALID",
  });
});

test("a server under another name is refused", async () => {
  const authority = await anAuthority();
  const server = await aServer(authority);
  await expect(shakeHands({ authority, server, host: "elsewhere.test" })).rejects.toMatchObject({
    code: "ERR_TLS_CERT_ALTNAME_INVALID",
  });
});

test("an authority of the same name but another key is not trusted", async () => {
  const authority = await anAuthority();
  const server = await aServer(authority);
  await expect(
    shakeHands({ authority, server, trusted: await anAuthority() }),
  ).rejects.toMatchObject({ code: "SELF_SIGNED_CERT_IN_CHAIN" });
});

test("a client certificate carries the user as CN and every group as O", async () => {
  const authority = await anAuthority();
  const server = await aServer(authority);
  const client = await issueCertificate(authority, {
    commonName: "ann",
    organizations: ["system:masters", "people"],
    usage: "client",
    ...valid,
  });
  const { peer } = await shakeHands({ authority, server, client });
  expect(peer).toMatchObject({ CN: "ann", O: ["system:masters", "people"] });
});

test("a certificate for servers only is refused as a client's, one for both is not", async () => {
  const authority = await anAuthority();
  const server = await aServer(authority);
  await expect(
    shakeHands({ authority, server, client: await aServer(authority) }),
  ).resolves.toMatchObject({ refusal: "INVALID_PURPOSE" });
  const client = await aServer(authority, { usage: "both" });
  const answer = await shakeHands({ authority, server, client });
  expect(answer.peer).toMatchObject({ CN: "a server" });
  expect(answer.refusal).toBeNull();
});

test("the authority may sign, what it issues may not", async () => {
  const authority = await anAuthority();
  const server = await aServer(authority);
  expect(new X509Certificate(authority.certPem).ca).toBe(true);
  const issued = new X509Certificate(server.certPem);
  expect(issued.ca).toBe(false);
  expect(issued.checkIssued(new X509Certificate(authority.certPem))).toBe(true);
});
