// Edge, authentication: a request in, whether it proves who it is out. A bearer token or a client certificate of our own
// authority. Never says which part of a credential was wrong.

import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { TLSSocket } from "node:tls";

/** "none": nothing was offered; "wrong": something was, and it does not hold. */
export type Credential = "valid" | "none" | "wrong";

export function createAuthenticator(token: string): (request: IncomingMessage) => Credential {
  const expected = digest(token);
  return (request) => {
    if (hasClientCertificate(request)) return "valid";
    const offered = request.headers.authorization;
    if (offered === undefined) return "none";
    const bearer = /^bearer +(\S+)$/i.exec(offered)?.[1] ?? "";
    // Digests have one length, and comparing them takes the same time wherever they differ.
    return timingSafeEqual(digest(bearer), expected) ? "valid" : "wrong";
  };
}

function hasClientCertificate(request: IncomingMessage): boolean {
  const { socket } = request;
  // `authorized` alone is not enough: Node sets it on resumed TLS 1.3 sessions that never showed a certificate.
  return (
    socket instanceof TLSSocket &&
    socket.authorized &&
    socket.getPeerX509Certificate() !== undefined
  );
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
