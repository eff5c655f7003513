// Faults: data in, troubles put on lines, servers and processes for a while out. Each ends by itself; at quiet all are over.

import type { Call, Direction, Failure, Trouble } from "./line.ts";
import type { Moment } from "./process.ts";

/** One line of one cluster's agent: to its own API server, or to the hub. */
export interface LinePlace {
  /** Index of the cluster. */
  readonly cluster: number;
  readonly to: "own" | "hub";
}

export type Fault =
  | ({
      readonly fault: "partition";
      readonly loses: readonly Direction[];
      readonly refuses: boolean;
      readonly forMs: number;
    } & LinePlace)
  | ({ readonly fault: "slow"; readonly delayMs: number; readonly forMs: number } & LinePlace)
  | ({ readonly fault: "late answers"; readonly ms: number; readonly forMs: number } & LinePlace)
  | ({ readonly fault: "errors"; readonly failure: Failure; readonly forMs: number } & LinePlace)
  | ({
      readonly fault: "late watch";
      readonly plural?: string;
      readonly ms: number;
      readonly forMs: number;
    } & LinePlace)
  | ({
      readonly fault: "doubled watch";
      readonly share: number;
      readonly forMs: number;
    } & LinePlace)
  | ({ readonly fault: "cut watches" } & LinePlace)
  | { readonly fault: "compact"; readonly server: number | "hub"; readonly cuts: boolean }
  | {
      readonly fault: "restart server";
      readonly server: number | "hub";
      readonly forMs: number;
      readonly compacts: boolean;
    }
  | {
      readonly fault: "crash";
      readonly cluster: number;
      /** It dies at that call after the step, or when the time is over. */
      readonly call: number;
      /** Only such calls count; absent: all. */
      readonly only?: Partial<Call>;
      readonly at: Moment;
      readonly withinMs: number;
      readonly downMs: number;
    }
  | {
      /** All but one are cut off from the hub. */
      readonly fault: "region";
      readonly spared: number;
      readonly refuses: boolean;
      readonly forMs: number;
    }
  | { readonly fault: "clock"; readonly cluster: number | "hub"; readonly jumpMs: number };

/** What a fault puts on its line; undefined for those that are no trouble of a line. */
export function troubleOf(fault: Fault): Trouble | undefined {
  if (fault.fault === "partition") return { loses: fault.loses, refuses: fault.refuses };
  if (fault.fault === "slow") return { delayMs: fault.delayMs };
  if (fault.fault === "late answers") return { answerDelayMs: fault.ms };
  if (fault.fault === "errors") return { failure: fault.failure };
  if (fault.fault === "late watch") return { watchDelay: { ms: fault.ms, plural: fault.plural } };
  return fault.fault === "doubled watch" ? { duplicates: fault.share } : undefined;
}

/** The cluster whose heartbeats may stop by it. A hub that is away stops everybody's, which is nobody's fault. */
export function victimOf(fault: Fault): number | undefined {
  const { fault: kind } = fault;
  if (kind === "restart server") return fault.server === "hub" ? undefined : fault.server;
  if (kind === "partition" || kind === "slow" || kind === "errors") return fault.cluster;
  if (kind === "late answers") return fault.cluster;
  return kind === "crash" ? fault.cluster : undefined;
}
