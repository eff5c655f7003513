// From an API server's list and watch to a local copy that is always a state the server was in, and one synchronous call
// per change. It never gives up, never hammers, never does anything in the event handler but store and tell.
//
//              complete                      ended · cut · 5xx · 429 · silent: resume at the last version
//   listing ───────────────▶ watching ◀──────────────────────┐
//      ▲  ▲                     │  └─────────── pause ───────┘
//      │  └─ pause ◀─ failed    │ too old (410)
//      └──────── pause ◀────────┘
//
// What holds:
// - A change is told once. An object whose uid and resourceVersion equal those in the cache is not a change; a relist is
//   compared with the cache, and what has vanished is told as deleted.
// - An object deleted and made anew under its name is told as a deletion followed by an addition, also when both
//   happened while nobody was watching: `before` and `after` of one call always are the same object.
// - The cache stays as it is while the server is away. `isSynced` is false until the first complete list, and again from
//   the moment the server says our version is too old until the relist is complete.
// - `onChange` is called with the cache already changed. What it throws is reported, and the object is still stored.
//   An object that `project` or an index function chokes on is reported, and the record before it is kept.
// - The pause after a failure grows with each, is jittered, and starts small again only after a stream that lived a minute.
//   Failures without an answer are counted apart: a server that comes back refuses and forgets for a moment, and need not
//   be waited for as long as one that was away for hours.

import type { KubeObject, ObjectMeta, Resource } from "../api/object.ts";
import { type Clock, type Random, sleep } from "../ports/clock.ts";
import { isStoreError, type ListPage, type Store, type WatchEvent } from "../ports/store.ts";
import { backoffMs, retryAfterMs } from "./backoff.ts";
import { runBounded } from "./bounded.ts";
import { createCache, type Indexes } from "./cache.ts";

export type InformerError =
  | {
      readonly during: "list" | "watch";
      readonly error: unknown;
      readonly retryInMs: number;
      /** The server has not answered since it failed in the same way: nothing new to a person. */
      readonly isRepeated: boolean;
    }
  | { readonly during: "project" | "onChange"; readonly error: unknown; readonly key: string };

export interface InformerSnapshot {
  readonly resource: Resource;
  readonly objects: number;
  /** Totals since the informer was made. More than one list: the server forgot our version, or failed. */
  readonly lists: number;
  readonly watches: number;
  readonly events: number;
  readonly failures: number;
  /** Since the server last proved that nothing newer is known, or since the start when it never has. */
  readonly ageMs: number;
}

export interface InformerOptions<T extends KubeObject, R> {
  readonly store: Pick<Store, "list" | "watch">;
  readonly resource: Resource<T>;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** What to keep of an object; absent: all but `managedFields`. */
  readonly project?: (object: T) => R;
  readonly indexes?: Indexes<R>;
  /** `before` is absent for an addition, `after` for a deletion. Must be synchronous and quick: add a key to a queue. */
  readonly onChange: (key: string, before: R | undefined, after: R | undefined) => void;
  /** The place to log: nothing else tells of failures. */
  readonly onError: (error: InformerError) => void;
  /** The server answers again after a failure: others that wait for it need not wait any longer. */
  readonly onRecovery?: () => void;
  /** The longest pause after a failure; half a minute when absent. */
  readonly retryCapMs?: number;
  /** A server that forgot all versions is listed anew by everybody: over so long in all. Absent: at once. */
  readonly relistOverMs?: () => number;
  readonly clock: Clock;
  readonly random: Random;
}

export interface Informer<R> {
  isSynced(): boolean;
  /** Rejects when the informer is stopped before. */
  whenSynced(): Promise<void>;
  get(key: string): R | undefined;
  keys(): IterableIterator<string>;
  list(): R[];
  byIndex(name: string, value: string): R[];
  /** Monotonic time of the last proof that the server is alive and the stream current; undefined before the first. */
  lastContact(): number | undefined;
  /** For whoever measures: read when asked. */
  snapshot(): InformerSnapshot;
  /** Cuts a pause after a failure short, ever less while that does not help, and none that the server asked for. */
  retryNow(): void;
  /** No call to `onChange` after this. Resolves when nothing of it is left running. */
  stop(): Promise<void>;
}

