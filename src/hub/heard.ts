// Hub: renewals of Leases in, when each member was last heard and whether it is current out. Current: heard lately, and not
// in the middle of publishing what its cluster changed while its agent was away. Times are this process's own.

import type { ClusterId } from "../api/names.ts";
import { DEFAULT_LIVENESS } from "../core/liveness.ts";
import type { Clock, Timer } from "../ports/clock.ts";
import { awaitedForMs, type Conduct, noteConduct } from "./patience.ts";

/** What is kept of a Lease. Its times are the member's own and compared with nothing but each other. */
export interface LeaseRecord {
  readonly uid: string | undefined;
  readonly renewTime: string | undefined;
  readonly isPublishing: boolean;
}

export interface Heard {
  /** `isFirst`: it was there when we came, so it says nothing about now. */
  renewed(cluster: ClusterId, lease: LeaseRecord, isFirst: boolean): void;
  /** Undefined: never. */
  heardAtMs(cluster: ClusterId): number | undefined;
  isCurrent(cluster: ClusterId): boolean;
  /** It has renewed its Lease since we came. */
  isHeard(cluster: ClusterId): boolean;
  forget(cluster: ClusterId): void;
  stop(): void;
}

interface Record {
  heardAtMs: number;
  hasRenewed: boolean;
  /** In order: it has published all it has. */
  conduct: Conduct;
  /** When it was last heard: patience may have ended since. */
  wasCurrent: boolean;
}

/** A few renewals long. */
const LATELY_MS = DEFAULT_LIVENESS.unreadyAfterMs / 2;
/** Members are heard one after the other: who waits for them is told once for several. */
const TELL_AFTER_MS = 1_000;

export function createHeard(options: {
  readonly clock: Clock;
  /** Members became current, or were heard for the first time. */
  readonly onCurrent: () => void;
}): Heard {
  const { clock } = options;
  const records = new Map<ClusterId, Record>();
  let timer: Timer | undefined;

  function isCurrent(cluster: ClusterId): boolean {
    const record = records.get(cluster);
    if (record === undefined || !record.hasRenewed) return false;
    const nowMs = clock.monotonic();
    if (nowMs - record.heardAtMs >= LATELY_MS) return false;
    return awaitedForMs(record.conduct, nowMs) === 0;
  }

  function isHeard(cluster: ClusterId): boolean {
    return records.get(cluster)?.hasRenewed === true;
  }

  function tell(): void {
    timer ??= clock.schedule(TELL_AFTER_MS, () => {
      timer = undefined;
      options.onCurrent();
    });
  }

  return {
    renewed(cluster, { isPublishing }, isFirst) {
      const nowMs = clock.monotonic();
      const before = records.get(cluster);
      const was = [isHeard(cluster), before?.wasCurrent === true && isCurrent(cluster)];
      const record = {
        heardAtMs: nowMs,
        hasRenewed: before?.hasRenewed === true || !isFirst,
        conduct: noteConduct(before?.conduct, !isPublishing, nowMs),
        wasCurrent: false,
      };
      records.set(cluster, record);
      record.wasCurrent = isCurrent(cluster);
      const now = [isHeard(cluster), record.wasCurrent];
      if (now.some((is, index) => is && was[index] === false)) tell();
    },
    heardAtMs: (cluster) => records.get(cluster)?.heardAtMs,
    isCurrent,
    isHeard,
    forget: (cluster) => records.delete(cluster),
    stop: () => timer?.cancel(),
  };
}

const PUBLISHING = " (publishing)";

/** Of the Lease: for people, and for readers of any release, who take it for a name. */
export function renderHolder(cluster: ClusterId, isPublishing: boolean): string {
  return isPublishing ? cluster + PUBLISHING : cluster;
}

export function isPublishing(holder: string | undefined): boolean {
  return holder?.endsWith(PUBLISHING) === true;
}
