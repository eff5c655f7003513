// DNS, the hot path: bytes of a query and the table in, bytes of the answer out. No allocation, no clock.

import type { Table } from "./table.ts";

export interface AnswerLimits {
  /** Largest answer over UDP, whatever the client allows; 512 without EDNS. */
  readonly maxUdpSize: number;
  readonly order: "rotate" | "stable";
}

export interface Answerer {
  /**
   * Bytes written to `out`, which should hold 65535 bytes; 0: do not answer; -1: not our zone and forwarding is on (nothing is
   * written then). Never throws, whatever the bytes.
   */
  answer(query: Uint8Array, length: number, out: Buffer, isTcp: boolean): number;
  /** Of the last answer, for counters. Index in the table's zones; -1: none of ours. */
  readonly lastZone: number;
  /** The type asked for, as a number; 0: the question could not be read. */
  readonly lastType: number;
  readonly lastRcode: number;
}

export function createAnswerer(
  _table: Table,
  _limits: AnswerLimits & { readonly forwards: boolean },
): Answerer {
  return { answer: () => 0, lastZone: -1, lastType: 0, lastRcode: 0 };
}
