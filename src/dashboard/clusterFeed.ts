// Dashboard: one cluster's API server in, the little that is shown of it out, kept current by watches. A cluster that does not
// answer stays as it was last seen, is asked again and again, and says why it is not read.

import { ENDPOINT_SLICE, SECRET } from "../api/builtin.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT, type ServiceImport } from "../api/mcs.ts";
import {
  CLUSTER_ID_PROPERTY,
  type ClusterId,
  CLUSTERSET_PROPERTY,
  type ServiceKey,
} from "../api/names.ts";
import type { KubeObject, Resource } from "../api/object.ts";
import {
  type EndpointFact,
  type EndpointShift,
  type ExportFact,
  findShifts,
  type ImportFact,
  readExport,
  readImport,
  readSlice,
} from "../core/dashboard/facts.ts";
import { readDrain } from "../core/drain.ts";
import { HUB_SECRET, type HubCredential, parseCredential } from "../hub/credential.ts";
import { type Clock, type Random, sleep } from "../ports/clock.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import { runBounded } from "../runtime/bounded.ts";
import { createInformer, type Informer } from "../runtime/informer.ts";
import { createTroubles, HUB_HIDDEN, identify, readProperties } from "./access.ts";

export interface FeedSource {
  /** What whoever asked calls it. */
  readonly name: string;
  readonly givenId?: string | undefined;
  /** What it may be called where it has no id. */
  readonly guess?: string | undefined;
  readonly store: Store;
  /** A failure as a sentence for people, with what to do. */
  readonly describe: (error: unknown) => string;
}

/** When it last answered. */
export interface Contact {
  readonly silentMs: number;
  /** It has answered since we look; else these are the times of our beginning. */
  readonly isHeard: boolean;
  /** Wall clock. */
  readonly sinceMs: number;
}

export interface ClusterFeed {
  readonly source: FeedSource;
  /** Its id, as far as is known; else what it is called here. */
  id(): string;
  /** Everything has been read of it, once. */
  isRead(): boolean;
  /** It has been asked, whether or not it answered. */
  isAsked(): boolean;
  contact(): Contact;
  /** Why it does not answer now. */
  failure(): unknown;
  problems(): readonly string[];
  drained(): string | undefined;
  credential(): HubCredential | undefined;
  services(): Iterable<ServiceKey>;
  /** Undefined: not read yet. */
  counts(): { readonly exports: number | undefined; readonly imports: number | undefined };
  exportOf(service: ServiceKey): ExportFact | undefined;
  importOf(service: ServiceKey): ImportFact | undefined;
  /** Else nothing is known of any endpoint. */
  hasSlices(): boolean;
  slicesOf(service: ServiceKey): readonly EndpointFact[];
  lostSliceAtMs(service: ServiceKey): number | undefined;
  /** Reads the credential for the hub again: the one before was refused. */
  reviewCredential(): Promise<void>;
  stop(): Promise<void>;
}

export interface ClusterFeedOptions extends FeedSource {
  readonly heartbeatMs: number;
  readonly asksHub: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly onService: (service: ServiceKey) => void;
  /** Of its own endpoints, or of those that it imports from a source. */
  readonly onEndpoints: (shift: EndpointShift) => void;
  /** Something about the cluster itself. */
  readonly onCluster: () => void;
}

const PROBE_BOUND_MS = 4_000;
/** A server that comes back is looked at again soon: somebody is watching. */
const RETRY_CAP_MS = 5_000;
/** The credential is renewed long before it expires. */
const CREDENTIAL_EVERY = 12;

