// One member of the clusterset at work: its exports go to the hub, the hub's services come to it. Joins loops together;
// decides nothing itself.
//
//   identify ─▶ admitted ─▶ cluster synced ─▶ hub synced ─▶ published and withdrawn ─▶ complete
//      ▲  │                   (local work      (may take                 (heartbeats from admitted on)
//      └──┘ unreachable,       begins here)     hours)
//           no id, id taken: try again, never in anyone's way

import { ENDPOINT_SLICE, type IPFamily, SERVICE } from "../api/builtin.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT } from "../api/mcs.ts";
import type { ClusterId, ServiceKey } from "../api/names.ts";
import { splitServiceKey } from "../api/names.ts";
import type { Liveness } from "../core/liveness.ts";
import type { Policy } from "../core/policy.ts";
import { type Clock, type Random, sleep } from "../ports/clock.ts";
import type { Hub } from "../ports/hub.ts";
import type { Log } from "../ports/log.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import type { Span, Tracer } from "../ports/trace.ts";
import { backoffMs } from "../runtime/backoff.ts";
import { createTokenBucket } from "../runtime/bucket.ts";
import { logInformerError } from "../runtime/complaint.ts";
import { createFreshness } from "../runtime/freshness.ts";
import { createQueue, type WorkQueue } from "../runtime/queue.ts";
import { traceWrites } from "../runtime/trace.ts";
import { countWrites } from "../runtime/writes.ts";
import { createAddresses } from "./addresses.ts";
import { createAnswers } from "./answers.ts";
import { EVENT_LIMIT } from "./event.ts";
import { publishExport, reportExport } from "./exporter.ts";
import { reconcileImport } from "./importer.ts";
import { countConflicts, countSources, type MemberMeasures, type QueueName } from "./measures.ts";
import { createLatencies, createPropagation, type Latencies } from "./propagation.ts";
import { createQuestions } from "./questions.ts";
import { type RunHandler, traceRuns } from "./runs.ts";
import { createClusterView } from "./view.ts";

