// One Lease in a candidate's hands: reads and optimistic writes, each within a bound. Remembers what it wrote itself,
// because the answer to a write can be lost. Never decides.

import { LEASE, type Lease } from "../api/builtin.ts";
import type { ObjectRef } from "../api/object.ts";
import { holderOf, releaseLease, renewLease, takeLease } from "../core/election.ts";
import { type Clock, formatMicroTime } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { runBounded } from "./bounded.ts";

/** The Lease as our own write left it. Counts from the start of that write: nobody can have seen it earlier. */
export interface Hold {
  readonly lease: Lease;
  readonly startedMs: number;
  readonly startedWallMs: number;
}

export interface LeaseLimits {
  readonly stop: AbortSignal;
  readonly boundMs: number;
}

export interface LeaseKeeper {
  read(limits: LeaseLimits): Promise<Lease | undefined>;
  take(before: Lease | undefined, limits: LeaseLimits): Promise<Hold>;
  renew(held: Lease, limits: LeaseLimits): Promise<Hold>;
  release(held: Lease, limits: LeaseLimits): Promise<Hold>;
  /** Undefined when it is not as one of our writes left it, even where it bears our name: names can be given twice. */
  findOwn(lease: Lease | undefined): Hold | undefined;
}

type Attempt = Omit<Hold, "lease"> & { readonly time: string };

/** One of unknown outcome is read back before the next, but may get there after that all the same. */
const ATTEMPTS_REMEMBERED = 8;

export function createLeaseKeeper(options: {
  readonly store: Store;
  readonly clock: Clock;
  readonly ref: ObjectRef;
  readonly identity: string;
  readonly durationMs: number;
}): LeaseKeeper {
  const { store, clock, ref, identity, durationMs } = options;
  const attempts: Attempt[] = [];

  /** A Lease that was read carries its resourceVersion: of two who write on the same one, one fails with Conflict. */
  async function write(
    render: (time: string) => Lease,
    { stop, boundMs }: LeaseLimits,
  ): Promise<Hold> {
    const startedMs = clock.monotonic();
    const startedWallMs = clock.now();
    const time = formatMicroTime(startedWallMs);
    const next = render(time);
    attempts.push({ startedMs, startedWallMs, time });
    if (attempts.length > ATTEMPTS_REMEMBERED) attempts.shift();
    const lease = await runBounded({ clock, boundMs, stop }, (signal) =>
      next.metadata.resourceVersion === undefined
        ? store.create(LEASE, next, { signal })
        : store.replace(LEASE, next, { signal }),
    );
    return { lease, startedMs, startedWallMs };
  }

  return {
    read: ({ stop, boundMs }) =>
      runBounded({ clock, boundMs, stop }, (signal) => store.get(LEASE, ref, { signal })),
    take: (before, limits) =>
      write((time) => takeLease(ref, before, { identity, durationMs, time }), limits),
    renew: (held, limits) => write((time) => renewLease(held, time), limits),
    release: (held, limits) => write((time) => releaseLease(held, time), limits),
    findOwn(lease) {
      if (lease === undefined || holderOf(lease) !== identity) return undefined;
      const attempt = attempts.findLast(({ time }) => time === lease.spec?.renewTime);
      if (attempt === undefined) return undefined;
      const { startedMs, startedWallMs } = attempt;
      return { lease, startedMs, startedWallMs };
    },
  };
}

/** How long a leader may still believe in its Lease. */
export interface Trust {
  /** An arrow, so that it can be handed on. */
  readonly isValid: () => boolean;
  leftMs(): number;
  extend(hold: Hold): void;
  end(): void;
}

export function createTrust(clock: Clock, trustMs: number, first: Hold): Trust {
  let last = first;
  let isOver = false;
  const leftMs = (): number => last.startedMs + trustMs - clock.monotonic();
  return {
    // The wall clock can only take trust away: a machine that slept may have a monotonic clock that slept as well.
    isValid: () => !isOver && leftMs() > 0 && clock.now() - last.startedWallMs < trustMs,
    leftMs,
    extend(hold) {
      if (hold.startedMs > last.startedMs) last = hold;
    },
    end() {
      isOver = true;
    },
  };
}
