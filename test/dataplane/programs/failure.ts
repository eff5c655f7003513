// Measuring, pure: what a client's end of a request was told in, why it failed out.

import type { FailureReason } from "./tally.ts";

/** A failure that already knows its reason. */
export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly reason: FailureReason;

  constructor(reason: FailureReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

const REASONS: Readonly<Record<string, FailureReason>> = {
  ECONNREFUSED: "refused",
  ECONNRESET: "reset",
  EPIPE: "reset",
  EHOSTUNREACH: "unreachable",
  ENETUNREACH: "unreachable",
  EPERM: "unreachable",
  ETIMEDOUT: "timeout",
};

export function describeFailure(error: unknown): {
  readonly reason: FailureReason;
  readonly what: string;
} {
  const what = error instanceof Error ? error.message : String(error);
  if (error instanceof RequestError) return { reason: error.reason, what };
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return { reason: REASONS[code] ?? "other", what };
}
