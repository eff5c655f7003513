// Observe: the virtual IPs that a cluster's imports had, for as long as this process lives. Clients hold on to an address;
// who deletes an import and its Service together should not take it from them (R57).

import type { ServiceImport } from "../api/mcs.ts";
import type { ServiceKey } from "../api/names.ts";
import type { Clock } from "../ports/clock.ts";

/** API servers give an address free a moment after its Service has gone; whoever has it longer keeps it. */
const PATIENCE_MS = 10_000;

export interface Addresses {
  /** What the Service has; no address while somebody has deleted it, which changes nothing. */
  note(service: ServiceKey, shown: readonly string[]): void;
  recall(service: ServiceKey): readonly string[];
  forget(service: ServiceKey): void;
  /** The API server refused the address: is it worth asking again for it? */
  isWorthAsking(service: ServiceKey, serviceImport: ServiceImport | undefined): boolean;
}

export function createAddresses(clock: Clock): Addresses {
  const known = new Map<ServiceKey, readonly string[]>();
  const refusedSinceMs = new Map<ServiceKey, number>();
  return {
    note(service, shown) {
      if (shown.length === 0) return;
      known.set(service, shown);
      refusedSinceMs.delete(service);
    },
    recall: (service) => known.get(service) ?? [],
    forget(service) {
      known.delete(service);
      refusedSinceMs.delete(service);
    },
    isWorthAsking(service, serviceImport) {
      const wasInUse = serviceImport?.status?.conditions?.some(
        ({ type, status }) => type === "Ready" && status === "True",
      );
      if (wasInUse !== true && !known.has(service)) return false;
      const nowMs = clock.monotonic();
      const sinceMs = refusedSinceMs.get(service) ?? nowMs;
      refusedSinceMs.set(service, sinceMs);
      return nowMs - sinceMs < PATIENCE_MS;
    },
  };
}
