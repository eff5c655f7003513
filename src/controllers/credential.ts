// Keep: the Secret with this cluster's credential for the hub in, a token that is good out: renewed once a day, written back,
// and read again when the hub refuses it, because somebody may have joined the cluster anew.
//
//   held ── a day old ──▶ asked for anew ──▶ held, written back
//     └──── refused (401) ──▶ Secret read again: another token ──▶ held
//                                            another hub or id ──▶ moved: this agent is the wrong one

import { SECRET, type Secret } from "../api/builtin.ts";
import {
  type HubCredential,
  HUB_SECRET,
  parseCredential,
  renderCredential,
} from "../hub/credential.ts";
import { type Clock, type Random, sleep } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/store.ts";
import { backoffMs } from "../runtime/backoff.ts";
import { runBounded } from "../runtime/bounded.ts";
import { describe } from "./member.ts";

export interface CredentialOptions {
  /** The cluster's own. */
  readonly store: Store;
  /** As it was read at the start, finished. */
  readonly credential: HubCredential & { readonly token: string };
  /** Asks the hub for a new token, as the cluster that holds this one. */
  readonly requestToken: (signal: AbortSignal) => Promise<string>;
  /** The Secret now says another hub or another id: everything has to be started anew. */
  readonly onMoved: () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface CredentialKeeper {
  current(): string;
  /** The hub refused this token. True when there is another now. */
  refresh(refused: string): Promise<boolean>;
  stop(): Promise<void>;
}

const DAY_MS = 24 * 3_600_000;
/** Nothing in it says when it was made. */
const UNKNOWN_AGE_MS = 3_600_000;
const BACKOFF = { baseMs: 60_000, capMs: 3_600_000 };
const REQUEST_BOUND_MS = 30_000;
/** A hub that refuses everything is asked by many: the Secret need not be read for each. */
const REREAD_MS = 5_000;

export function keepCredential(options: CredentialOptions): CredentialKeeper {
  const { store, clock, random, log } = options;
  const stopping = new AbortController();
  let token = options.credential.token;
  /** What of ours the Secret may hold: a write that failed may have got there, and one that did not is made up for. */
  const ours = new Set([token]);
  let isSaved = true;
  let renewedAtMs = -Infinity;
  let rereadAtMs = -Infinity;
  let rereading: Promise<boolean> | undefined;

  async function keep(): Promise<void> {
    await pause(untilDueMs(token, clock.now(), random));
    for (let failures = 0; !stopping.signal.aborted; ) {
      try {
        await renew();
        failures = 0;
        log.info("credential for the hub renewed");
      } catch (error) {
        if (stopping.signal.aborted) return;
        failures += 1;
        log.warn("credential for the hub not renewed yet", { error: describe(error) });
      }
      const waitMs =
        failures === 0
          ? untilDueMs(token, clock.now(), random)
          : backoffMs(BACKOFF, failures, random);
      // A token that claims to be old however new it is must not make this a loop.
      await pause(Math.max(waitMs, BACKOFF.baseMs));
    }
  }

  async function renew(): Promise<void> {
    // In use before it is written: who restarts in between finds the old one, which is good for weeks.
    if (isSaved || clock.monotonic() - renewedAtMs >= DAY_MS) {
      token = await bounded(options.requestToken);
      ours.add(token);
      isSaved = false;
      renewedAtMs = clock.monotonic();
    }
    const secret = await readSecret();
    const written = secret === undefined ? undefined : read(secret);
    // Else it belongs to whoever joined the cluster anew.
    if (secret !== undefined && written?.token !== undefined && ours.has(written.token)) {
      const next = renderCredential({ ...written, token }, secret);
      await bounded((signal) => store.replace(SECRET, next, { signal }));
    }
    isSaved = true;
    ours.clear();
    ours.add(token);
  }

  /** Undefined also when it does not belong to us any more. */
  function read(secret: Secret): HubCredential | undefined {
    const parsed = parseCredential(secret);
    if (!parsed.ok) return undefined;
    const { cluster, server, ca } = options.credential;
    const { value } = parsed;
    if (value.cluster === cluster && value.server === server && value.ca === ca) return value;
    options.onMoved();
    return undefined;
  }

  async function reread(refused: string): Promise<boolean> {
    rereadAtMs = clock.monotonic();
    try {
      const secret = await readSecret();
      const found = secret === undefined ? undefined : read(secret)?.token;
      if (found !== undefined && found !== refused) token = found;
    } catch (error) {
      log.warn("credential for the hub cannot be read again", { error: describe(error) });
    }
    return token !== refused;
  }

  function readSecret(): Promise<Secret | undefined> {
    return bounded((signal) => store.get(SECRET, HUB_SECRET, { signal }));
  }

  function bounded<X>(ask: (signal: AbortSignal) => Promise<X>): Promise<X> {
    return runBounded({ clock, boundMs: REQUEST_BOUND_MS, stop: stopping.signal }, ask);
  }

  async function pause(ms: number): Promise<void> {
    await sleep(clock, ms, stopping.signal).catch(() => undefined);
  }

  const keeping = keep();
  return {
    current: () => token,
    async refresh(refused) {
      if (token !== refused) return true;
      if (rereading === undefined && clock.monotonic() - rereadAtMs < REREAD_MS) return false;
      rereading ??= reread(refused).finally(() => {
        rereading = undefined;
      });
      return rereading;
    },
    async stop() {
      stopping.abort(new Error("stopped"));
      await keeping;
      await rereading;
    },
  };
}

/** Up to a fifth early, so that a fleet that joined together does not renew together. */
function untilDueMs(token: string, nowMs: number, random: Random): number {
  const madeAtMs = readMadeAt(token);
  if (madeAtMs === undefined) return UNKNOWN_AGE_MS * (0.8 + 0.2 * random());
  // Clocks differ: a token from the future is one that was made now.
  const ageMs = Math.max(0, nowMs - madeAtMs);
  return Math.max(0, DAY_MS * (0.8 + 0.2 * random()) - ageMs);
}

/** When the hub made it, as it says itself; nothing is trusted by it. */
function readMadeAt(token: string): number | undefined {
  try {
    const [, payload = ""] = token.split(".");
    const { iat } = JSON.parse(Buffer.from(payload, "base64url").toString("utf8")) as {
      readonly iat?: unknown;
    };
    return typeof iat === "number" && Number.isFinite(iat) ? iat * 1_000 : undefined;
  } catch {
    return undefined;
  }
}
