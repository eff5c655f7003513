// Hub: a service in, what is read of it out, read once for all who ask until it changes; and how much is not taken in of each
// source, for metrics.

import type { ServiceKey } from "../api/names.ts";
import type { Rejection } from "../core/admission.ts";
import type { Reading } from "./reading.ts";

export interface Reader {
  read(service: ServiceKey): Reading;
  /** It changed: what was read is out of date. */
  forget(service: ServiceKey): void;
  /** Everything may have. */
  forgetAll(): void;
  /** "cluster reason" to count, over all services as they were last read. */
  totals(): ReadonlyMap<string, number>;
}

/** As many as are worked on at once, and some: a service is read several times in a row, more would be held for nothing. */
const MOST_READINGS = 64;

export function createReader(readNow: (service: ServiceKey) => Reading): Reader {
  /** The last ones. */
  const readings = new Map<ServiceKey, Reading>();
  const rejected = new Map<ServiceKey, readonly Rejection[]>();
  return {
    read(service) {
      const known = readings.get(service);
      if (known !== undefined) return known;
      const reading = readNow(service);
      const [oldest] = readings.size < MOST_READINGS ? [] : readings.keys();
      if (oldest !== undefined) readings.delete(oldest);
      readings.set(service, reading);
      if (reading.rejections.length > 0) rejected.set(service, reading.rejections);
      else rejected.delete(service);
      return reading;
    },
    forget: (service) => readings.delete(service),
    forgetAll: () => readings.clear(),
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
