// DNS: the objects of one cluster in, rendered changes out. Follows ServiceImports, their EndpointSlices and Namespaces; what changed
// is a key, and what is rendered is the state, so that ten events in a row are one change. Nothing is told twice, and nothing is
// told away because the API server is: what was read last stays true until it says otherwise.

import { ENDPOINT_SLICE, type EndpointSlice, NAMESPACE } from "../api/builtin.ts";
import { SERVICE_IMPORT, type ServiceImport } from "../api/mcs.ts";
import { SERVICE_NAME_LABEL } from "../api/names.ts";
import type { KubeObject, Resource } from "../api/object.ts";
import { packSlice, type PackedSlice, unpackSlice } from "../controllers/packed.ts";
import type { Clock, Random, Timer } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import { logInformerError } from "../runtime/complaint.ts";
import { createInformer, type InformerError } from "../runtime/informer.ts";
import type { ZoneOptions } from "./records.ts";
import {
  namespaceOwner,
  type RenderMemory,
  renderNamespace,
  renderService,
  renderZone,
  serviceOwner,
} from "./render.ts";
import type { Change, RenderedName } from "./table.ts";

export interface FeedOptions {
  readonly store: Pick<Store, "list" | "watch">;
  readonly zone: ZoneOptions;
  /** Of the zones, before the first change; every change has the next one. */
  readonly serial: number;
  readonly onChange: (change: Change) => void;
  /** Once, when everything that there was at the start has been told. */
  readonly onSynced: () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Feed {
  /** Stays true: an API server that goes away does not make what it said untrue. */
  isSynced(): boolean;
  /** What it still waits for before the first sync, in a sentence; undefined when it does not. */
  waitsFor(): string | undefined;
  /** Since the last proof that nothing newer is known: up to a minute when all is well, growing while the API server is away. */
  ageMs(): number;
  stop(): Promise<void>;
}

/** Events come in bursts: a Deployment that rolls, an agent that writes the slices of a cluster. */
const COALESCE_MS = 20;
/** Of rendering in one go. Who renders may also be who answers: it gets as long before it goes on, once all was read. */
const SLICE_MS = 5;

type Task = { readonly kind: "service" | "namespace"; readonly key: string };

export function startFeed(options: FeedOptions): Feed {
  const { store, zone, clock, random, log } = options;
  const startedMs = clock.monotonic();
  const dirty = new Map<string, Task>();
  /** By owner: what is not there need not be told away, and what is the same not told again. */
  const told = new Map<string, Change>();
  /** By the key of a service. */
  const memories = new Map<string, RenderMemory>();
  const lastErrors = new Map<Resource, string>();
  let timer: Timer | undefined;
  let serial = options.serial;
  let restUntilMs = -Infinity;
  let isRead = false;
  let isSynced = false;
  let isStopped = false;

  const shared = <T extends KubeObject>(resource: Resource<T>) => ({
    store,
    clock,
    random,
    resource,
    onError: (error: InformerError) => {
      lastErrors.set(resource, describe(error));
      logInformerError({ log, message: "objects cannot be read" }, resource, error);
    },
    onRecovery: () => {
      log.info("objects can be read again", { resource: resource.plural });
      for (const { informer } of informers) informer.retryNow();
    },
  });
  const imports = createInformer<ServiceImport>({
    ...shared(SERVICE_IMPORT),
    onChange: (key) => mark({ kind: "service", key }),
  });
  const slices = createInformer<EndpointSlice, PackedSlice>({
    ...shared(ENDPOINT_SLICE),
    labelSelector: SERVICE_NAME_LABEL,
    // They are most of what there is, and asked for only when something of the same service changes.
    project: packSlice,
    indexes: { import: (slice) => [slice.importOf ?? ""] },
    onChange: (_, before, after) => {
      for (const slice of [before, after]) {
        if (slice?.importOf !== undefined) mark({ kind: "service", key: slice.importOf });
      }
    },
  });
  const namespaces = createInformer<KubeObject, true>({
    ...shared(NAMESPACE),
    // That it is there is all that matters.
    project: () => true,
    onChange: (key) => mark({ kind: "namespace", key }),
  });
  const informers = [
    { informer: imports, resource: SERVICE_IMPORT },
    { informer: slices, resource: ENDPOINT_SLICE },
    { informer: namespaces, resource: NAMESPACE },
  ] as const;

  function mark(task: Task): void {
    dirty.set(`${task.kind} ${task.key}`, task);
    renderLater(COALESCE_MS);
  }

  function renderLater(delayMs: number): void {
    if (isStopped) return;
    const restMs = restUntilMs - clock.monotonic();
    timer ??= clock.schedule(Math.max(delayMs, restMs), () => {
      timer = undefined;
      renderSome();
    });
  }

  function renderSome(): void {
    const startMs = clock.monotonic();
    for (const [name, task] of dirty) {
      dirty.delete(name);
      renderOne(task);
      if (clock.monotonic() - startMs >= SLICE_MS) break;
    }
    const endMs = clock.monotonic();
    if (isSynced) restUntilMs = endMs + (endMs - startMs);
    if (dirty.size > 0) renderLater(0);
    else finishSync();
  }

  function renderOne(task: Task): void {
    try {
      tell(render(task));
    } catch (error) {
      // One object that nobody foresaw must not keep the others from being served.
      log.error("object cannot be rendered", { kind: task.kind, key: task.key, error });
    }
  }

  function tell(change: Change): void {
    const before = told.get(change.owner);
    if (isSameChange(before ?? { owner: change.owner, names: [] }, change)) return;
    if (change.names.length > 0) told.set(change.owner, change);
    else told.delete(change.owner);
    options.onChange({ ...change, serial: ++serial });
  }

  function render({ kind, key }: Task): Change {
    if (kind === "namespace") {
      return namespaces.get(key) === undefined
        ? { owner: namespaceOwner(key), names: [] }
        : renderNamespace(key, zone);
    }
    const serviceImport = imports.get(key);
    if (serviceImport !== undefined) {
      const objects = { serviceImport, slices: slices.byIndex("import", key).map(unpackSlice) };
      const memory = memories.get(key) ?? { names: new Map() };
      const change = renderService(objects, zone, memory);
      if (memory.names.size > 0) memories.set(key, memory);
      else memories.delete(key);
      return change;
    }
    memories.delete(key);
    const slash = key.indexOf("/");
    return { owner: serviceOwner(key.slice(0, slash), key.slice(slash + 1)), names: [] };
  }

  function noteRead(): void {
    isRead = true;
    renderLater(0);
  }

  function finishSync(): void {
    if (isSynced || isStopped || !isRead) return;
    isSynced = true;
    log.info("all objects are read", { services: [...imports.keys()].length });
    options.onSynced();
  }

  tell(renderZone(zone));
  // Each of them once, not all at one time: an API server that restarts meanwhile may have forgotten what we know of one of them, and
  // when nothing changed nobody would say so. Rejects when one is stopped before: then nobody waits for it.
  Promise.all(informers.map(({ informer }) => informer.whenSynced())).then(
    noteRead,
    () => undefined,
  );

  return {
    isSynced: () => isSynced,
    waitsFor() {
      if (isSynced) return undefined;
      const waiting = informers.filter(({ informer }) => !informer.isSynced());
      const reasons = waiting.map(({ resource }) => {
        const error = lastErrors.get(resource);
        return error === undefined ? resource.plural : `${resource.plural} (${error})`;
      });
      return `Not all objects have been read yet: ${reasons.join(", ") || "they are being rendered"}.`;
    },
    ageMs() {
      const contacts = informers.map(({ informer }) => informer.lastContact() ?? startedMs);
      return clock.monotonic() - Math.min(...contacts);
    },
    async stop() {
      isStopped = true;
      timer?.cancel();
      await Promise.all(informers.map(({ informer }) => informer.stop()));
    },
  };
}

/** Most writes do not change what is served: a condition, a time, an endpoint that stays unready. */
function isSameChange(before: Change, after: Change): boolean {
  return (
    before.names.length === after.names.length &&
    before.names.every((name, index) => {
      const other = after.names[index];
      return other !== undefined && isSameName(name, other);
    })
  );
}

function isSameName(before: RenderedName, after: RenderedName): boolean {
  if (before === after) return true;
  return (
    isSame(before.name, after.name) &&
    before.answers.length === after.answers.length &&
    before.answers.every((answer, index) => {
      const other = after.answers[index];
      return (
        other?.type === answer.type &&
        isSame(other.records, answer.records) &&
        isSame(other.additional, answer.additional)
      );
    })
  );
}

function isSame(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}

function describe({ error }: InformerError): string {
  if (isStoreError(error, "NotFound")) {
    return 'the cluster does not know them: "isthmus crds install" adds what is missing';
  }
  return error instanceof Error ? error.message : String(error);
}
