// Merge: shares in, the same shares in order of precedence out: oldest export first, then by cluster id (R20).

import type { ServiceShare } from "../api/share.ts";

/** Precedence depends on the shares alone, never on who asks or on when a share arrived (R21). */
export function orderShares(shares: readonly ServiceShare[]): readonly ServiceShare[] {
  return shares.toSorted(
    (a, b) => compareText(a.exportedAt, b.exportedAt) || compareText(a.cluster, b.cluster),
  );
}

/** By code unit, so that the order does not depend on anyone's locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
