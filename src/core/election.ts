// Election: the Lease as a candidate sees it → from when it may be taken, and what to write into it. Pure. Times are
// monotonic milliseconds of one process; what a Lease says about the time is for people and never compared.

import { apiVersionOf, type ObjectRef } from "../api/object.ts";
import { LEASE, type Lease } from "../api/builtin.ts";

/** What a candidate knows of the Lease. */
export interface Sight {
  readonly lease: Lease | undefined;
  readonly freeAtMs: number;
}

/** A holder may ask for longer than we would, as another version of us does, but not for ever. */
const LONGEST_DURATIONS = 6;

/**
 * Free at once when nobody holds it or it is not there, else when it has been seen unchanged for as long as it lasts.
 * A Lease that vanishes under its holder is free no earlier than if it had stayed: the holder does not know yet.
 */
export function seeLease(
  before: Sight | undefined,
  lease: Lease | undefined,
  { nowMs, durationMs }: { readonly nowMs: number; readonly durationMs: number },
): Sight {
  if (lease === undefined) return { lease, freeAtMs: before?.freeAtMs ?? nowMs };
  if (holderOf(lease) === "") return { lease, freeAtMs: nowMs };
  if (before?.lease !== undefined && isSameVersion(before.lease, lease)) return before;
  const statedMs = (lease.spec?.leaseDurationSeconds ?? 0) * 1_000;
  const heldMs = Math.max(durationMs, Math.min(statedMs, LONGEST_DURATIONS * durationMs));
  return { lease, freeAtMs: nowMs + heldMs };
}

export function holderOf(lease: Lease): string {
  return lease.spec?.holderIdentity ?? "";
}

export interface Claim {
  readonly identity: string;
  readonly durationMs: number;
  /** MicroTime. */
  readonly time: string;
}

export function takeLease(ref: ObjectRef, before: Lease | undefined, claim: Claim): Lease {
  const { identity, durationMs, time } = claim;
  const changes = before === undefined || holderOf(before) === identity ? 0 : 1;
  return {
    ...(before ?? { apiVersion: apiVersionOf(LEASE), kind: LEASE.kind, metadata: { ...ref } }),
    spec: {
      ...before?.spec,
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(durationMs / 1_000),
      acquireTime: time,
      renewTime: time,
      leaseTransitions: (before?.spec?.leaseTransitions ?? 0) + changes,
    },
  };
}

export function renewLease(held: Lease, time: string): Lease {
  return { ...held, spec: { ...held.spec, renewTime: time } };
}

/** Nobody's from now on. */
export function releaseLease(held: Lease, time: string): Lease {
  return { ...held, spec: { ...held.spec, holderIdentity: "", renewTime: time } };
}

function isSameVersion(a: Lease, b: Lease): boolean {
  return (
    a.metadata.uid === b.metadata.uid && a.metadata.resourceVersion === b.metadata.resourceVersion
  );
}
