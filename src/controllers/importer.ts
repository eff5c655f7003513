// Apply: one service as the hub has it in; ServiceImport, derived Service and EndpointSlices of this cluster out.

import type { IPFamily } from "../api/builtin.ts";
import { SERVICE } from "../api/builtin.ts";
import { SERVICE_IMPORT } from "../api/mcs.ts";
import { type ClusterId, type ServiceKey, splitServiceKey } from "../api/names.ts";
import { readVirtualIps } from "../core/derived.ts";
import { planImportEvents } from "../core/event.ts";
import { planShare } from "../core/export.ts";
import { recallLiveness } from "../core/fate.ts";
import { type ImportInput, type NamespaceState, planImport } from "../core/plan.ts";
import type { Policy } from "../core/policy.ts";
import type { Write } from "../core/write.ts";
import { type Clock, formatTime } from "../ports/clock.ts";
import type { Hub } from "../ports/hub.ts";
import { isAbsentObject, isNamespaceTerminating, type Store } from "../ports/store.ts";
import type { TokenBucket } from "../runtime/bucket.ts";
import type { Freshness } from "../runtime/freshness.ts";
import type { Outcome } from "../runtime/queue.ts";
import type { Addresses } from "./addresses.ts";
import type { Answers, Asking } from "./answers.ts";
import { applyWrites, RefusedWrite } from "./apply.ts";
import { type EventContext, recordEvents } from "./event.ts";
import { observeExport } from "./exporter.ts";
import type { ClusterView } from "./view.ts";

export interface ImporterOptions {
  readonly cluster: ClusterId;
  readonly store: Store;
  readonly hub: Hub;
  readonly view: ClusterView;
  readonly freshness: Freshness;
  readonly addresses: Addresses;
  readonly clock: Clock;
  readonly families: readonly IPFamily[];
  readonly policy: Policy;
  readonly answers: Answers;
  readonly eventBucket: TokenBucket;
  /** All that the service depends on is read right after this. */
  readonly onLook?: () => void;
  /** All that was planned has been written; more may be planned by it. */
  readonly onWritten?: () => void;
}

/** import, derived Service, addresses, status: each needs the one before; a type flip adds one more. */
const MAX_ROUNDS = 6;
const ASK_AGAIN_MS = 30_000;
const DUE_AGAIN_MS = 1_000;

export async function reconcileImport(
  options: ImporterOptions,
  service: ServiceKey,
  signal: AbortSignal,
): Promise<Outcome> {
  const { store, freshness, addresses, answers, view } = options;
  let refusedIp: string | undefined;
  let asking = answers.ask();
  let round = 0;
  for (; round < MAX_ROUNDS; round += 1) {
    options.onLook?.();
    asking = answers.ask();
    const input = observe(options, service, { asking, refusedIp });
    const writes = planImport(input);
    if (writes.length === 0) break;
    try {
      await applyWrites({ store, freshness, owner: service, signal }, writes);
      options.onWritten?.();
      await tellEvents({ ...options, signal }, input, writes);
    } catch (error) {
      if (isOutrun(error)) break;
      if (refusedIp !== undefined || !isRefusedIp(error)) throw error;
      if (addresses.isWorthAsking(service, view.serviceImport(service))) throw error;
      refusedIp = error.message;
    }
  }
  if (!hasAddress(view, service)) addresses.forget(service);
  if (round === MAX_ROUNDS) return { afterMs: DUE_AGAIN_MS };
  // While it was written, members may have said something else.
  if (!keepAnswers(options, service, asking)) return { afterMs: 0 };
  // Whoever holds the address may let go of it, and nothing tells us when.
  if (refusedIp !== undefined) return { afterMs: ASK_AGAIN_MS };
  // Should it be taken back before it is told, nobody would tell of that.
  if (view.serviceImport(service) !== undefined && isOwnDue(options, service)) {
    return { afterMs: DUE_AGAIN_MS };
  }
  return "done";
}

/** False when it has to be planned again. */
function keepAnswers(
  { answers, hub, view }: ImporterOptions,
  service: ServiceKey,
  asking: Asking,
): boolean {
  const isHere =
    view.serviceImport(service) !== undefined ||
    view.derived(service) !== undefined ||
    view.importedSlices(service).length > 0;
  if (isHere || asking.answers.size === 0 || hub.contributions(service).length > 0) {
    return answers.keep(service, asking);
  }
  answers.forget(service);
  return true;
}

