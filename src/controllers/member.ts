// One member of the clusterset at work: its exports go to the hub, the hub's services come to it. Joins loops together;
// decides nothing itself.
//
//   identify ─▶ admitted ─▶ informers synced ─▶ exports published ─▶ complete
//      ▲  │                                                            (heartbeats from admitted on)
//      └──┘ unreachable, no id, id taken: try again, never in anyone's way

import type { IPFamily } from "../api/builtin.ts";
import type { ClusterId, ServiceKey } from "../api/names.ts";
import { splitServiceKey } from "../api/names.ts";
import type { Liveness } from "../core/liveness.ts";
import type { Policy } from "../core/policy.ts";
import type { Clock, Random } from "../ports/clock.ts";
import type { Hub } from "../ports/hub.ts";
import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/store.ts";
import { createFreshness } from "../runtime/freshness.ts";
import { createQueue, type WorkQueue } from "../runtime/queue.ts";
import { createAddresses } from "./addresses.ts";
import { publishExport, reportExport } from "./exporter.ts";
import { reconcileImport } from "./importer.ts";
import { createClusterView } from "./view.ts";

export interface MemberOptions {
  readonly cluster: ClusterId;
  readonly families: readonly IPFamily[];
  readonly store: Store;
  readonly hub: Hub;
  readonly policy: Policy;
  readonly livenessOf: (cluster: ClusterId) => Liveness;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Member {
  /** Every import of this cluster is looked at again. */
  reviewImports(): void;
  /** No work is waiting or running. */
  isIdle(): boolean;
  stop(): Promise<void>;
}

export const WORKERS = 16;
/** The first retries come quickly; an object that cannot be written is not tried more than twice a minute. */
const BACKOFF = { baseMs: 50, capMs: 30_000 };

export function startMember(options: MemberOptions): Member {
  const { cluster, hub, clock, random, log } = options;
  const exportFreshness = createFreshness(clock);
  const importFreshness = createFreshness(clock);
  const addresses = createAddresses(clock);
  /** Exports that were there at the start and have not been published yet; undefined before the first sync. */
  let unpublished: Set<string> | undefined;

  const view = createClusterView({
    ...options,
    exportFreshness,
    importFreshness,
    onExport: (service) => exports.add(service),
    onImport: (service) => imports.add(service),
    onNamespace: reviewNamespace,
    onError: (resource, error) =>
      log.warn("informer failed", {
        resource: resource.plural,
        ...error,
        error: describe(error.error),
      }),
  });

  const exporter = { ...options, view, freshness: exportFreshness };
  const exports = startQueue(
    "export",
    () => view.exports(),
    async (service) => {
      await publishExport(exporter, service);
      if (unpublished?.delete(service) === true) await completeIfPublished();
      reports.add(service);
      return "done";
    },
  );
  // Apart: other clusters wait for what is published, and must not wait for this one's API server to take a status.
  const reports = startQueue(
    "report",
    () => view.exports(),
    (service, signal) => reportExport(exporter, service, signal),
  );
  const imports = startQueue(
    "import",
    () => [...view.imports(), ...hub.services()],
    (service, signal) =>
      reconcileImport({ ...options, view, addresses, freshness: importFreshness }, service, signal),
  );

  function startQueue(
    name: string,
    keys: () => Iterable<ServiceKey>,
    handler: (service: ServiceKey, signal: AbortSignal) => ReturnType<typeof reconcileImport>,
  ): WorkQueue {
    return createQueue({
      clock,
      random,
      workers: WORKERS,
      backoff: BACKOFF,
      keys,
      handler: (key, signal) => handler(key as ServiceKey, signal),
      onFailure: ({ key, error, failures, retryInMs }) =>
        log.warn("reconcile failed", {
          queue: name,
          key,
          failures,
          retryInMs,
          error: describe(error),
        }),
      onOverflow: (overflow) => log.error("queue is full", { queue: name, ...overflow }),
    });
  }

  function reviewNamespace(namespace: string): void {
    // While the first lists come in there is one such call per namespace, and everything is reviewed after them anyway.
    if (unpublished === undefined) return;
    for (const service of new Set([...hub.services(), ...view.imports()])) {
      if (splitServiceKey(service).namespace === namespace) imports.add(service);
    }
  }

  function reviewImports(): void {
    for (const service of new Set([...hub.services(), ...view.imports()])) imports.add(service);
  }

  async function completeIfPublished(): Promise<void> {
    if (unpublished?.size === 0) await hub.completeSync(cluster);
  }

  const unsubscribe = hub.subscribe({
    onService: (service) => {
      exports.add(service);
      imports.add(service);
    },
    onMembers: () => {
      for (const service of view.exports()) exports.add(service);
      reviewImports();
    },
  });

  async function begin(): Promise<void> {
    await view.whenSynced();
    unpublished = new Set(view.exports());
    for (const service of unpublished) exports.add(service);
    exports.start();
    reports.start();
    imports.start();
    reviewImports();
    log.info("cluster is synced", { exports: unpublished.size });
    await completeIfPublished();
  }
  const begun = begin().catch((error: unknown) => {
    // Only a stop before the first sync ends here.
    log.debug("cluster was stopped before it synced", { error: describe(error) });
  });

  return {
    reviewImports,
    isIdle: () =>
      [exports, reports, imports].every((queue) => {
        const { waiting, delayed, running } = queue.snapshot();
        return waiting + delayed + running === 0;
      }),
    async stop() {
      unsubscribe();
      await Promise.all([exports, reports, imports].map((queue) => queue.stop()));
      await view.stop();
      await begun;
    },
  };
}

export function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
