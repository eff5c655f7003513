// Publish: one service of this cluster in; its share on the hub and the conditions of its export out.

import type { ServiceExport } from "../api/mcs.ts";
import { SERVICE_EXPORT } from "../api/mcs.ts";
import { type ClusterId, type ServiceKey, splitServiceKey } from "../api/names.ts";
import { planEndpointShares } from "../core/endpoints.ts";
import { type ExportInput, judgeExport, planExportStatus, planShare } from "../core/export.ts";
import { planExportEvents } from "../core/event.ts";
import { mergeShares } from "../core/merge.ts";
import { isHeld } from "../core/plan.ts";
import type { Policy } from "../core/policy.ts";
import { type Clock, formatTime } from "../ports/clock.ts";
import type { Hub } from "../ports/hub.ts";
import type { Store } from "../ports/store.ts";
import type { Span } from "../ports/trace.ts";
import type { TokenBucket } from "../runtime/bucket.ts";
import type { Freshness } from "../runtime/freshness.ts";
import { keyOf } from "../runtime/informer.ts";
import type { Outcome } from "../runtime/queue.ts";
import type { Answers, Asking } from "./answers.ts";
import { applyWrites } from "./apply.ts";
import { recordEvents } from "./event.ts";
import type { ClusterView } from "./view.ts";

export interface ExporterOptions {
  readonly cluster: ClusterId;
  readonly store: Store;
  readonly hub: Hub;
  readonly view: ClusterView;
  readonly freshness: Freshness;
  readonly clock: Clock;
  readonly policy: Policy;
  /** What reports asked about members. */
  readonly answers: Answers;
  readonly eventBucket: TokenBucket;
}

export function observeExport(
  options: Pick<ExporterOptions, "cluster" | "view" | "policy">,
  service: ServiceKey,
): ExportInput {
  const { cluster, view, policy } = options;
  const { namespace, name } = splitServiceKey(service);
  return {
    cluster,
    namespace,
    name,
    serviceExport: view.serviceExport(service),
    service: view.service(service),
    namespaceDenied: policy.isDenied(namespace),
  };
}

/** First what other clusters wait for. */
export async function publishExport(
  options: ExporterOptions,
  service: ServiceKey,
  span?: Span,
): Promise<void> {
  const { cluster, hub, view } = options;
  const share = planShare(observeExport(options, service));
  if (share === undefined) {
    await hub.withdraw(cluster, service, span);
    return;
  }
  const endpoints = planEndpointShares({ cluster, service }, view.sourceSlices(service));
  await hub.publish({ share, endpoints }, span);
}

/** Then what became of it, for the export's owner to read. */
export async function reportExport(
  options: ExporterOptions,
  service: ServiceKey,
  signal: AbortSignal,
): Promise<Outcome> {
  const { answers, cluster, hub, view } = options;
  const input = observeExport(options, service);
  if (input.serviceExport === undefined) {
    answers.forget(service);
    return "done";
  }
  const asking = answers.ask();
  const contributions = hub.contributions(service);
  const shares = contributions.map((contribution) => contribution.share);
  const serviceImport = view.serviceImport(service);
  const judgements = judgeExport(input, {
    published: hub.isPublished(cluster, service) || isReadyUnlessKnown(asking, input.serviceExport),
    merged: mergeShares(shares),
    isHeld:
      serviceImport !== undefined &&
      isHeld({ contributions, isAwaited: (source) => asking.isAwaited(source) }, serviceImport),
  });
  await writeStatus(options, input.serviceExport, judgements, signal);
  // While it was written, members may have said something else.
  return answers.keep(service, asking) ? "done" : { afterMs: 0 };
}

/** While it is not known what the hub has, what was said of it before still stands. */
function isReadyUnlessKnown(asking: Asking, { status }: ServiceExport): boolean {
  const isReady = status?.conditions?.some((one) => one.type === "Ready" && one.status === "True");
  return asking.hasStrangers() && isReady === true;
}

async function writeStatus(
  options: ExporterOptions,
  serviceExport: ServiceExport,
  judgements: ReturnType<typeof judgeExport>,
  signal: AbortSignal,
): Promise<void> {
  const { store, freshness, clock, eventBucket } = options;
  const owner = keyOf(serviceExport.metadata);
  const writes = planExportStatus(serviceExport, judgements, formatTime(clock.now()));
  if (writes.length === 0) return;
  await applyWrites({ store, freshness, owner, signal }, writes);
  const events = planExportEvents(serviceExport.status?.conditions ?? [], judgements);
  await recordEvents(
    { store, clock, eventBucket, signal },
    { resource: SERVICE_EXPORT, object: serviceExport, events },
  );
}
