// Dashboard: a request in, why it is turned away out, or nothing. Who may look: on loopback whoever is on the machine, through a
// name of the machine; everywhere else who has the token. Nobody may change anything.

import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

export interface Refusal {
  readonly status: number;
  readonly sentence: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Asked {
  readonly method: string | undefined;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

export interface Gate {
  /** Undefined: it may pass. */
  refuse(asked: Asked): Refusal | undefined;
  /** The cookie for whoever shows this token; undefined when none is demanded, or it is another. */
  admit(token: string): string | undefined;
}

const COOKIE = "isthmus-dashboard";
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/;

/** Whoever is bound to it can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

export function createGate(options: {
  /** As it is bound, without brackets. */
  readonly host: string;
  readonly port: () => number;
  readonly token: string | undefined;
}): Gate {
  const { host, port, token } = options;
  const cookie = token === undefined ? undefined : digest(`cookie ${token}`).toString("base64url");
  /** Any port: somebody may have forwarded another one to ours, and a name is what gives a page away. */
  const isOwn = (name: string | undefined): boolean => {
    const [, v6, v4 = ""] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(name ?? "") ?? [];
    return isLoopback((v6 ?? v4).toLowerCase());
  };

  function isKnown({ authorization, cookie: sent = "" }: IncomingHttpHeaders): boolean {
    if (token === undefined || cookie === undefined) return true;
    const [, bearer] = /^bearer (.+)$/i.exec(authorization ?? "") ?? [];
    if (bearer !== undefined) return isSame(bearer, token);
    const crumbs = sent.split(";").map((one) => one.trim());
    return crumbs.some((one) => isSame(one, `${COOKIE}=${cookie}`));
  }

  return {
    refuse({ method, path, headers }) {
      if (method !== "GET" && method !== "HEAD") {
        const sentence = "The dashboard only shows: GET and HEAD are answered, nothing else.";
        return { status: 405, sentence, headers: { allow: "GET, HEAD" } };
      }
      // A page elsewhere can give its own name the address of this machine, and would then be let in as ours.
      if (isLoopback(host) && !isOwn(headers.host)) {
        const sentence = `The dashboard listens on this machine only: open it as http://localhost:${port()}/.`;
        return { status: 421, sentence };
      }
      // Pages elsewhere cannot read the answer, but could keep all places taken.
      const site = headers["sec-fetch-site"];
      if (path.startsWith("/api/") && (site === "cross-site" || site === "same-site")) {
        const sentence = "Only the dashboard's own page is answered here.";
        return { status: 403, sentence };
      }
      if (isKnown(headers)) return undefined;
      const sentence =
        'A token is needed: open the address that was printed when the dashboard started, or send "Authorization: Bearer <token>".';
      return { status: 401, sentence, headers: { "www-authenticate": "Bearer" } };
    },
    admit(shown) {
      if (token === undefined || cookie === undefined || !isSame(shown, token)) return undefined;
      return `${COOKIE}=${cookie}; Path=/; HttpOnly; SameSite=Strict`;
    },
  };
}

/** Takes as long for a wrong token as for the right one, whatever their lengths. */
function isSame(a: string, b: string): boolean {
  return timingSafeEqual(digest(a), digest(b));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
