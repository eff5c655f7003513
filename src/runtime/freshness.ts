// What we just wrote, until the informer has seen it: without it, a reconcile that runs before its own writes have come
// back through the watch would write them again. Grouped by the key whose reconcile wrote.

import type { KubeObject, Resource } from "../api/object.ts";
import type { Clock, Timer } from "../ports/clock.ts";
import { keyOf } from "./informer.ts";

/** How far behind a watch may be. If the cache has moved on in a way that cannot be told, the memory must fade. */
export const REMEMBER_MS = 30_000;
/** What fades is looked for no more often than that. */
const SWEEP_MS = 1_000;

interface Memory {
  readonly written: KubeObject;
  readonly isDeleted: boolean;
  readonly untilMs: number;
}

export interface Freshness {
  wrote(owner: string, resource: Resource, written: KubeObject): void;
  deleted(owner: string, resource: Resource, gone: KubeObject): void;
  /**
   * The informer told of a change: from here on its cache knows. True when it is just what we wrote, come back: no news to who planned
   * with it.
   */
  saw(
    owner: string,
    resource: Resource,
    change: { readonly before?: KubeObject; readonly after?: KubeObject },
  ): boolean;
  /** The cached objects of one owner, corrected by what we know better. */
  correct<T extends KubeObject>(
    owner: string,
    resource: Resource<T>,
    cached: readonly T[],
  ): readonly T[];
  /** Something of this owner is remembered. */
  isAhead(owner: string): boolean;
  stop(): void;
}

export interface FreshnessOptions {
  readonly clock: Clock;
  readonly rememberMs?: number;
  /** What this owner wrote never came back: how things are has to be looked at again. */
  readonly onFaded?: (owner: string) => void;
}

export function createFreshness(options: FreshnessOptions): Freshness {
  const { clock, rememberMs = REMEMBER_MS, onFaded } = options;
  const owners = new Map<string, Map<string, Memory>>();
  let sweeping: Timer | undefined;
  let isStopped = false;

  function remember(
    owner: string,
    resource: Resource,
    written: KubeObject,
    isDeleted: boolean,
  ): void {
    const memories = owners.get(owner) ?? new Map<string, Memory>();
    const untilMs = clock.monotonic() + rememberMs;
    memories.set(nameOf(resource, written), { written, isDeleted, untilMs });
    owners.set(owner, memories);
    if (!isStopped) sweeping ??= clock.schedule(rememberMs, sweep);
  }
  function sweep(): void {
    const now = clock.monotonic();
    const faded = new Set<string>();
    let nextMs = Infinity;
    for (const [owner, memories] of owners) {
      for (const [name, { untilMs }] of memories) {
        if (untilMs > now) {
          nextMs = Math.min(nextMs, untilMs);
          continue;
        }
        forget(owner, name);
        faded.add(owner);
      }
    }
    const isDone = nextMs === Infinity;
    sweeping = isDone ? undefined : clock.schedule(Math.max(SWEEP_MS, nextMs - now), sweep);
    for (const owner of faded) onFaded?.(owner);
  }
  function forget(owner: string, name: string): void {
    const memories = owners.get(owner);
    memories?.delete(name);
    if (memories?.size === 0) owners.delete(owner);
  }
  function recall(owner: string): readonly (readonly [string, Memory])[] {
    const memories = owners.get(owner);
    if (memories === undefined) return [];
    const now = clock.monotonic();
    return [...memories].filter(([, memory]) => memory.untilMs > now);
  }

  return {
    wrote: (owner, resource, written) => remember(owner, resource, written, false),
    deleted: (owner, resource, gone) => remember(owner, resource, gone, true),
    saw(owner, resource, { before, after }) {
      const object = after ?? before;
      if (object === undefined) return false;
      const name = nameOf(resource, object);
      const memory = owners.get(owner)?.get(name);
      if (memory === undefined || !isSeen(memory, before, after)) return false;
      forget(owner, name);
      return isEcho(memory, before, after);
    },
    correct<T extends KubeObject>(owner: string, resource: Resource<T>, cached: readonly T[]) {
      const memories = recall(owner).filter(([name]) => name.startsWith(prefixOf(resource)));
      if (memories.length === 0) return cached;
      const corrected = new Map(cached.map((object) => [nameOf(resource, object), object]));
      for (const [name, memory] of memories) {
        // The watch may be quicker than the answer to the write: then the cache knew before we did.
        if (isSeen(memory, undefined, corrected.get(name))) forget(owner, name);
        else if (memory.isDeleted) corrected.delete(name);
        else corrected.set(name, memory.written as T);
      }
      return [...corrected.values()];
    },
    isAhead: (owner) => recall(owner).length > 0,
    stop() {
      isStopped = true;
      sweeping?.cancel();
    },
  };
}

function isEcho(
  { written: { metadata }, isDeleted }: Memory,
  before: KubeObject | undefined,
  after: KubeObject | undefined,
): boolean {
  if (isDeleted) return after === undefined && before?.metadata.uid === metadata.uid;
  return after !== undefined && after.metadata.resourceVersion === metadata.resourceVersion;
}

/** The version that we wrote, or a later one: a relist may skip ours. */
function isSeen(
  memory: Memory,
  before: KubeObject | undefined,
  after: KubeObject | undefined,
): boolean {
  const { uid, resourceVersion = "" } = memory.written.metadata;
  if (memory.isDeleted) return after?.metadata.uid !== uid;
  return [before, after].some((object) => {
    const seen = object?.metadata.resourceVersion ?? "";
    return seen === resourceVersion || isLaterVersion(seen, resourceVersion);
  });
}

const COUNTED = /^[1-9][0-9]*$/u;

/** Versions of one kind of object count upwards; one that is no number tells nothing. */
function isLaterVersion(one: string, other: string): boolean {
  if (!COUNTED.test(one) || !COUNTED.test(other)) return false;
  return one.length === other.length ? one > other : one.length > other.length;
}

function prefixOf(resource: Resource): string {
  return `${resource.group}/${resource.plural} `;
}

function nameOf(resource: Resource, object: KubeObject): string {
  return prefixOf(resource) + keyOf(object.metadata);
}