export interface MemberOptions {
  readonly cluster: ClusterId;
  readonly families: readonly IPFamily[];
  readonly store: Store;
  readonly hub: Hub;
  readonly policy: Policy;
  readonly livenessOf: (cluster: ClusterId) => Liveness;
  /** Nothing can be told to the hub now; whoever says so calls `retryExports` when it can. Absent: never. */
  readonly isHubAway?: () => boolean;
  /** Where the times of changes are noted: what members of one process share. Absent: nowhere. */
  readonly latencies?: Latencies;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Member {
  /** Members may be others than they were: imports that stand on that are looked at again. */
  reviewImports(): void;
  /** What could not be told to the hub is told now. */
  retryExports(): void;
  measures(): MemberMeasures;
  /** The part of it that costs nothing: whether they move is asked every few seconds. */
  queues(): MemberMeasures["queues"];
  /** The cluster has been read once. */
  isRead(): boolean;
  /** The cluster and the hub are known, and all that was there at the start has been told. */
  isSynced(): boolean;
  /** No work is waiting or running. */
  isIdle(): boolean;
  stop(): Promise<void>;
}

export const WORKERS = 16;
/** What a member writes in its cluster. */
const WRITTEN = [
  [SERVICE_IMPORT, "apply", "delete"],
  [SERVICE, "apply", "delete"],
  [ENDPOINT_SLICE, "apply", "delete"],
  [SERVICE_EXPORT, "apply"],
] as const;
/** The first retries come quickly; an object that cannot be written is not tried more than twice a minute. */
const BACKOFF = { baseMs: 50, capMs: 30_000 };
/** What the hub refuses for what it is must not keep the others from knowing that there is no more to wait for. */
const REFUSALS = ["BadRequest", "Forbidden", "Invalid", "TooLarge"] as const;

export function startMember(options: MemberOptions): Member {
  const { cluster, hub, clock, random, log } = options;
  const counted = countWrites(options.store, WRITTEN);
  const { store } = counted;
  const exportFreshness = createFreshness({ clock, onFaded: (service) => reports.add(service) });
  const importFreshness = createFreshness({ clock, onFaded: (service) => imports.add(service) });
  const addresses = createAddresses(clock);
  const eventBucket = createTokenBucket(EVENT_LIMIT, clock);
  const stopping = new AbortController();
  /** What the cluster and the hub had at the start and is not in step yet; undefined before both are known. */
  let unpublished: Set<string> | undefined;
  /** What the hub could not be told. */
  const untold = new Set<ServiceKey>();
  let isLocalSynced = false;
  let isHubSynced = false;
  let isComplete = false;
  let hadStrangers = hub.hasStrangers();
  let tellAllPublished = (): void => undefined;

  const propagation = createPropagation({
    clock,
    latencies: options.latencies ?? createLatencies(),
    isTimed: () => isLocalSynced && isHubSynced,
  });
  const view = createClusterView({
    ...options,
    store,
    exportFreshness,
    importFreshness,
    onExport: (service) => {
      propagation.noteSource(service);
      exports.add(service);
    },
    onImport: (service) => imports.add(service),
    onNamespace: reviewNamespace,
    onError: (resource, error) =>
      logInformerError({ log, message: "informer failed" }, resource, error),
  });

  const questions = createQuestions(hub, options.livenessOf);
  const answers = createAnswers(questions);
  const reportAnswers = createAnswers(questions);
  const exporter = {
    ...options,
    store,
    view,
    answers: reportAnswers,
    freshness: exportFreshness,
    eventBucket,
  };
  const importer = {
    ...options,
    store,
    view,
    answers,
    addresses,
    freshness: importFreshness,
    eventBucket,
  };
  const exports = startQueue(
    "export",
    () => view.exports(),
    async (service, signal, span) => {
      try {
        // A hub that does not answer must not hold up the end; who closes the hub ends the write.
        const send = (): Promise<void> => publishExport(exporter, service, span);
        const sent = propagation.publish(service, send, span);
        await untilStopped(sent, signal);
      } catch (error) {
        untold.add(service);
        reports.add(service);
        if (isStoreError(error, ...REFUSALS)) notePublished(service);
        // Not even a retry: a thousand of them would be forty failures a second for as long as it is away.
        if (!isHubSynced || options.isHubAway?.() === true) {
          span?.fail(describe(error));
          return "done";
        }
        throw error;
      }
      untold.delete(service);
      reports.add(service);
      notePublished(service);
      return "done";
    },
  );
  // Apart: other clusters wait for what is published, and must not wait for this one's API server to take a status.
  const reports = startQueue(
    "report",
    () => view.exports(),
    (service, signal, span) => reportExport(traced(exporter, span), service, signal),
  );
  const imports = startQueue(
    "import",
    () => [...view.imports(), ...hub.services()],
    (service, signal, span) => {
      const context = traced(importer, span);
      const onLook = (): void => imports.looks(service);
      const apply = (onWritten: () => void): ReturnType<typeof reconcileImport> =>
        reconcileImport({ ...context, onLook, onWritten }, service, signal);
      return propagation.import(service, apply, span);
    },
  );

  function startQueue(
    name: QueueName,
    keys: () => Iterable<ServiceKey>,
    handler: RunHandler,
  ): WorkQueue {
    const run = traceRuns(options.tracer, { cluster, queue: name }, handler);
    return createQueue({
      clock,
      random,
      workers: WORKERS,
      backoff: BACKOFF,
      keys,
      handler: (key, signal) => run(key as ServiceKey, signal),
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

  /** The same where nobody traces. */
  function traced<X extends { readonly store: Store }>(context: X, span: Span | undefined): X {
    if (span === undefined) return context;
    return { ...context, store: traceWrites(context.store, "cluster", span) };
  }

  function reviewNamespace(namespace: string): void {
    // While the first lists come in there is one such call per namespace, and everything is reviewed after them anyway.
    if (!isLocalSynced) return;
    for (const service of new Set([...hub.services(), ...view.imports()])) {
      if (splitServiceKey(service).namespace === namespace) imports.add(service);
    }
  }

  /** To publish asks nothing of members but whether the hub knows us: then what was refused for that is told at once. */
  function reviewExports(): void {
    const hasStrangers = hub.hasStrangers();
    if (hasStrangers !== hadStrangers) for (const service of view.exports()) exports.add(service);
    hadStrangers = hasStrangers;
    for (const service of reportAnswers.outdated()) reports.add(service);
  }

  function reviewImports(): void {
    for (const service of answers.outdated()) imports.add(service);
  }

  function notePublished(service: ServiceKey): void {
    if (unpublished?.delete(service) === true && unpublished.size === 0) tellAllPublished();
  }

  function readQueues(): MemberMeasures["queues"] {
    return {
      export: exports.snapshot(),
      report: reports.snapshot(),
      import: imports.snapshot(),
    };
  }

  function retryExports(): void {
    for (const service of untold) exports.add(service);
  }

  const unsubscribe = hub.subscribe({
    onService: (service, source) => {
      propagation.noteShare(service);
      if (source === cluster) imports.addLater(service);
      else imports.add(service);
      // What is said of our own export follows once it is published; that of others may be in conflict with it.
      if (source !== cluster && view.serviceExport(service) !== undefined) reports.add(service);
    },
    onDoubt: (service) => exports.add(service),
    onMembers: () => {
      reviewExports();
      reviewImports();
    },
  });

  async function begin(): Promise<void> {
    await view.whenSynced();
    isLocalSynced = true;
    const owned = [...view.exports()];
    for (const service of owned) exports.add(service);
    exports.start();
    reports.start();
    imports.start();
    for (const service of new Set([...hub.services(), ...view.imports()])) imports.add(service);
    log.info("cluster is synced", { exports: owned.length });
    await untilStopped(hub.whenSynced());
    await publishAll();
    await complete();
  }

  /** Also what is no longer exported, and was while nobody looked. */
  async function publishAll(): Promise<void> {
    isHubSynced = true;
    unpublished = new Set([...view.exports(), ...hub.published(cluster)]);
    if (unpublished.size === 0) return;
    const allPublished = new Promise<void>((resolve) => {
      tellAllPublished = resolve;
    });
    for (const service of unpublished) exports.add(service);
    await untilStopped(allPublished);
  }

  async function complete(): Promise<void> {
    for (let failures = 1; ; failures += 1) {
      try {
        await hub.completeSync(cluster);
        isComplete = true;
        return;
      } catch (error) {
        log.debug("sync cannot be reported yet", { error: describe(error) });
        await sleep(clock, backoffMs(BACKOFF, failures, random), stopping.signal);
      }
    }
  }

  /** Rejects when it is time to stop. */
  function untilStopped<T>(promise: Promise<T>, signal = stopping.signal): Promise<T> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason);
      if (signal.aborted) onAbort();
      signal.addEventListener("abort", onAbort, { once: true });
      promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
    });
  }

  const begun = begin().catch((error: unknown) => {
    // Only a stop before the first sync ends here.
    log.debug("cluster was stopped before it synced", { error: describe(error) });
  });

  return {
    reviewImports,
    retryExports,
    measures: () => ({
      cluster,
      exports: [...view.exports()].length,
      imports: view.imports().size,
      queues: readQueues(),
      watches: view.watches(),
      writes: counted.writes(),
      conflicts: countConflicts(view.listExports()),
      sources: countSources(
        view.listSlices(),
        hub.members().map((member) => member.cluster),
      ),
    }),
    queues: readQueues,
    isRead: () => isLocalSynced,
    isSynced: () => isComplete,
    isIdle: () =>
      [exports, reports, imports].every((queue) => {
        const { waiting, delayed, running } = queue.snapshot();
        return waiting + delayed + running === 0;
      }),
    async stop() {
      unsubscribe();
      stopping.abort(new Error("stopped"));
      await Promise.all([exports, reports, imports].map((queue) => queue.stop()));
      exportFreshness.stop();
      importFreshness.stop();
      await view.stop();
      await begun;
    },
  };
}

export function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
