// Leader election on a Lease: of all processes that run this, one at a time works, the others stand by. Knows nothing
// of the work.
//
//            ┌────────────────────────── lost: another holds it, it is gone, or no renewal for 8 s ◄┐
//            ▼                                                                                      │
//   ┌─ standing by ── free (empty, absent, unchanged for 10 s) and our write won ──► leading ── every 3 s ─► renewed
//   │        ▲   every 2 s  │                                                       │
//   │        └── held ◄─────┘                                       stopped, or the work ended
//   │                                                                               ▼
//   └── stopped ──► end ◄───────────────────────────────── released, unless the work does not end
//
// No clocks are compared. A standby counts from when *it* saw the Lease change, which is after the write; the leader
// trusts itself from the *start* of that write, and two seconds less. So the leader is out before anybody else is in,
// even when it was suspended in between: what asks `mayWrite` at the last moment (the client's fence) writes nothing.
// An administrator who empties the holder of a live leader's Lease gives that safety away for up to 8 s.

import type { Lease } from "../api/builtin.ts";
import { holderOf, type Sight, seeLease } from "../core/election.ts";
import { type Clock, type Random, sleep } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import { backoffMs, retryAfterMs } from "./backoff.ts";
import { runBounded } from "./bounded.ts";
import {
  createLeaseKeeper,
  createTrust,
  type Hold,
  type LeaseKeeper,
  type Trust,
} from "./lease.ts";

/** One term. What a term starts asks that term only: once lost, `mayWrite` of it stays false for good. */
export interface Leadership {
  /** Aborts on loss and on stop. The work then ends, its writes first: after a stop another may lead at once. */
  readonly signal: AbortSignal;
  /** To be asked at the last moment before each write: see `mayWrite` of the client. */
  readonly mayWrite: () => boolean;
}

export interface ElectionTiming {
  /** Unchanged for that long, a Lease may be taken. */
  readonly durationMs: number;
  /** How long the leader trusts itself, from the start of its last successful renewal. */
  readonly trustMs: number;
  readonly renewMs: number;
  readonly pollMs: number;
  /** Of one request. */
  readonly requestMs: number;
  /** How long the work may take to end when told to. */
  readonly endMs: number;
}

export interface ElectionOptions {
  /** Never a fenced one: a process that lost the leadership has to write the Lease to compete again. */
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly lease: { readonly namespace: string; readonly name: string };
  /** Different in every process. */
  readonly identity: string;
  readonly timing?: Partial<ElectionTiming>;
  /** Whenever it was seen that another one holds the Lease. */
  readonly onStandingBy?: () => void;
}

const TIMING: ElectionTiming = {
  durationMs: 10_000,
  trustMs: 8_000,
  renewMs: 3_000,
  pollMs: 2_000,
  requestMs: 2_500,
  endMs: 5_000,
};
/** Within the leader's trust there is room for several. */
const RENEW_AGAIN = { baseMs: 250, capMs: 1_000 };
const POLL_AGAIN = { baseMs: 500, capMs: 5_000 };
const RELEASE_ATTEMPTS = 3;

interface Candidate extends Omit<ElectionOptions, "timing"> {
  readonly timing: ElectionTiming;
  readonly keeper: LeaseKeeper;
}

/**
 * Competes until `signal` aborts, and calls `run` once per term. Resolves after the Lease is released. When `run` ends
 * by itself, well or not, the Lease is released as well and this ends the same way.
 */
export async function runElected(
  options: ElectionOptions,
  run: (leadership: Leadership) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const timing = { ...TIMING, ...options.timing };
  const { lease: ref, store, clock, identity } = options;
  const { durationMs } = timing;
  const keeper = createLeaseKeeper({ store, clock, ref, identity, durationMs });
  const log = options.log.with({ lease: `${ref.namespace}/${ref.name}`, identity });
  const candidate = { ...options, log, timing, keeper };
  for (;;) {
    const hold = await compete(candidate, signal);
    if (hold === undefined) return;
    const end = await lead(candidate, { hold, run, stop: signal });
    if (end === "lost") continue;
    if (end.failure !== undefined) throw end.failure.error;
    return;
  }
}

