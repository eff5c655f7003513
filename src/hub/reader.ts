// Hub: a service in, what is read of it out, read once for all who ask until something changes; and how much is not taken
// in of each source, for metrics.

import type { ServiceKey } from "../api/names.ts";
import type { Rejection } from "../core/admission.ts";
import type { Reading } from "./reading.ts";

export interface Reader {
  read(service: ServiceKey): Reading;
  /** Something changed: what was read is out of date. */
  forget(): void;
  /** "cluster reason" to count, over all services as they were last read. */
  totals(): ReadonlyMap<string, number>;
}

export function createReader(readNow: (service: ServiceKey) => Reading): Reader {
  /** `contributions` and `rejections` are asked for one after the other; more would be held for nothing. */
  let last: { readonly service: ServiceKey; readonly reading: Reading } | undefined;
  const rejected = new Map<ServiceKey, readonly Rejection[]>();
  return {
    read(service) {
      if (last?.service === service) return last.reading;
      const reading = readNow(service);
      last = { service, reading };
      if (reading.rejections.length > 0) rejected.set(service, reading.rejections);
      else rejected.delete(service);
      return reading;
    },
    forget() {
      last = undefined;
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
