// Check: how far a cluster's clock is from ours in, whether that is worth a word out. Isthmus compares no two clocks; certificates
// and tokens do.

import type { Answer } from "./inspection.ts";
import { cannotTell, type CheckResult, pass, warn } from "./result.ts";

/** The server tells whole seconds, and the answer took its time. */
const TOLERATED_MS = 5_000;

export function checkSkew(cluster: string, aheadMs: Answer<number>): CheckResult {
  if (!aheadMs.isRead) return cannotTell("clock/skew", aheadMs, { cluster });
  const seconds = Math.round(Math.abs(aheadMs.value) / 1_000);
  if (Math.abs(aheadMs.value) <= TOLERATED_MS) {
    return pass("clock/skew", { cluster, found: "Its clock and the one here agree." });
  }
  return warn("clock/skew", {
    cluster,
    found: `Its clock is ${seconds} s ${aheadMs.value > 0 ? "ahead of" : "behind"} the one here.`,
    next: "Have both follow a time server. Failover does not depend on it, but ages shown by isthmus do, and certificates and tokens are refused when the difference is large.",
  });
}