/** Resolves when the Lease is ours; with nothing when stopped. */
async function compete(candidate: Candidate, stop: AbortSignal): Promise<Hold | undefined> {
  const { clock, random, log, keeper, timing } = candidate;
  const limits = { stop, boundMs: timing.requestMs };
  let sight: Sight | undefined;
  let failures = 0;
  while (!stop.aborted) {
    let pauseMs = spread(timing.pollMs, random);
    try {
      const lease = await keeper.read(limits);
      const isOurs = keeper.findOwn(lease) !== undefined;
      const nowMs = clock.monotonic();
      const { durationMs } = timing;
      tellHolder(log, sight?.lease, lease);
      sight = isOurs ? { lease, freeAtMs: nowMs } : seeLease(sight, lease, { nowMs, durationMs });
      if (sight.freeAtMs <= nowMs) return await keeper.take(lease, limits);
      candidate.onStandingBy?.();
      failures = 0;
      pauseMs = Math.min(pauseMs, Math.ceil(sight.freeAtMs - nowMs));
    } catch (error) {
      if (stop.aborted) return undefined;
      // Somebody was quicker. Anything else may be a write of ours that got there: the next read tells.
      if (!isStoreError(error, "Conflict", "AlreadyExists")) {
        failures += 1;
        if (failures === 1) log.warn("lease cannot be reached", { error });
        pauseMs = backoffMs(POLL_AGAIN, failures, random);
        pauseMs = Math.max(pauseMs, Math.min(retryAfterMs(error, random), POLL_AGAIN.capMs));
      }
    }
    await sleep(clock, pauseMs, stop).catch(ignore);
  }
  return undefined;
}

interface Term {
  readonly hold: Hold;
  readonly run: (leadership: Leadership) => Promise<void>;
  readonly stop: AbortSignal;
}

interface Outcome {
  readonly failure?: { readonly error: unknown };
}

async function lead(candidate: Candidate, { hold, run, stop }: Term): Promise<Outcome | "lost"> {
  const { clock, log, timing } = candidate;
  const trust = createTrust(clock, timing.trustMs, hold);
  const office = new AbortController();
  const leave = new AbortController();
  const onStop = (): void => leave.abort();
  stop.addEventListener("abort", onStop, { once: true });
  if (stop.aborted) onStop();
  log.info("leading", { transitions: hold.lease.spec?.leaseTransitions });
  let outcome: Outcome | undefined;
  const work = start(run, { signal: office.signal, mayWrite: trust.isValid }, (how) => {
    outcome = how;
    leave.abort();
  });
  const kept = await keep(candidate, { hold, trust, leave: leave.signal });
  stop.removeEventListener("abort", onStop);
  if (kept.loss !== undefined) {
    // Before anything else: from here on the work can no longer write.
    trust.end();
    log.warn("lost the leadership", { why: kept.loss });
  }
  const ownEnd = outcome;
  office.abort(new Error(kept.loss ?? "the leader was asked to stop"));
  const bound = { clock, boundMs: timing.endMs, stop: new AbortController().signal };
  await runBounded(bound, () => work).catch(ignore);
  trust.end();
  if (outcome === undefined) log.error("the work of a leader does not end", { ms: timing.endMs });
  // What still runs may have a write on its way: then the Lease has to run out.
  else if (kept.loss === undefined) await release(candidate, kept.lease);
  if (ownEnd !== undefined) return ownEnd;
  const error = outcome?.failure?.error;
  if (error !== undefined && error !== office.signal.reason) {
    log.warn("the work of a leader failed at its end", { error });
  }
  return kept.loss === undefined ? {} : "lost";
}

