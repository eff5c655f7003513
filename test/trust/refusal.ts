// Trust suite: an attempt in, who refused it out. A refusal by somebody else than the guard under test, or for want of an
// object, would hide that the guard does nothing.

import { isStoreError } from "../../src/ports/store.ts";

/** The API server's own authorization. */
export const RBAC = "RBAC";
/** What the CRD says of the object. */
export const SCHEMA = "schema";

/** Nobody refused it: it was made before. */
export const THERE = "there already";

export interface Refusal {
  /** One of our policies by name, RBAC, SCHEMA, THERE, or what else happened. */
  readonly by: string;
  readonly says: string;
}

export async function refuserOf(attempt: Promise<unknown>): Promise<string> {
  return (await refusalOf(attempt)).by;
}

/** Each of them once. */
export async function refusersOf(
  attempts: readonly Promise<unknown>[],
): Promise<readonly string[]> {
  return [...new Set(await Promise.all(attempts.map(refuserOf)))];
}

/** For what has to be in force before a test begins. */
export async function requireRefuser(attempt: Promise<unknown>, refuser: string): Promise<void> {
  const by = await refuserOf(attempt);
  if (by !== refuser) throw new Error(`refused by ${by} instead of ${refuser}`);
}

/** Takes both kinds of answer: of the store's verbs, which throw, and of raw requests, which do not. */
export async function refusalOf(attempt: Promise<unknown>): Promise<Refusal> {
  const { status, says } = await answerOf(attempt);
  const [, policy] = /ValidatingAdmissionPolicy '([^']+)'/.exec(says) ?? [];
  if (policy !== undefined && (status === 403 || status === 422)) return { by: policy, says };
  if (status === 403 && / cannot \S+ resource /.test(says)) return { by: RBAC, says };
  if (status === 409) return { by: THERE, says };
  if (status === 422) return { by: SCHEMA, says };
  return { by: status === 0 ? "nobody" : `${status} ${says}`, says };
}

async function answerOf(attempt: Promise<unknown>): Promise<{ status: number; says: string }> {
  try {
    const answer = await attempt;
    const { status, body } = (answer ?? {}) as {
      readonly status?: unknown;
      readonly body?: unknown;
    };
    return typeof status === "number" && status >= 400
      ? { status, says: saysOf(body) }
      : { status: 0, says: "" };
  } catch (error) {
    if (!isStoreError(error)) throw error;
    return { status: error.status, says: saysOf(error.body) || error.message };
  }
}

function saysOf(body: unknown): string {
  return (body as { readonly message?: string } | undefined)?.message ?? "";
}
