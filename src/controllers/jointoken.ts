// Join tokens on the hub: made, listed and taken away by its administrator. Limits in, a ticket to hand out; what is in the
// API server is the record of it, never the secret.

import { JOIN_TOKEN, type JoinToken } from "../api/jointoken.ts";
import { HUB_NAMESPACE } from "../api/names.ts";
import { Problem } from "../api/problem.ts";
import {
  renderJoinProbes,
  renderJoinToken,
  renderJoinTokenRemoval,
} from "../hub/manifest/jointoken.ts";
import { resourceOf } from "../hub/manifest/resource.ts";
import { renderJoinTokenRequest, type TokenOrder } from "../hub/manifest/tokenrequest.ts";
import { type Clock, formatTime, parseTime, sleep } from "../ports/clock.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import { placeObjects } from "./place.ts";
import { removeInOrder } from "./remove.ts";
import { listAll } from "./list.ts";

export interface JoinTokenHub {
  readonly store: Store;
  readonly requestToken: (order: TokenOrder, signal: AbortSignal) => Promise<string>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface NewJoinToken {
  readonly name: string;
  readonly uses: number;
  readonly ttlMs: number;
  /** The hub, as the holder of the token sees it. */
  readonly connect: (token: string) => Store;
}

/** Policies come into force a moment after they were written. */
const PATIENCE_MS = 15_000;
const PAUSE_MS = 100;

/** Gives back the secret. */
export async function createJoinToken(hub: JoinTokenHub, wanted: NewJoinToken): Promise<string> {
  const { store, clock, signal } = hub;
  const { name, uses, ttlMs } = wanted;
  const expiresAt = formatTime(clock.now() + ttlMs);
  const manifests = renderJoinToken({ name, uses, expiresAt }).map((object) => ({
    resource: resourceOf(object),
    object,
  }));
  try {
    await placeObjects(store, manifests, signal);
    const order = renderJoinTokenRequest(name, Math.ceil(ttlMs / 1_000));
    const token = await hub.requestToken(order, signal);
    await awaitConfined(hub, name, wanted.connect(token));
    return token;
  } catch (error) {
    await removeInOrder(store, renderJoinTokenRemoval(name), signal).catch(() => []);
    throw error;
  }
}

/** Not handed out before it is refused what it may not do. */
async function awaitConfined(
  { clock, signal }: JoinTokenHub,
  name: string,
  holder: Store,
): Promise<void> {
  const deadline = clock.monotonic() + PATIENCE_MS;
  for (const probe of renderJoinProbes(name)) {
    for (;;) {
      try {
        await holder.create(resourceOf(probe), probe, { dryRun: true, signal });
      } catch (error) {
        if (isStoreError(error, "Forbidden", "Invalid") && hasCauses(error)) break;
        // Its permissions are not in force yet either.
        if (!isStoreError(error, "Forbidden", "Unauthorized")) throw error;
      }
      if (clock.monotonic() >= deadline) {
        const message = "the hub does not hold its join tokens to what they may do";
        throw new Problem("HubUnsupported", message, {
          hint: "Run isthmus hub init again, and see whether ValidatingAdmissionPolicies are in force.",
        });
      }
      await sleep(clock, PAUSE_MS, signal);
    }
  }
}

function hasCauses(error: unknown): boolean {
  const { body } = error as { readonly body?: { readonly details?: { causes?: unknown } } };
  const causes = body?.details?.causes;
  return Array.isArray(causes) && causes.length > 0;
}

export async function listJoinTokens(
  store: Store,
  signal: AbortSignal,
): Promise<readonly JoinToken[]> {
  return listAll(store, JOIN_TOKEN, { namespace: HUB_NAMESPACE, signal });
}

export function isExpired(token: JoinToken, nowMs: number): boolean {
  return (parseTime(token.spec.expiresAt) ?? 0) <= nowMs;
}

/** False when there was none of that name. The credential ends at once. */
export async function deleteJoinToken(
  store: Store,
  name: string,
  signal: AbortSignal,
): Promise<boolean> {
  const removed = await removeInOrder(store, renderJoinTokenRemoval(name), signal);
  return removed.length > 0;
}

/** Names of those whose time was over. */
export async function sweepJoinTokens(hub: JoinTokenHub): Promise<readonly string[]> {
  const { store, clock, signal } = hub;
  const expired = (await listJoinTokens(store, signal)).filter((token) =>
    isExpired(token, clock.now()),
  );
  const names = expired.flatMap(({ metadata }) => metadata.name ?? []);
  for (const name of names) await deleteJoinToken(store, name, signal);
  return names;
}