async function tellEvents(
  context: EventContext,
  { observed: { serviceImport } }: ImportInput,
  writes: readonly Write[],
): Promise<void> {
  if (serviceImport === undefined) return;
  const events = planImportEvents(serviceImport, writes);
  await recordEvents(context, { resource: SERVICE_IMPORT, object: serviceImport, events });
}

/** What is not asked for is not read: most services of a large fleet have no namespace here, and many endpoints elsewhere. */
function observe(
  options: ImporterOptions,
  service: ServiceKey,
  { asking, refusedIp }: { readonly asking: Asking; readonly refusedIp: string | undefined },
): ImportInput {
  const { cluster, families, hub, view, addresses } = options;
  const derived = view.derived(service);
  // What we share ourselves need not be heard from the hub, which may be away for hours.
  const isOwnKnown = (): boolean =>
    view.serviceExport(service) === undefined ||
    hub.contributions(service).some(({ share }) => share.cluster === cluster);
  const observed = {
    serviceImport: view.serviceImport(service),
    derived,
    slices: view.importedSlices(service),
  };
  addresses.note(service, readVirtualIps(derived));
  return {
    cluster,
    service,
    families,
    namespace: observeNamespace(options, service),
    makesNamespace: options.policy.namespaces === "create",
    get contributions() {
      return hub.contributions(service);
    },
    get rejections() {
      return hub.rejections(service);
    },
    livenessOf: (source) => {
      const liveness = asking.livenessOf(source);
      // Who is drained may be down, too: what it said last is no sign of life.
      const isSaid = liveness === "live" || liveness === "drained";
      if (!isSaid || !asking.isUnheard(source)) return liveness;
      const recalled = recallLiveness(source, observed);
      // Held back for others it looks like one that is silent, and may have to serve: those others may be gone meanwhile.
      const isHeldBack = liveness === "drained" && recalled === "silent";
      return isHeldBack ? liveness : (recalled ?? liveness);
    },
    isDrained: (source) => asking.isDrained(source),
    isAwaited: (source) => asking.isAwaited(source) && !(source === cluster && isOwnKnown()),
    get isComplete() {
      return asking.isComplete() && !isOwnDue(options, service);
    },
    observed,
    lastIps: addresses.recall(service),
    ...(refusedIp === undefined ? {} : { refusedIp }),
    get now() {
      return formatTime(options.clock.now());
    },
  };
}

/**
 * This cluster exports it and is yet to say so: a withdrawal that came before may be held up by a hub that is slow. A Service that was
 * deleted and made anew must not cost the import its virtual IP for that long.
 */
function isOwnDue(options: ImporterOptions, service: ServiceKey): boolean {
  if (planShare(observeExport(options, service)) === undefined) return false;
  return !options.hub.contributions(service).some(({ share }) => share.cluster === options.cluster);
}

function observeNamespace(options: ImporterOptions, service: ServiceKey): NamespaceState {
  const { namespace: name } = splitServiceKey(service);
  if (options.policy.isDenied(name)) return "denied";
  const namespace = options.view.namespace(service);
  if (namespace === undefined) return "missing";
  const { deletionTimestamp, creationTimestamp = "" } = namespace.metadata;
  if (deletionTimestamp !== undefined) return "terminating";
  if (options.policy.namespaces !== "never") return "present";
  // Only a namespace that was there before the service was exported takes it in.
  const isLate = options.hub
    .contributions(service)
    .every(({ share }) => share.exportedAt < creationTimestamp);
  const isKnown = options.view.serviceImport(service) !== undefined;
  return isLate && !isKnown ? "missing" : "present";
}

function hasAddress(view: ClusterView, service: ServiceKey): boolean {
  const serviceImport = view.serviceImport(service);
  if (serviceImport?.spec?.type === "Headless") return false;
  return serviceImport !== undefined || view.derived(service) !== undefined;
}

/**
 * The object or its namespace went away meanwhile: nothing wrong, and its informer tells (R19). Not so a kind that is
 * not served: when it is again, nobody tells of objects that could not be written.
 */
function isOutrun(error: unknown): boolean {
  return isAbsentObject(error) || isNamespaceTerminating(error);
}

/** Of all that an import writes only the Service can be refused for what it asks: then plan without asking. */
function isRefusedIp(error: unknown): error is RefusedWrite {
  return error instanceof RefusedWrite && error.write.resource === SERVICE;
}
