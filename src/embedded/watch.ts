// Embedded server, watches: changes of storage in, wire events to each watcher out, in order and once. Never writes.
//
//   opened ─start─▶ replaying (past or synthetic events) ─▶ live ─▶ ended (timeout, stop, cut, or ERROR 410)

import type { KubeObject } from "../api/object.ts";
import type { Clock, Random, Timer } from "../ports/clock.ts";
import { forbidden as forbiddenValue } from "./schema/failure.ts";
import type { Kind } from "./kind.ts";
import { asJson } from "./metadata.ts";
import { isTrue, type Target } from "./request.ts";
import { parseSelection, type Selection } from "./selection.ts";
import { ApiError, expired, invalidOptions } from "./status.ts";
import type { Change, Storage } from "./storage.ts";
import type { JsonObject, WatchAnswer, WireEvent } from "./types.ts";
import { parseInteger, parseVersion, parseVersionMatch } from "./version.ts";

const BOOKMARK_MS = 60_000;
/** The real server ends a watch without a timeout after 30 to 60 minutes. */
const SHORTEST_TIMEOUT_SECONDS = 1800;
const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

export interface WatchRequest {
  readonly kind: Kind;
  readonly target: Target;
  readonly query: URLSearchParams;
  readonly userAgent: string | undefined;
}

export interface WatchLimits {
  readonly watchers: number;
  /** Events that a delayed watcher may be behind before it is cut. */
  readonly pendingEvents: number;
}

interface HubOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: WatchLimits;
  /** Fault injection: how late events reach this watcher now. */
  readonly delayMs: (request: WatchRequest) => number;
}

interface Plan {
  readonly version: number | undefined;
  readonly bookmarks: boolean;
  readonly sendInitial: boolean;
  /** A bookmark marks the end of the initial events. */
  readonly markInitial: boolean;
  readonly timeoutMs: number;
  readonly selection: Selection;
}

export class WatchHub {
  readonly #options: HubOptions;
  readonly #watchers = new Set<Watcher>();
  readonly #undelivered: Change[] = [];
  #delivering = false;

