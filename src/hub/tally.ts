// Hub: what is not taken in of each service in, how much that is of each source and reason out, for metrics.

import type { ServiceKey } from "../api/names.ts";
import type { Rejection } from "../core/admission.ts";

export interface Tally {
  /** Whenever the service was read; with none when all of it is taken in. */
  note(service: ServiceKey, rejections: readonly Rejection[]): void;
  /** "cluster reason" to count. */
  totals(): ReadonlyMap<string, number>;
}

export function createTally(): Tally {
  const rejected = new Map<ServiceKey, readonly Rejection[]>();
  return {
    note(service, rejections) {
      if (rejections.length > 0) rejected.set(service, rejections);
      else rejected.delete(service);
    },
    totals() {
      const totals = new Map<string, number>();
      for (const { cluster, reason, count } of [...rejected.values()].flat()) {
        const key = `${cluster} ${reason}`;
        totals.set(key, (totals.get(key) ?? 0) + count);
      }
      return totals;
    },
  };
}
