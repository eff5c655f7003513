// The pure half of the election: from when a Lease may be taken, and what is written into it.

import { describe, expect, test } from "vitest";
import type { Lease } from "../api/builtin.ts";
import { releaseLease, renewLease, seeLease, takeLease } from "./election.ts";

const REF = { namespace: "a", name: "b" };
const TIME = "2026-01-02T03:04:05.000000Z";
const at = (nowMs: number) => ({ nowMs, durationMs: 10_000 });
const claim = { identity: "me", durationMs: 10_000, time: TIME };

function aLease(holderIdentity: string, resourceVersion = "1", more: Lease["spec"] = {}): Lease {
  const metadata = { ...REF, uid: "u", resourceVersion, labels: { kept: "yes" } };
  const spec = { holderIdentity, ...more };
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec };
}

describe("a Lease is free", () => {
  test("at once when it is not there and never was", () => {
    expect(seeLease(undefined, undefined, at(5))).toEqual({ lease: undefined, freeAtMs: 5 });
  });

  test("at once when nobody holds it, whoever held it before", () => {
    const before = seeLease(undefined, aLease("other"), at(0));
    expect(seeLease(before, aLease("", "2"), at(5)).freeAtMs).toBe(5);
    expect(seeLease(undefined, { ...aLease(""), spec: {} }, at(5)).freeAtMs).toBe(5);
  });

  test("its duration after the first sight, however often it is seen again", () => {
    const first = seeLease(undefined, aLease("other"), at(5));
    const again = seeLease(first, aLease("other"), at(9_000));
    expect(again.freeAtMs).toBe(10_005);
  });

  test("its duration after each change", () => {
    const first = seeLease(undefined, aLease("other"), at(5));
    expect(seeLease(first, aLease("other", "2"), at(9_000)).freeAtMs).toBe(19_000);
  });

  test("no earlier for having vanished, and from a new first sight when it is back", () => {
    const first = seeLease(undefined, aLease("other"), at(5));
    const gone = seeLease(first, undefined, at(6));
    expect(gone).toEqual({ lease: undefined, freeAtMs: 10_005 });
    expect(seeLease(gone, aLease("other"), at(7)).freeAtMs).toBe(10_007);
  });

  test.each([
    [undefined, 10_000],
    [1, 10_000],
    [15, 15_000],
    [1_000_000, 60_000],
    [-5, 10_000],
  ])("when it says %s s, after %i ms", (leaseDurationSeconds, ms) => {
    const more = leaseDurationSeconds === undefined ? {} : { leaseDurationSeconds };
    expect(seeLease(undefined, aLease("other", "1", more), at(0)).freeAtMs).toBe(ms);
  });
});

describe("a Lease that is", () => {
  test("made has no version, and no change of hands", () => {
    expect(takeLease(REF, undefined, claim)).toEqual({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: REF,
      spec: {
        holderIdentity: "me",
        leaseDurationSeconds: 10,
        acquireTime: TIME,
        renewTime: TIME,
        leaseTransitions: 0,
      },
    });
  });

  test.each([
    ["another", "other", 4],
    ["nobody", "", 4],
    ["ourselves", "me", 3],
  ])("taken from %s keeps its version and metadata, and counts", (_, holder, leaseTransitions) => {
    const before = aLease(holder, "7", { leaseTransitions: 3 });
    const taken = takeLease(REF, before, claim);
    expect(taken.metadata).toEqual(before.metadata);
    expect(taken.spec).toMatchObject({ holderIdentity: "me", leaseTransitions });
  });

  test("renewed changes its renewTime only", () => {
    const held = takeLease(REF, aLease("other"), { ...claim, time: "before" });
    expect(renewLease(held, TIME)).toEqual({ ...held, spec: { ...held.spec, renewTime: TIME } });
  });

  test("released belongs to nobody and keeps its count", () => {
    const held = takeLease(REF, aLease("other", "1", { leaseTransitions: 3 }), claim);
    expect(releaseLease(held, TIME).spec).toMatchObject({
      holderIdentity: "",
      leaseTransitions: 4,
    });
  });
});