  constructor(options: HubOptions) {
    this.#options = options;
    options.storage.onChange((change) => this.#undelivered.push(change));
  }

  get size(): number {
    return this.#watchers.size;
  }

  /** Delayed events are still under way. */
  get isBehind(): boolean {
    return this.#undelivered.length > 0 || [...this.#watchers].some((watcher) => watcher.isBehind);
  }

  open(request: WatchRequest): WatchAnswer {
    const plan = planWatch(request, this.#options.random);
    if (this.#watchers.size >= this.#options.limits.watchers) {
      throw new ApiError({
        status: 429,
        reason: "TooManyRequests",
        message: "too many watches are open, please try again later",
        retryAfterSeconds: 1,
      });
    }
    return {
      kind: "watch",
      served: request.kind.served,
      start: (onEvent, onEnd) => {
        const watcher = new Watcher(request, plan, this.#options, onEvent, (end) => {
          this.#watchers.delete(watcher);
          onEnd(end);
        });
        this.#watchers.add(watcher);
        watcher.replay();
        return {
          stop: () => {
            this.#watchers.delete(watcher);
            watcher.close();
          },
        };
      },
    };
  }

  /** Hands out what was written since; a write from inside a callback is delivered after it, not within. */
  flush(): void {
    if (this.#delivering) return;
    this.#delivering = true;
    try {
      for (let change = this.#undelivered.shift(); change; change = this.#undelivered.shift()) {
        for (const watcher of this.#watchers) watcher.accept(change);
      }
    } finally {
      this.#delivering = false;
    }
  }

  /** Ends the watches that match; `clean: false` cuts them as a broken connection would. */
  end(matches: (request: WatchRequest) => boolean, clean: boolean): number {
    const ended = [...this.#watchers].filter((watcher) => matches(watcher.request));
    for (const watcher of ended) watcher.end(clean);
    return ended.length;
  }
}

function planWatch(request: WatchRequest, random: Random): Plan {
  const { kind, query, target } = request;
  const version = parseVersion(query.get("resourceVersion"));
  const match = parseVersionMatch(query);
  const initial = query.get("sendInitialEvents");
  if (initial === null && match !== undefined) {
    const why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
    throw invalidOptions("ListOptions", [forbiddenValue("resourceVersionMatch", why)]);
  }
  if (initial !== null && match !== "NotOlderThan") {
    const why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
    throw invalidOptions("ListOptions", [forbiddenValue("resourceVersionMatch", why)]);
  }
  const bookmarks = isTrue(query.get("allowWatchBookmarks"));
  const asked = parseInteger(query.get("timeoutSeconds"));
  const seconds = asked > 0 ? asked : SHORTEST_TIMEOUT_SECONDS * (1 + random());
  return {
    version,
    bookmarks,
    sendInitial: initial === null ? (version ?? 0) === 0 : isTrue(initial),
    markInitial: bookmarks && initial !== null && isTrue(initial),
    timeoutMs: seconds * 1000,
    selection: parseSelection(kind, query, target.name),
  };
}

class Watcher {
  readonly request: WatchRequest;
  readonly #plan: Plan;
  readonly #options: HubOptions;
  readonly #onEvent: (event: WireEvent) => void;
  readonly #onEnd: (end: { readonly clean: boolean }) => void;
  readonly #pending: { readonly event: WireEvent; readonly dueMs: number }[] = [];
  readonly #timers = new Map<"timeout" | "bookmark" | "delivery", Timer>();
  /** Changes up to here were delivered or did not concern this watcher. */
  #position = 0;
  #open = true;

  constructor(
    request: WatchRequest,
    plan: Plan,
    options: HubOptions,
    onEvent: (event: WireEvent) => void,
    onEnd: (end: { readonly clean: boolean }) => void,
  ) {
    this.request = request;
    this.#plan = plan;
    this.#options = options;
    this.#onEvent = onEvent;
    this.#onEnd = onEnd;
  }

  get isBehind(): boolean {
    return this.#pending.length > 0;
  }

  replay(): void {
    const { storage, clock } = this.#options;
    const { kind, target } = this.request;
    const { version, sendInitial, markInitial, timeoutMs, bookmarks } = this.#plan;
    this.#timers.set(
      "timeout",
      clock.schedule(timeoutMs, () => this.#timeOut()),
    );
    const now = storage.revision;
    if (sendInitial) {
      for (const stored of storage.list(kind.key, target.namespace)) {
        const object = kind.fromStored(stored);
        if (this.#plan.selection.matches(object)) this.#emit("ADDED", object);
      }
      this.#position = now;
      if (markInitial) this.#emitBookmark(true);
    } else {
      // Unset means the newest; a version in the future waits until it is reached.
      const since = version === undefined || version === 0 ? now : version;
      const changes = since >= now ? [] : storage.changesSince(kind.key, since);
      if (changes === undefined) {
        this.#fail(expired(`too old resource version: ${since} (${storage.compacted})`));
        return;
      }
      this.#position = since;
      for (const change of changes) this.accept(change);
      this.#position = Math.max(since, now);
    }
    if (bookmarks && this.#open) this.#scheduleBookmark();
  }

  accept(change: Change): void {
    const { kind, target } = this.request;
    if (!this.#open || change.revision <= this.#position) return;
    this.#position = change.revision;
    if (change.resource !== kind.key) return;
    if (target.namespace !== undefined && change.object.metadata.namespace !== target.namespace) {
      return;
    }
    const before = change.previous === undefined ? undefined : kind.fromStored(change.previous);
    const after = change.type === "DELETED" ? undefined : kind.fromStored(change.object);
    const { selection } = this.#plan;
    const wasIn = before !== undefined && selection.matches(before);
    const isIn = after !== undefined && selection.matches(after);
    if (isIn && after !== undefined) this.#emit(wasIn ? "MODIFIED" : "ADDED", after);
    else if (wasIn && before !== undefined) {
      // The state that the watcher knew, under the version at which it left.
      const gone =
        change.type === "DELETED"
          ? kind.fromStored(change.object)
          : withVersion(before, change.revision);
      this.#emit("DELETED", gone);
    }
  }

  end(clean: boolean): void {
    if (!this.#open) return;
    this.close();
    this.#onEnd({ clean });
  }

  close(): void {
    this.#open = false;
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
    this.#pending.length = 0;
  }

  #timeOut(): void {
    if (this.#plan.bookmarks) this.#emitBookmark(false);
    // What is late now would have been lost with the connection anyway.
    this.end(true);
  }

  #fail(error: ApiError): void {
    this.#send({ type: "ERROR", object: error.body });
    this.end(true);
  }

  #emit(type: WireEvent["type"], object: KubeObject): void {
    this.#deliver({ type, object: asJson(object) as JsonObject });
  }

  #emitBookmark(endsInitial: boolean): void {
    const { kind } = this.request;
    const annotations = endsInitial ? { annotations: { [INITIAL_EVENTS_END]: "true" } } : {};
    const version = Math.max(this.#position, this.#options.storage.revision);
    this.#deliver({
      type: "BOOKMARK",
      object: {
        kind: kind.served.resource.kind,
        apiVersion: kind.apiVersion,
        metadata: { resourceVersion: `${version}`, ...annotations },
      },
    });
  }

  #scheduleBookmark(): void {
    const timer = this.#options.clock.schedule(BOOKMARK_MS, () => {
      this.#emitBookmark(false);
      if (this.#open) this.#scheduleBookmark();
    });
    this.#timers.set("bookmark", timer);
  }

  #deliver(event: WireEvent): void {
    if (!this.#open) return;
    const delayMs = this.#options.delayMs(this.request);
    if (delayMs <= 0 && this.#pending.length === 0) {
      this.#send(event);
      return;
    }
    if (this.#pending.length >= this.#options.limits.pendingEvents) {
      this.end(false);
      return;
    }
    const last = this.#pending.at(-1)?.dueMs ?? 0;
    const dueMs = Math.max(last, this.#options.clock.monotonic() + delayMs);
    this.#pending.push({ event, dueMs });
    if (this.#pending.length === 1) this.#scheduleDelivery(dueMs);
  }

  #scheduleDelivery(dueMs: number): void {
    const { clock } = this.#options;
    const wait = Math.max(0, dueMs - clock.monotonic());
    const timer = clock.schedule(wait, () => {
      const now = clock.monotonic();
      while (this.#open && (this.#pending[0]?.dueMs ?? Infinity) <= now) {
        const next = this.#pending.shift();
        if (next !== undefined) this.#send(next.event);
      }
      const next = this.#pending[0];
      if (this.#open && next !== undefined) this.#scheduleDelivery(next.dueMs);
    });
    this.#timers.set("delivery", timer);
  }

  #send(event: WireEvent): void {
    try {
      this.#onEvent(event);
    } catch {
      // A consumer that fails must not take the other watchers with it: its stream ends as if cut.
      this.end(false);
    }
  }
}

function withVersion(object: KubeObject, revision: number): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: `${revision}` } };
}
