// Credentials: a token file that someone else rotates → the bearer token of now. Never writes, never caches for long.

import { readFile } from "node:fs/promises";
import { Problem } from "../api/problem.ts";
import type { Clock } from "../ports/clock.ts";
import { type Credential, type CredentialSource, isToken } from "./credential.ts";

/** Projected service account tokens are renewed long before they expire, so a minute of delay is safe. */
const REREAD_MS = 60_000;

export function createTokenFile(file: string, clock: Clock): CredentialSource {
  let held: Credential | undefined;
  let readAt = Number.NEGATIVE_INFINITY;

  async function read(): Promise<Credential> {
    readAt = clock.monotonic();
    try {
      const token = (await readFile(file, "utf8")).trim();
      if (token === "")
        throw new Problem("CredentialFileUnreadable", `token file ${file} is empty`);
      if (!isToken(token)) {
        const message = `token file ${file} holds no token: it must be one line of plain text`;
        throw new Problem("CredentialFileUnreadable", message);
      }
      const authorization = `Bearer ${token}`;
      if (held?.authorization !== authorization) held = { authorization };
      return held;
    } catch (cause) {
      // Half-way through a rotation the old token is still good; the server decides.
      if (held !== undefined) return held;
      // Not to be held against the next request: the file may appear.
      readAt = Number.NEGATIVE_INFINITY;
      if (cause instanceof Problem) throw cause;
      throw new Problem("CredentialFileUnreadable", `token file ${file} cannot be read`, {
        hint: "Check the path in the kubeconfig and the file's permissions.",
        cause,
      });
    }
  }

  return {
    current() {
      if (held !== undefined && clock.monotonic() - readAt < REREAD_MS) return held;
      return read();
    },
    async refresh(refused) {
      const now = held === refused ? await read() : held;
      return now !== undefined && now !== refused;
    },
  };
}
