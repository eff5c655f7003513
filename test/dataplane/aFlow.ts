// Test double: what a caller has counted of one flow, with nothing that a test does not name.

import type { FlowTally } from "./programs/tally.ts";

export function aFlow(fields: Partial<FlowTally> = {}): FlowTally {
  return {
    protocol: "tcp",
    family: 4,
    sent: 0,
    failed: 0,
    lostInMove: 0,
    inFlight: 0,
    longestGapMs: 0,
    byPod: {},
    addresses: [],
    failedBy: {},
    failures: [],
    ...fields,
  };
}
