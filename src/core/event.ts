// Export: conditions before and after in, the Events that tell a person what changed out (R12).

import type { Condition } from "../api/object.ts";
import type { Judgement } from "./condition.ts";

export interface EventNote {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** One Event per change, never one per reconcile: a condition that stays as it was says nothing. */
export function planExportEvents(
  before: readonly Condition[],
  after: readonly Judgement[],
): readonly EventNote[] {
  return after.flatMap((judgement): EventNote[] => {
    const old = before.find((condition) => condition.type === judgement.type);
    if (old?.status === judgement.status && old.reason === judgement.reason) return [];
    const { type, status, reason, message } = judgement;
    if (type === "Valid" && status === "False") return [{ type: "Warning", reason, message }];
    if (type !== "Conflict") return [];
    if (status === "True") return [{ type: "Warning", reason: "Conflict", message }];
    // Agreement is news only after a conflict.
    return old?.status === "True" ? [{ type: "Normal", reason, message }] : [];
  });
}
