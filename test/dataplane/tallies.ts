// Measuring, pure: tallies in, whether they add up, and what they say in words out.

import type { FlowTally, Tally } from "./programs/tally.ts";

/** A tally that does not add up says nothing about anything; nor does one before which another was lost on its way. */
export function requireSound(caller: string, tally: Tally, window: number): void {
  if (tally.window !== window) {
    throw new Error(`A window of ${caller} has ended whose counts never arrived: they are lost.`);
  }
  for (const flow of tally.flows) {
    const answers = Object.values(flow.byPod).reduce((sum, count) => sum + count, 0);
    const failures = Object.values(flow.failedBy).reduce((sum, count) => sum + count, 0);
    if (flow.sent !== answers + flow.failed || flow.failed !== failures) {
      throw new Error(`The counts of ${caller} do not add up: ${JSON.stringify(flow)}`);
    }
  }
}

/** Longer than the machine takes to get round to everybody. */
const STALL_MS = 500;

/** A line for each flow. */
export function summarize({ flows, stalledMs }: Tally): string[] {
  const stall = `The caller itself was kept from running for ${stalledMs} ms.`;
  return [...flows.map(summarizeFlow), ...(stalledMs > STALL_MS ? [stall] : [])];
}

function summarizeFlow(flow: FlowTally): string {
  const pods = Object.entries(flow.byPod).map(([pod, count]) => `${pod} ${count}`);
  const reasons = Object.entries(flow.failedBy).map(([reason, count]) => `${reason} ${count}`);
  const failed = `${flow.failed} failed${reasons.length > 0 ? ` (${reasons.join(", ")})` : ""}`;
  const last = flow.failures.at(-1);
  const before = last?.after ? `, ${last.after.agoMs} ms after ${last.after.pod} answered` : "";
  return [
    `${flow.protocol} over IPv${flow.family}: ${flow.sent} sent, ${failed}`,
    `longest gap ${flow.longestGapMs} ms`,
    `answered by ${pods.length > 0 ? pods.join(", ") : "nobody"}`,
    ...(last === undefined ? [] : [`last failure: ${last.what}${before}`]),
  ].join("; ");
}
