// Join token: what a cluster needs to know to join a hub in, one word for a command line out, and back. Pure. The word is
// a secret while the token lives; nothing here puts it, or a part of it, into a sentence.

import type { Parsed } from "../api/names.ts";

export interface Ticket {
  /** The hub's address, as members reach it. */
  readonly server: string;
  /** PEM of the authority that signed the hub's certificate; absent: one that this machine trusts anyway. */
  readonly ca?: string;
  /** Of the ServiceAccount `join-<name>`. */
  readonly token: string;
  /** Of the JoinToken. */
  readonly name: string;
}

const PREFIX = "isthmus";
const VERSION = "1";
/** Far more than an address, a bundle of certificates and a token need. */
const MAX_LENGTH = 262_144;

export function encodeTicket(ticket: Ticket): string {
  const { server, ca, token, name } = ticket;
  const json = JSON.stringify({ server, ca, token, name });
  return `${PREFIX}${VERSION}.${Buffer.from(json).toString("base64url")}`;
}

export function parseTicket(text: string): Parsed<Ticket> {
  // A terminal or a mail may have broken the line.
  const word = text.replaceAll(/\s+/g, "");
  const [, version, body] = /^isthmus(\d+)\.([-_A-Za-z0-9]*)$/.exec(word) ?? [];
  if (version === undefined || body === undefined || word.length > MAX_LENGTH) {
    return refuse(
      `It is not a join token: one begins with "${PREFIX}${VERSION}." and is printed by "isthmus hub token".`,
    );
  }
  if (version !== VERSION) {
    return refuse(`It is of version ${version}, and this Isthmus reads version ${VERSION} only.`);
  }
  const content = readJson(Buffer.from(body, "base64url").toString("utf8"));
  const ticket = content === undefined ? undefined : readContent(content);
  return ticket === undefined
    ? refuse("It is damaged or cut off: copy the whole of it.")
    : { ok: true, value: ticket };
}

function refuse(problem: string): Parsed<Ticket> {
  return { ok: false, problem };
}

function readJson(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null
      ? (value as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined;
  }
}

function readContent(content: Readonly<Record<string, unknown>>): Ticket | undefined {
  const { server, ca, token, name } = content;
  if (typeof server !== "string" || !isServer(server)) return undefined;
  // What a header can carry.
  if (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token)) return undefined;
  if (typeof name !== "string" || !/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)) {
    return undefined;
  }
  if (ca === undefined) return { server, token, name };
  return typeof ca === "string" && ca.includes("-----BEGIN ")
    ? { server, ca, token, name }
    : undefined;
}

/** Without TLS everybody on the way could read the credentials of a whole cluster. */
export function isServer(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return protocol === "https:" && [username, password, search, hash].every((part) => part === "");
}

/** Whether only the machine itself can reach it: other clusters cannot join there. */
export function isLoopbackServer(server: string): boolean {
  const { hostname } = new URL(server);
  return /^(localhost|.*\.localhost|127\..*|\[::1\])$/.test(hostname);
}
