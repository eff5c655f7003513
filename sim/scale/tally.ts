// Tally: everything that agents ask of the hub and write in their clusters in; requests, writes and bytes since it was last
// emptied out. Changes nothing, but for agents that are to hold copies of their own.

import { EVENT, LEASE } from "../../src/api/builtin.ts";
import type { ClusterId } from "../../src/api/names.ts";
import type { KubeObject } from "../../src/api/object.ts";
import type { Store, WatchEvent } from "../../src/ports/store.ts";
import type { AgentStores, Observer } from "../observe.ts";
import type { SimTime } from "../time.ts";
import type { Site } from "../world.ts";
import { createCopyingStore, createWriteListener } from "./ear.ts";

/** What one phase cost. */
export interface Counts {
  /** Verb to count: what reached the hub. */
  readonly requests: Record<string, number>;
  /** When each of them was sent. */
  readonly sentMs: number[];
  /** When each was sent that found no hub. */
  readonly vainMs: number[];
  /** But for heartbeats. */
  hubWrites: number;
  heartbeats: number;
  /** What agents wrote in their clusters, Events apart. */
  writes: number;
  watchEvents: number;
  watchBytes: number;
  readonly listed: { readonly atMs: number; readonly bytes: number }[];
  /** The first few writes, as sentences: what somebody wants to know when there should have been none. */
  readonly examples: string[];
}

const MOST_EXAMPLES = 5;
const BOOKMARK_BYTES = 200;
/** `{"type":"MODIFIED","object":…}` and a line feed. */
const ENVELOPE_BYTES = 31;

export class Tally implements Observer {
  isHubAway = false;
  /** Of an agent, in a cluster or on the hub, that was no heartbeat. */
  lastWriteMs = 0;
  /** Clusters whose agents share no memory with the servers, which are in the same process. */
  readonly copying = new Set<number>();
  readonly #time: SimTime;
  /** Every watcher is handed the same object: it is measured once. */
  readonly #sizes = new WeakMap<object, number>();
  #counts = emptyCounts();

  constructor(time: SimTime) {
    this.#time = time;
  }

  /** What was counted since this was last asked. */
  take(): Counts {
    const counts = this.#counts;
    this.#counts = emptyCounts();
    return counts;
  }

  onWrite(): void {
    // Only what agents ask for is counted, and they are listened to themselves.
  }
  onHubWrite(): void {
    // As above.
  }
  onCall(): void {
    // As above.
  }
  onLog(): void {
    // Nobody reads it.
  }
  onJoin(): void {
    // Nothing has to be known of it.
  }

  watchSight(site: Site, id: ClusterId, stores: AgentStores): AgentStores {
    const own = createWriteListener(stores.own, (_, plural, name) => {
      if (plural === EVENT.plural) return;
      this.#counts.writes += 1;
      this.#noteWrite(`${id} wrote ${plural} ${name} in its cluster`);
    });
    const written = createWriteListener(stores.hub, (verb, plural, name) => {
      this.#noteRequest(verb);
      if (this.isHubAway) return;
      if (plural === LEASE.plural) {
        this.#counts.heartbeats += 1;
        return;
      }
      this.#counts.hubWrites += 1;
      this.#noteWrite(`${id} wrote ${plural} ${name} on the hub`);
    });
    const hub = { ...written, ...this.#listenToReads(stores.hub) };
    if (!this.copying.has(site.index)) return { own, hub };
    return { own: createCopyingStore(own), hub: createCopyingStore(hub) };
  }

  #noteWrite(sentence: string): void {
    const { examples } = this.#counts;
    this.lastWriteMs = this.#time.nowMs;
    if (examples.length < MOST_EXAMPLES) examples.push(sentence);
  }

  #noteRequest(verb: string): void {
    const { requests, sentMs, vainMs } = this.#counts;
    (this.isHubAway ? vainMs : sentMs).push(this.#time.nowMs);
    if (!this.isHubAway) requests[verb] = (requests[verb] ?? 0) + 1;
  }

  #listenToReads(store: Store): Pick<Store, "get" | "list" | "watch"> {
    return {
      get: (resource, ref, getting) => {
        this.#noteRequest("get");
        return store.get(resource, ref, getting);
      },
      list: async (resource, listing) => {
        this.#noteRequest("list");
        const page = await store.list(resource, listing);
        let bytes = 0;
        for (const item of page.items) bytes += this.#sizeOf(item);
        this.#counts.listed.push({ atMs: this.#time.nowMs, bytes });
        return page;
      },
      watch: (resource, watching, onEvent) => {
        this.#noteRequest("watch");
        return store.watch(resource, watching, (event) => {
          this.#counts.watchEvents += 1;
          this.#counts.watchBytes += this.#sizeOfEvent(event);
          onEvent(event);
        });
      },
    };
  }

  #sizeOfEvent(event: WatchEvent<KubeObject>): number {
    if (event.type === "BOOKMARK") return BOOKMARK_BYTES;
    return this.#sizeOf(event.object) + ENVELOPE_BYTES;
  }

  #sizeOf(object: KubeObject): number {
    let size = this.#sizes.get(object);
    if (size === undefined) {
      size = Buffer.byteLength(JSON.stringify(object));
      this.#sizes.set(object, size);
    }
    return size;
  }
}

function emptyCounts(): Counts {
  return {
    requests: {},
    sentMs: [],
    vainMs: [],
    hubWrites: 0,
    heartbeats: 0,
    writes: 0,
    watchEvents: 0,
    watchBytes: 0,
    listed: [],
    examples: [],
  };
}
