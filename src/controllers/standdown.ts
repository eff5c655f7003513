// Leave: makes sure that no agent of the cluster works meanwhile, by holding the Lease that its replicas are elected by. A
// live agent is told from a dead one as its own replicas do it: by whether the Lease changes.

import { NAMESPACE } from "../api/builtin.ts";
import { Problem } from "../api/problem.ts";
import { holderOf, type Sight, seeLease } from "../core/election.ts";
import { AGENT_LEASE } from "../hub/local.ts";
import { type Clock, sleep } from "../ports/clock.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import { createLeaseKeeper, type LeaseKeeper, type LeaseLimits } from "../runtime/lease.ts";

export interface StandDownOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Different in every process; people read it in the Lease. */
  readonly identity: string;
  /** Take the Lease from an agent that is at work. */
  readonly force: boolean;
  readonly signal: AbortSignal;
}

/** As src/runtime/leader.ts has it: a Lease that stays unchanged that long is nobody's, and no leader trusts itself as long. */
const DURATION_MS = 10_000;
/** Agents wait this long for our Lease to run out: the most that they grant. */
const HOLD_MS = 60_000;
const RENEW_MS = 15_000;
const POLL_MS = 500;
const REQUEST_MS = 10_000;

/** Runs `work` while no agent of the cluster can. */
export async function withoutAgent<T>(
  options: StandDownOptions,
  work: () => Promise<T>,
): Promise<T> {
  const { store, clock, identity, signal } = options;
  const namespace = await store.get(NAMESPACE, { name: AGENT_LEASE.namespace }, { signal });
  // No namespace, no Lease, no agent; in one that is being removed no Lease can be had any more.
  if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return work();
  const keeper = createLeaseKeeper({
    store,
    clock,
    ref: AGENT_LEASE,
    identity,
    durationMs: HOLD_MS,
  });
  await takeLease(options, keeper);
  const done = new AbortController();
  const held = keepLease(options, keeper, done.signal);
  try {
    return await work();
  } finally {
    done.abort();
    await held;
    await giveBack(options, keeper);
  }
}

/** Where the work left the Lease in place, agents need not wait for it to run out. */
async function giveBack({ signal }: StandDownOptions, keeper: LeaseKeeper): Promise<void> {
  const limits = { stop: signal, boundMs: REQUEST_MS };
  try {
    const lease = await keeper.read(limits);
    if (lease !== undefined && keeper.findOwn(lease) !== undefined) {
      await keeper.release(lease, limits);
    }
  } catch {
    // It runs out by itself.
  }
}

async function takeLease(options: StandDownOptions, keeper: LeaseKeeper): Promise<void> {
  const { clock, force, signal } = options;
  const limits: LeaseLimits = { stop: signal, boundMs: REQUEST_MS };
  let sight: Sight | undefined;
  for (;;) {
    const lease = await keeper.read(limits);
    const nowMs = clock.monotonic();
    const before = sight;
    sight = seeLease(before, lease, { nowMs, durationMs: DURATION_MS });
    const isFree = sight.freeAtMs <= nowMs;
    const hasChanged = before?.lease !== undefined && sight !== before;
    if (lease !== undefined && hasChanged && !isFree && !force) throw agentRunning(holderOf(lease));
    if (isFree || force) {
      try {
        await keeper.take(lease, limits);
        // The leader learns of it when it renews, and trusts itself no longer than this.
        if (!isFree) await sleep(clock, DURATION_MS, signal);
        return;
      } catch (error) {
        // An agent was quicker; look again.
        if (!isStoreError(error, "Conflict", "AlreadyExists")) throw error;
      }
    }
    await sleep(clock, Math.max(1, Math.min(POLL_MS, sight.freeAtMs - nowMs)), signal);
  }
}

async function keepLease(
  { clock }: StandDownOptions,
  keeper: LeaseKeeper,
  stop: AbortSignal,
): Promise<void> {
  const limits = { stop, boundMs: REQUEST_MS };
  while (!stop.aborted) {
    try {
      await sleep(clock, RENEW_MS, stop);
      const lease = await keeper.read(limits);
      if (lease !== undefined) await keeper.renew(lease, limits);
    } catch {
      // It was granted for four times as long as we wait: there are more attempts to come.
    }
  }
}

function agentRunning(holder: string): Problem {
  const message = `the cluster's agent is at work (${holder}), and would put back what is removed`;
  return new Problem("AgentRunning", message, {
    hint: "Stop the agent and run the command again, or take its lease away with --force.",
  });
}