interface Kept {
  /** A sentence; absent when it was told to leave. */
  readonly loss?: string;
  /** As last known; absent when it has to be read first. */
  readonly lease: Lease | undefined;
}

/** Renews until the Lease is lost, or until told to leave. */
async function keep(
  candidate: Candidate,
  office: { readonly hold: Hold; readonly trust: Trust; readonly leave: AbortSignal },
): Promise<Kept> {
  const { clock, random, log, keeper, timing } = candidate;
  const { hold, trust, leave } = office;
  const limits = () => ({ stop: leave, boundMs: Math.min(timing.requestMs, trust.leftMs()) });
  let lease: Lease | undefined = hold.lease;
  let dueMs = hold.startedMs + spread(timing.renewMs, random);
  let failures = 0;
  for (;;) {
    const pauseMs = Math.min(dueMs - clock.monotonic(), trust.leftMs());
    await sleep(clock, Math.max(0, Math.ceil(pauseMs)), leave).catch(ignore);
    if (leave.aborted) return { lease };
    try {
      if (trust.leftMs() <= 0) return { loss: "the lease could not be renewed in time", lease };
      if (lease === undefined) {
        const found = await keeper.read(limits());
        const own = keeper.findOwn(found);
        if (own === undefined) return { loss: describeLoss(found), lease: undefined };
        trust.extend(own);
        lease = own.lease;
      }
      const renewed = await keeper.renew(lease, limits());
      lease = renewed.lease;
      trust.extend(renewed);
      failures = 0;
      dueMs = renewed.startedMs + spread(timing.renewMs, random);
    } catch (error) {
      // Whatever became of the write, the next step is to look.
      lease = undefined;
      if (leave.aborted) return { lease };
      failures += 1;
      if (failures === 1) log.warn("lease was not renewed", { error });
      const isSurpassed = failures === 1 && isStoreError(error, "Conflict");
      const pauseMs = isSurpassed ? 0 : backoffMs(RENEW_AGAIN, failures, random);
      dueMs = clock.monotonic() + Math.max(pauseMs, retryAfterMs(error, random));
    }
  }
}

async function release(candidate: Candidate, known: Lease | undefined): Promise<void> {
  const { clock, log, keeper, timing } = candidate;
  const bound = { clock, boundMs: timing.requestMs, stop: new AbortController().signal };
  try {
    await runBounded(bound, async (stop) => {
      const limits = { stop, boundMs: timing.requestMs };
      let lease = known;
      for (let attempt = 1; ; attempt++) {
        try {
          lease ??= await keeper.read(limits);
          if (lease === undefined || keeper.findOwn(lease) === undefined) return;
          await keeper.release(lease, limits);
          log.info("released the lease");
          return;
        } catch (error) {
          lease = undefined;
          if (attempt === RELEASE_ATTEMPTS) throw error;
        }
      }
    });
  } catch (error) {
    log.warn("lease was not released", { error });
  }
}

async function start(
  run: (leadership: Leadership) => Promise<void>,
  leadership: Leadership,
  onEnd: (outcome: Outcome) => void,
): Promise<void> {
  try {
    await run(leadership);
    onEnd({});
  } catch (error) {
    onEnd({ failure: { error } });
  }
}

function describeLoss(lease: Lease | undefined): string {
  if (lease === undefined) return "the lease is gone";
  const holder = holderOf(lease);
  return holder === "" ? "the lease was emptied" : `${holder} holds the lease`;
}

function tellHolder(log: Log, before: Lease | undefined, lease: Lease | undefined): void {
  const holder = lease === undefined ? "" : holderOf(lease);
  if (holder === "" || (before !== undefined && holderOf(before) === holder)) return;
  log.info("standing by", { holder });
}

/** Up to a tenth more or less, so that candidates do not come in step. */
function spread(ms: number, random: () => number): number {
  return ms * (0.9 + 0.2 * random());
}

function ignore(): void {}
