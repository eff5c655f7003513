// Conditions: what is true now and what was written before in, the conditions to write out.

import type { Condition } from "../api/object.ts";

/** A judgement without its history. */
export type Judgement = Pick<Condition, "type" | "status" | "reason" | "message">;

/** The API allows 32768; a sentence that nobody can read to its end helps nobody. */
const MESSAGE_MAX_LENGTH = 4096;

/** lastTransitionTime moves only with status, so that the same judgement twice is the same bytes (R8). */
export function planConditions(input: {
  readonly before: readonly Condition[];
  readonly judgements: readonly Judgement[];
  readonly generation: number | undefined;
  readonly now: string;
}): readonly Condition[] {
  const { before, judgements, generation, now } = input;
  return judgements.map((judgement) => {
    const old = before.find((condition) => condition.type === judgement.type);
    const same = old?.status === judgement.status;
    return {
      type: judgement.type,
      status: judgement.status,
      reason: judgement.reason,
      message: cut(judgement.message),
      lastTransitionTime: same ? old.lastTransitionTime : now,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
    };
  });
}

function cut(message: string): string {
  return message.length <= MESSAGE_MAX_LENGTH
    ? message
    : `${message.slice(0, MESSAGE_MAX_LENGTH - 1)}…`;
}
