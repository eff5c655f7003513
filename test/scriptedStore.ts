// Test double for the reading half of the store port: a small server with a history that a test changes, compacts and cuts
// as it likes, and a script of what to answer to the next requests instead of the truth.

import { defineResource, type KubeObject } from "../src/api/object.ts";
import type { Clock } from "../src/ports/clock.ts";
import {
  type ListOptions,
  type ListPage,
  type Store,
  StoreError,
  type WatchEvent,
  type WatchOptions,
} from "../src/ports/store.ts";

export interface Thing extends KubeObject {
  readonly value: number;
}
export const THING = defineResource<Thing>({
  apiVersion: "test.isthmus.dev/v1",
  kind: "Thing",
  plural: "things",
  namespaced: true,
});

export interface SeenRequest {
  readonly verb: "list" | "watch";
  readonly atMs: number;
  readonly options: ListOptions & Partial<WatchOptions>;
}

/** Instead of the truth: an error, an end at once, or no answer ever. "ok" lets the request through. */
export type Fault = StoreError | "end" | "hang" | "ok";

interface Change {
  readonly version: number;
  readonly before: Thing | undefined;
  readonly after: Thing | undefined;
}
interface OpenWatch {
  readonly selects: (thing: Thing) => boolean;
  readonly onEvent: (event: WatchEvent<Thing>) => void;
  readonly end: (error?: StoreError) => void;
}

const GONE = "the version asked for is no longer there";

export class ScriptedStore implements Pick<Store, "list" | "watch"> {
  readonly requests: SeenRequest[] = [];
  /** Consumed one per request of that verb. */
  readonly faults: { readonly list: Fault[]; readonly watch: Fault[] } = { list: [], watch: [] };
  /** For every request of that verb, once its script has run out. */
  always: { list?: Fault; watch?: Fault } = {};
  /** Pages are no larger than this, whatever is asked for. */
  pageSize = 500;
  /** Called before a page is answered, for what happens between two pages. */
  beforePage: (page: number) => void = () => undefined;
  readonly #clock: Clock;
  readonly #things = new Map<string, Thing>();
  readonly #watches = new Set<OpenWatch>();
  readonly #snapshots = new Map<string, readonly Thing[]>();
  #changes: Change[] = [];
  #version = 100;
  #oldest = 0;
  #uids = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  /** The truth, by key. */
  things(labelSelector?: string): Map<string, Thing> {
    const selects = selectorOf(labelSelector);
    return new Map([...this.#things].filter(([, thing]) => selects(thing)));
  }

  requestsOf(verb: "list" | "watch"): SeenRequest[] {
    return this.requests.filter((request) => request.verb === verb);
  }

  /** Creates or changes. */
  put(name: string, value: number, labels: Readonly<Record<string, string>> = {}): void {
    const key = `default/${name}`;
    const before = this.#things.get(key);
    const after: Thing = {
      apiVersion: "test.isthmus.dev/v1",
      kind: "Thing",
      metadata: {
        name,
        namespace: "default",
        uid: before?.metadata.uid ?? `uid-${++this.#uids}`,
        resourceVersion: String(++this.#version),
        labels,
      },
      value,
    };
    this.#things.set(key, after);
    this.#commit({ version: this.#version, before, after });
  }

  remove(name: string): void {
    const before = this.#things.get(`default/${name}`);
    if (before === undefined) return;
    this.#things.delete(`default/${name}`);
    this.#commit({ version: ++this.#version, before, after: undefined });
  }

  /** Forgets all history: versions and continue tokens from before now are too old. */
  compact(): void {
    this.#oldest = this.#version;
    this.#changes = [];
    this.#snapshots.clear();
  }

  bookmark(): void {
    for (const { onEvent } of this.#watches) {
      onEvent({ type: "BOOKMARK", resourceVersion: String(this.#version) });
    }
  }

  /** Ends all open watches: cleanly, or with an error. */
  endWatches(error?: StoreError): void {
    for (const watch of this.#watches) watch.end(error);
  }

  async list<T extends KubeObject>(
    _resource: unknown,
    options: ListOptions = {},
  ): Promise<ListPage<T>> {
    this.requests.push({ verb: "list", atMs: this.#clock.monotonic(), options });
    const fault = this.faults.list.shift() ?? this.always.list ?? "ok";
    if (fault === "hang") return new Promise(() => undefined);
    if (fault instanceof StoreError) throw fault;
    const [version = "", start = "0"] = (options.continue ?? `${this.#version}:0`).split(":");
    const offset = Number(start);
    const limit = options.limit === undefined ? Infinity : Math.min(options.limit, this.pageSize);
    this.beforePage(offset / limit);
    if (options.continue === undefined) {
      this.#snapshots.set(version, [...this.things(options.labelSelector).values()]);
    }
    const snapshot = this.#snapshots.get(version);
    if (snapshot === undefined) throw new StoreError("Gone", GONE, { status: 410 });
    const end = Math.min(snapshot.length, offset + limit);
    // The fake only holds things; the port is generic.
    const items = snapshot.slice(offset, end) as unknown as readonly T[];
    return {
      items,
      resourceVersion: version,
      ...(end < snapshot.length && { continue: `${version}:${end}` }),
    };
  }

  async watch<T extends KubeObject>(
    _resource: unknown,
    options: WatchOptions,
    onEvent: (event: WatchEvent<T>) => void,
  ): Promise<void> {
    this.requests.push({ verb: "watch", atMs: this.#clock.monotonic(), options });
    const fault = this.faults.watch.shift() ?? this.always.watch ?? "ok";
    if (fault === "hang") return new Promise(() => undefined);
    if (fault instanceof StoreError) throw fault;
    const from = Number(options.resourceVersion);
    if (from < this.#oldest) throw new StoreError("Gone", GONE, { status: 410 });
    options.onOpen?.();
    if (fault === "end") return undefined;
    return this.#stream(options, from, onEvent as (event: WatchEvent<Thing>) => void);
  }

  #stream(
    options: WatchOptions,
    from: number,
    onEvent: (event: WatchEvent<Thing>) => void,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const watch: OpenWatch = {
        selects: selectorOf(options.labelSelector),
        onEvent,
        end: (error) => {
          this.#watches.delete(watch);
          timer.cancel();
          if (error === undefined) resolve();
          else reject(error);
        },
      };
      const timer = this.#clock.schedule((options.timeoutSeconds ?? 3_600) * 1_000, () =>
        watch.end(),
      );
      options.signal?.addEventListener("abort", () => watch.end(), { once: true });
      this.#watches.add(watch);
      for (const change of this.#changes) if (change.version > from) deliver(watch, change);
    });
  }

  #commit(change: Change): void {
    this.#changes.push(change);
    for (const watch of this.#watches) deliver(watch, change);
  }
}

/** An object that comes to match is added, one that ceases to match is deleted: as API servers do. */
function deliver(watch: OpenWatch, { version, before, after }: Change): void {
  const was = before !== undefined && watch.selects(before);
  const is = after !== undefined && watch.selects(after);
  if (is) watch.onEvent({ type: was ? "MODIFIED" : "ADDED", object: after });
  else if (was) {
    const metadata = { ...before.metadata, resourceVersion: String(version) };
    watch.onEvent({ type: "DELETED", object: { ...before, metadata } });
  }
}

/** Only "key=value". */
function selectorOf(labelSelector: string | undefined): (thing: Thing) => boolean {
  if (labelSelector === undefined) return () => true;
  const [key = "", value] = labelSelector.split("=");
  return (thing) => thing.metadata.labels?.[key] === value;
}
