// Fault tests: the audit log of an API server in, who asked it for what out. Only ServiceAccounts are on record there.

import { existsSync, readFileSync } from "node:fs";

export interface Asked {
  readonly atMs: number;
  readonly user: string;
  /** Names the token that was used: two tokens of one ServiceAccount differ in it. */
  readonly credentialId: string;
  readonly verb: string;
  /** As in "isthmus.dev/serviceshares" or "services/status". */
  readonly resource: string;
  readonly code: number;
  readonly uri: string;
}

interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly requestReceivedTimestamp: string;
  readonly user: {
    readonly username: string;
    readonly extra?: Readonly<Record<string, readonly string[]>>;
  };
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
  };
  readonly responseStatus?: { readonly code?: number };
}

const CREDENTIAL_ID = "authentication.kubernetes.io/credential-id";
const WRITES: ReadonlySet<string> = new Set(["create", "update", "patch", "delete"]);

/** In the order in which they were answered; a watch counts when it is opened. */
export function readAudit(auditPath: string): readonly Asked[] {
  if (!existsSync(auditPath)) return [];
  const text = readFileSync(auditPath, "utf8");
  const events = text
    .slice(0, text.lastIndexOf("\n") + 1)
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as AuditEvent);
  return events
    .filter(({ verb, stage }) => (verb === "watch") === (stage === "ResponseStarted"))
    .map(({ verb, requestURI, requestReceivedTimestamp, user, objectRef, responseStatus }) => ({
      atMs: Date.parse(requestReceivedTimestamp),
      user: user.username,
      credentialId: user.extra?.[CREDENTIAL_ID]?.[0] ?? "",
      verb,
      resource: [objectRef?.apiGroup, objectRef?.resource, objectRef?.subresource]
        .filter((part) => part !== undefined && part !== "")
        .join("/"),
      code: responseStatus?.code ?? 0,
      uri: requestURI,
    }));
}

/** It was carried out: what a suspension caught half sent arrives after it, and is refused by its preconditions. */
export function isWrite({ verb, code }: Asked): boolean {
  return WRITES.has(verb) && code < 300;
}

/** As audit logs name it. */
export function credentialIdOf(token: string): string {
  const [, payload = ""] = token.split(".");
  const { jti } = JSON.parse(Buffer.from(payload, "base64url").toString("utf8")) as {
    readonly jti: string;
  };
  return `JTI=${jti}`;
}