export function startClusterFeed(options: ClusterFeedOptions): ClusterFeed {
  const { store, clock, random } = options;
  const stopping = new AbortController();
  const troubles = createTroubles(options.describe);
  const lostSlices = new Map<ServiceKey, number>();
  const readOnce = new Set<Informer<unknown>>();
  let id: ClusterId | undefined;
  let idProblem: string | undefined;
  let drained: string | undefined;
  let credential: HubCredential | undefined;
  let answeredAtMs = clock.monotonic();
  let sinceMs = clock.now();
  let isHeard = false;
  let isAsked = false;
  let isHubHidden = false;
  let isProbed = false;
  let isMember = false;
  let failure: unknown;

  function inform<T extends KubeObject, R>(
    resource: Resource<T>,
    parts: {
      readonly project: (object: T) => R;
      readonly indexes?: Readonly<Record<string, (record: R) => readonly string[]>>;
      readonly onChange: (key: string, before: R | undefined, after: R | undefined) => void;
    },
  ): Informer<R> {
    return createInformer<T, R>({
      ...parts,
      // When an import was last written is told nowhere else; the watch tells of what is written now.
      store: {
        list: (kind, listing) => store.list(kind, { ...listing, keepsManagedFields: true }),
        watch: (kind, watching, onEvent) => store.watch(kind, watching, onEvent),
      },
      resource,
      onError(failed) {
        if (troubles.note(resource, failed)) options.onCluster();
      },
      onRecovery() {
        if (troubles.end(resource)) options.onCluster();
        // No need to wait for the next heartbeat: it answers.
        heard();
      },
      retryCapMs: RETRY_CAP_MS,
      clock,
      random,
    });
  }

  const serviceExports = inform(SERVICE_EXPORT, {
    project: readExport,
    onChange: (key) => options.onService(key as ServiceKey),
  });
  const serviceImports = inform(SERVICE_IMPORT, {
    project: (object: ServiceImport) => ({
      ...readImport(object, clock.now()),
      clusters: (object.status?.clusters ?? []).map(({ cluster }) => cluster),
    }),
    onChange(key, _, after) {
      if (after === undefined) lostSlices.delete(key as ServiceKey);
      options.onService(key as ServiceKey);
    },
  });
  const slices = inform(ENDPOINT_SLICE, {
    project: (slice) => readSlice(slice, clock.now()),
    indexes: { service: (fact) => (fact === undefined ? [] : [fact.service]) },
    onChange(_, before, after) {
      const wentFrom = after === undefined ? before : undefined;
      if (wentFrom?.source !== undefined && serviceImports.get(wentFrom.service) !== undefined) {
        lostSlices.set(wentFrom.service, clock.now());
      }
      for (const shift of findShifts(before, after)) {
        options.onService(shift.service);
        options.onEndpoints(shift);
      }
    },
  });
  const kinds: readonly (readonly [Resource, Informer<unknown>])[] = [
    [SERVICE_EXPORT, serviceExports],
    [SERVICE_IMPORT, serviceImports],
    [ENDPOINT_SLICE, slices],
  ];
  const informers = kinds.map(([, informer]) => informer);

  /** What was read stays, also while it is read anew. */
  function isKnown(informer: Informer<unknown>): boolean {
    if (informer.isSynced()) readOnce.add(informer);
    return readOnce.has(informer);
  }

  async function probe(signal: AbortSignal): Promise<void> {
    const properties = await readProperties(store, signal);
    const before = JSON.stringify([id, idProblem, drained]);
    isProbed = true;
    drained = readDrain(properties);
    isMember = properties.some(({ metadata }) => metadata.name === CLUSTERSET_PROPERTY);
    const property = properties.find(({ metadata }) => metadata.name === CLUSTER_ID_PROPERTY);
    const known = options.givenId ?? (property === undefined ? credential?.cluster : undefined);
    const listed = (guess: string): boolean =>
      serviceImports.list().some(({ clusters }) => clusters.includes(guess));
    ({ id, problem: idProblem } = identify({ ...options, known }, property, listed));
    if (before !== JSON.stringify([id, idProblem, drained])) options.onCluster();
  }

  async function readCredential(signal: AbortSignal): Promise<void> {
    if (!options.asksHub) return;
    try {
      const secret = await store.get(SECRET, HUB_SECRET, { signal });
      const parsed = secret === undefined ? undefined : parseCredential(secret);
      const now = parsed?.ok === true ? parsed.value : undefined;
      isHubHidden = false;
      if (JSON.stringify(now) === JSON.stringify(credential)) return;
      credential = now;
      options.onCluster();
    } catch (error) {
      if (!isStoreError(error, "Forbidden")) throw error;
      isHubHidden = true;
    }
  }

  async function run(): Promise<void> {
    for (let round = 0; !stopping.signal.aborted; round += 1) {
      try {
        await bounded(async (signal) => {
          if (round % CREDENTIAL_EVERY === 0 || credential === undefined) {
            await readCredential(signal);
          }
          await probe(signal);
        });
        heard();
      } catch (error) {
        if (stopping.signal.aborted) return;
        // To be turned away is to be answered.
        if (isStoreError(error, "Forbidden", "TooManyRequests")) heard();
        else missed(error);
      }
      await sleep(clock, options.heartbeatMs * (0.9 + 0.2 * random()), stopping.signal).catch(
        () => undefined,
      );
    }
  }

  function heard(): void {
    answeredAtMs = clock.monotonic();
    sinceMs = clock.now();
    const wasAway = failure !== undefined || !isHeard;
    isHeard = true;
    isAsked = true;
    failure = undefined;
    if (!wasAway) return;
    for (const informer of informers) informer.retryNow();
    options.onCluster();
  }

  function missed(error: unknown): void {
    const isNews = failure === undefined || !isAsked;
    failure = error;
    isAsked = true;
    if (isNews) options.onCluster();
  }

  function bounded<X>(ask: (signal: AbortSignal) => Promise<X>): Promise<X> {
    return runBounded({ clock, boundMs: PROBE_BOUND_MS, stop: stopping.signal }, ask);
  }

  const ended = run();
  return {
    source: options,
    id: () => id ?? options.givenId ?? options.name,
    isRead: () => isProbed && informers.every(isKnown),
    isAsked: () =>
      // What cannot be read now may never be; the rest does not wait for it.
      isAsked &&
      (failure !== undefined || kinds.every(([kind, one]) => isKnown(one) || troubles.has(kind))),
    contact: () => ({ silentMs: clock.monotonic() - answeredAtMs, isHeard, sinceMs }),
    failure: () => failure,
    problems: () => [
      ...(failure === undefined ? [] : [options.describe(failure)]),
      ...(idProblem === undefined ? [] : [idProblem]),
      ...(isMember && isHubHidden ? [HUB_HIDDEN] : []),
      ...troubles.sentences(failure !== undefined),
    ],
    drained: () => drained,
    credential: () => credential,
    *services() {
      yield* serviceExports.keys() as IterableIterator<ServiceKey>;
      yield* serviceImports.keys() as IterableIterator<ServiceKey>;
    },
    counts: () => ({
      exports: isKnown(serviceExports) ? [...serviceExports.keys()].length : undefined,
      imports: isKnown(serviceImports) ? [...serviceImports.keys()].length : undefined,
    }),
    exportOf: (service) => serviceExports.get(service),
    importOf: (service) => serviceImports.get(service),
    hasSlices: () => isKnown(slices),
    slicesOf: (service) => slices.byIndex("service", service).flatMap((fact) => fact ?? []),
    lostSliceAtMs: (service) => lostSlices.get(service),
    reviewCredential: () => bounded(readCredential).catch(() => undefined),
    async stop() {
      stopping.abort(new Error("stopped"));
      await Promise.all([ended, ...informers.map((informer) => informer.stop())]);
    },
  };
}