const NO_ANSWER = ["Unreachable", "Timeout", "Unavailable", "Internal"] as const;
/** At first: a page that is too large to be read is asked for a quarter at a time from then on. */
const PAGE_LIMIT = 500;
const BACKOFF = { baseMs: 500, capMs: 30_000 };
const HEALTHY_MS = 60_000;
/** Pauses that may be cut short in a row without a stream that lives: a server comes back in fits and starts. */
const CUTS_FOR_NOTHING = 2;
const SHORTEST_WATCH_SECONDS = 300;
/** How long past its own end a watch may last, and how long one page may take, before we stop believing in it. */
const WATCH_MARGIN_MS = 30_000;
const PAGE_BOUND_MS = 120_000;
/** Pages that expire this often in a row: the list is longer than the server's memory, so it is read in one piece. */
const EXPIRIES_BEFORE_WHOLE_LIST = 2;

/** "namespace/name", or "name" for what is in no namespace. */
export function keyOf(metadata: ObjectMeta): string {
  const name = metadata.name ?? "";
  return metadata.namespace === undefined ? name : `${metadata.namespace}/${name}`;
}

export function createInformer<T extends KubeObject, R>(
  options: InformerOptions<T, R> & { readonly project: (object: T) => R },
): Informer<R>;
export function createInformer<T extends KubeObject>(options: InformerOptions<T, T>): Informer<T>;
export function createInformer<T extends KubeObject>(
  options: InformerOptions<T, unknown>,
): Informer<unknown> {
  const { store, resource, clock, random, onError } = options;
  const project = options.project ?? dropManagedFields;
  const backoff = { ...BACKOFF, capMs: options.retryCapMs ?? BACKOFF.capMs };
  const scope = {
    ...(options.namespace !== undefined && { namespace: options.namespace }),
    ...(options.labelSelector !== undefined && { labelSelector: options.labelSelector }),
    ...(options.fieldSelector !== undefined && { fieldSelector: options.fieldSelector }),
  };
  const cache = createCache(options.indexes);
  const stopping = new AbortController();
  const totals = { lists: 0, watches: 0, events: 0, failures: 0 };
  let synced = false;
  let waiters: { resolve: () => void; reject: (reason: unknown) => void }[] = [];
  const madeAtMs = clock.monotonic();
  let lastContactMs: number | undefined;
  /** Where a watch goes on; undefined: only a list can tell. */
  let resumeAt: string | undefined;
  const failures = { answered: 0, unanswered: 0 };
  let expiriesInARow = 0;
  let pageLimit = PAGE_LIMIT;
  let hasRecovered = true;
  /** How it failed since the server last answered. */
  const told = new Set<string>();
  let pausing: AbortController | undefined;
  let pausedAtMs = 0;
  /** Pauses cut short since a stream last lived long. */
  let cutsInARow = 0;
  let isAskedToWait = false;

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const pauseMs = resumeAt === undefined ? await listAll() : await watchOnce(resumeAt);
      if (pauseMs > 0) await pause(pauseMs);
    }
  }

  async function pause(pauseMs: number): Promise<void> {
    if (stopping.signal.aborted) return;
    pausing = new AbortController();
    pausedAtMs = clock.monotonic();
    await sleep(clock, pauseMs, pausing.signal).catch(() => undefined);
    pausing = undefined;
    isAskedToWait = false;
  }

  /** Answers how long to pause. Pages are stored as they come, so that never more than one is held. */
  async function listAll(): Promise<number> {
    totals.lists++;
    const seen = new Set<string>();
    let first: ListPage<T> | undefined;
    let next: string | undefined;
    try {
      do {
        const page = await readPage(next);
        if (stopping.signal.aborted) return 0;
        first ??= page;
        noteRecovery();
        for (const object of page.items) {
          const key = keyOf(object.metadata);
          seen.add(key);
          keep(key, object);
        }
        next = page.continue === "" ? undefined : page.continue;
      } while (next !== undefined);
    } catch (error) {
      // For good: objects that were large once may be again, and no page of theirs was ever read.
      if (isStoreError(error, "TooLarge") && !isListedWhole()) pageLimit = Math.ceil(pageLimit / 4);
      expiriesInARow = isStoreError(error, "Gone") ? expiriesInARow + 1 : 0;
      return failed("list", error);
    }
    expiriesInARow = 0;
    for (const key of cache.keys()) if (!seen.has(key)) drop(key);
    resumeAt = first.resourceVersion;
    lastContactMs = clock.monotonic();
    setSynced();
    return 0;
  }

  function isListedWhole(): boolean {
    return expiriesInARow >= EXPIRIES_BEFORE_WHOLE_LIST;
  }

  function readPage(next: string | undefined): Promise<ListPage<T>> {
    return runBounded({ clock, boundMs: PAGE_BOUND_MS, stop: stopping.signal }, (signal) =>
      store.list(resource, {
        ...scope,
        ...(!isListedWhole() && { limit: pageLimit }),
        ...(next !== undefined && { continue: next }),
        signal,
      }),
    );
  }

  /** Answers how long to pause. */
  async function watchOnce(resourceVersion: string): Promise<number> {
    totals.watches++;
    // Spread over the second half, so that the watches of a fleet do not end together.
    const timeoutSeconds = SHORTEST_WATCH_SECONDS + Math.floor(SHORTEST_WATCH_SECONDS * random());
    const boundMs = timeoutSeconds * 1_000 + WATCH_MARGIN_MS;
    let openedMs: number | undefined;
    let ended: { readonly error: unknown } | undefined;
    const onOpen = (): void => {
      lastContactMs = clock.monotonic();
      openedMs ??= lastContactMs;
      noteRecovery();
    };
    try {
      await runBounded({ clock, boundMs, stop: stopping.signal }, (signal) => {
        const watch = { ...scope, resourceVersion, timeoutSeconds, signal, onOpen };
        return store.watch(resource, watch, (event) => {
          // A stream that we have left may still have something to say; it is no longer listened to.
          if (signal.aborted) return;
          onOpen();
          receive(event);
        });
      });
    } catch (error) {
      ended = { error };
    }
    if (stopping.signal.aborted) return 0;
    const livedMs = openedMs === undefined ? 0 : clock.monotonic() - openedMs;
    if (ended === undefined) lastContactMs = clock.monotonic();
    if (livedMs >= HEALTHY_MS) failures.answered = failures.unanswered = cutsInARow = 0;
    if (livedMs >= HEALTHY_MS && ended === undefined) return BACKOFF.baseMs * random();
    const error = ended?.error ?? new Error(`the server ended the watch after ${livedMs} ms`);
    if (isStoreError(error, "Gone", "BadRequest", "Invalid")) {
      resumeAt = undefined;
      synced = false;
    }
    return failed("watch", error, livedMs);
  }

  /**
   * Counts, reports, and answers how long to pause. The life of a stream counts towards the pause: a proxy that cuts
   * streams every half minute must not leave us blind for the other half.
   */
  function failed(during: "list" | "watch", error: unknown, livedMs = 0): number {
    if (stopping.signal.aborted) return 0;
    const spreadMs = isStoreError(error, "Gone") ? (options.relistOverMs?.() ?? 0) * random() : 0;
    const askedMs = Math.max(retryAfterMs(error, random), spreadMs);
    // Who says when to come again has answered: a server that is not quite up yet does, with 503.
    const isAnswer = askedMs > 0 || !isStoreError(error, ...NO_ANSWER);
    const kind = isAnswer ? "answered" : "unanswered";
    failures[kind]++;
    hasRecovered = false;
    const growing = backoffMs(backoff, failures[kind], random) - livedMs;
    const leastMs = BACKOFF.baseMs * random();
    isAskedToWait = askedMs > 0;
    const retryInMs = Math.max(askedMs, growing, leastMs);
    totals.failures++;
    const how = isStoreError(error) ? error.code : String(error);
    const isRepeated = told.has(how);
    told.add(how);
    onError({ during, error, retryInMs, isRepeated });
    return retryInMs;
  }

  function noteRecovery(): void {
    if (hasRecovered) return;
    hasRecovered = true;
    told.clear();
    options.onRecovery?.();
  }

  function receive(event: WatchEvent<T>): void {
    totals.events++;
    if (event.type === "BOOKMARK") {
      resumeAt = event.resourceVersion;
      return;
    }
    const key = keyOf(event.object.metadata);
    if (event.type === "DELETED") drop(key);
    else keep(key, event.object);
    resumeAt = event.object.metadata.resourceVersion ?? resumeAt;
  }

  function keep(key: string, object: T): void {
    const { uid = "", resourceVersion = "" } = object.metadata;
    const before = cache.get(key);
    const isSameObject = before?.uid === uid;
    if (isSameObject && before.resourceVersion === resourceVersion) return;
    let record: unknown;
    try {
      record = project(object);
      if (before !== undefined && !isSameObject) drop(key);
      cache.set(key, { record, uid, resourceVersion });
    } catch (error) {
      onError({ during: "project", key, error });
      return;
    }
    tell(key, isSameObject ? before.record : undefined, record);
  }

  function drop(key: string): void {
    const before = cache.get(key);
    if (before === undefined) return;
    cache.delete(key);
    tell(key, before.record, undefined);
  }

  function tell(key: string, before: unknown, after: unknown): void {
    if (stopping.signal.aborted) return;
    try {
      options.onChange(key, before, after);
    } catch (error) {
      onError({ during: "onChange", key, error });
    }
  }

  function setSynced(): void {
    synced = true;
    const resolved = waiters;
    waiters = [];
    for (const { resolve } of resolved) resolve();
  }

  const ended = run();
  return {
    isSynced: () => synced,
    whenSynced() {
      if (synced) return Promise.resolve();
      if (stopping.signal.aborted) return Promise.reject(stopping.signal.reason);
      return new Promise((resolve, reject) => {
        waiters.push({ resolve, reject });
      });
    },
    get: (key) => cache.get(key)?.record,
    keys: () => cache.keys(),
    list: () => cache.list(),
    byIndex: (name, value) => cache.byIndex(name, value),
    lastContact: () => lastContactMs,
    snapshot: () => ({
      resource,
      objects: cache.size(),
      ...totals,
      ageMs: clock.monotonic() - (lastContactMs ?? madeAtMs),
    }),
    retryNow() {
      if (pausing === undefined || pausing.signal.aborted || isAskedToWait) return;
      // Else informers whose streams open and end at once would keep each other from ever pausing.
      const idle = cutsInARow - CUTS_FOR_NOTHING;
      const leastMs = idle <= 0 ? 0 : backoffMs(backoff, idle, random);
      if (clock.monotonic() - pausedAtMs < leastMs) return;
      cutsInARow++;
      pausing.abort();
    },
    stop() {
      stopping.abort(new Error(`the informer of ${resource.plural} was stopped`));
      pausing?.abort();
      for (const { reject } of waiters) reject(stopping.signal.reason);
      waiters = [];
      return ended;
    },
  };
}

/** Nobody here reads them, and they can be most of an object. */
function dropManagedFields<T extends KubeObject>(object: T): T {
  if (object.metadata.managedFields === undefined) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
