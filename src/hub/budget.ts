// Hub: shares coming and going in, which services of a member with more than its due are left out. The rule itself is in
// src/core/admission.ts; here it is kept up without going through everything at every change.

import type { ClusterId, ServiceKey } from "../api/names.ts";
import {
  ADMISSION_LIMITS,
  type AdmissionLimits,
  limitServices,
  type Rejection,
  type ServiceSize,
} from "../core/admission.ts";
import type { Clock, Timer } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";

export interface Budget {
  /** What came of a service, less what went. */
  count(change: Size & { readonly cluster: ClusterId; readonly service: ServiceKey }): void;
  /** Of which anything is on the hub of this member. */
  services(cluster: ClusterId): Iterable<ServiceKey>;
  /** Anything at all is. */
  hasShares(cluster: ClusterId): boolean;
  /** Why the service is left out; empty when it is not. */
  rejections(cluster: ClusterId, service: ServiceKey): readonly Rejection[];
  stop(): void;
}

interface Size extends ServiceSize {
  /** ServiceShares and EndpointShares. */
  readonly objects: number;
}

interface Counts {
  readonly services: Map<ServiceKey, Size>;
  total: Size;
  leftOut: Set<ServiceKey>;
  reported: readonly Rejection[];
  timer: Timer | undefined;
}

/** To judge is to sort everything the member has: a flood of changes must not make us do it for each. */
const JUDGE_EVERY_MS = 1_000;
const NONE: readonly Rejection[] = [];
const NOTHING: Size = { objects: 0, endpointShares: 0, endpoints: 0 };

export function createBudget(options: {
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: AdmissionLimits;
  /** The service is left out now, or no more. */
  readonly onService: (service: ServiceKey, source: ClusterId) => void;
}): Budget {
  const { clock, log, limits = ADMISSION_LIMITS, onService } = options;
  const members = new Map<ClusterId, Counts>();

  function judge(cluster: ClusterId, counts: Counts): void {
    const { services } = counts;
    const { leftOut, rejections } = limitServices({ cluster, services }, limits);
    const before = counts.leftOut;
    counts.leftOut = new Set(leftOut);
    counts.reported = rejections;
    if (before.size === 0 && leftOut.size > 0) {
      log.warn("member shares more than is taken in", { source: cluster, services: leftOut.size });
    }
    if (before.size > 0 && leftOut.size === 0) {
      log.info("member shares no more than is taken in", { source: cluster });
    }
    for (const service of before) if (!leftOut.has(service)) onService(service, cluster);
    for (const service of leftOut) if (!before.has(service)) onService(service, cluster);
  }

  /** At once when it first has too much, then no more than once in a while. */
  function review(cluster: ClusterId, counts: Counts): void {
    const { services, total } = counts;
    const isOver =
      services.size > limits.services ||
      total.endpointShares > limits.shares ||
      total.endpoints > limits.endpoints;
    if (counts.timer !== undefined || (!isOver && counts.leftOut.size === 0)) return;
    if (counts.leftOut.size === 0) judge(cluster, counts);
    counts.timer = clock.schedule(JUDGE_EVERY_MS, () => {
      counts.timer = undefined;
      judge(cluster, counts);
    });
  }

  return {
    count({ cluster, service, ...change }) {
      const counts = members.get(cluster) ?? {
        services: new Map(),
        total: NOTHING,
        leftOut: new Set(),
        reported: NONE,
        timer: undefined,
      };
      members.set(cluster, counts);
      counts.total = add(counts.total, change);
      const before = counts.services.get(service);
      // Until it is judged again, what is new is what is too much.
      if (before === undefined && counts.leftOut.size > 0) counts.leftOut.add(service);
      const size = add(before ?? NOTHING, change);
      if (size.objects === 0) counts.services.delete(service);
      else counts.services.set(service, size);
      review(cluster, counts);
      if (counts.services.size > 0) return;
      counts.timer?.cancel();
      members.delete(cluster);
    },
    services: (cluster) => members.get(cluster)?.services.keys() ?? [],
    hasShares: (cluster) => members.has(cluster),
    rejections(cluster, service) {
      const counts = members.get(cluster);
      return counts?.leftOut.has(service) === true ? counts.reported : NONE;
    },
    stop() {
      for (const { timer } of members.values()) timer?.cancel();
      members.clear();
    },
  };
}

function add(a: Size, b: Size): Size {
  return {
    objects: a.objects + b.objects,
    endpointShares: a.endpointShares + b.endpointShares,
    endpoints: a.endpoints + b.endpoints,
  };
}
