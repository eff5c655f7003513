// Observation: every write on every server at the moment it happens, every call and every line of log in; a trace, its hash,
// counts and broken rules out. Sees through faults, and changes nothing.

import { SERVICE, type Service } from "../src/api/builtin.ts";
import { SERVICE_SHARE } from "../src/api/hubshare.ts";
import { CLUSTER_MEMBER } from "../src/api/isthmus.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT } from "../src/api/mcs.ts";
import { type ClusterId, memberNamespace, memberOfNamespace } from "../src/api/names.ts";
import type { KubeObject, Resource } from "../src/api/object.ts";
import type { Change } from "../src/embedded/storage.ts";
import type { LogFields } from "../src/ports/log.ts";
import type { Store } from "../src/ports/store.ts";
import { serviceShareName } from "../src/api/digest.ts";
import { hashText } from "./chance.ts";
import { Invariants } from "./invariant.ts";
import type { Call } from "./line.ts";
import type { SimTime } from "./time.ts";
import { watchWaste } from "./waste.ts";
import type { Site } from "./world.ts";

export interface Violation {
  readonly atMs: number;
  /** Which rule: the same for all worlds that break it. */
  readonly rule: string;
  readonly sentence: string;
}

export interface Observer {
  onWrite(cluster: number, change: Change, userAgent: string | undefined): void;
  onHubWrite(change: Change, userAgent: string | undefined): void;
  onCall(process: string, to: "own" | "hub", call: Call, about: string, outcome: string): void;
  onLog(process: string, message: string, fields: LogFields): void;
  onJoin(cluster: number, id: ClusterId): void;
  /** The stores of one life of an agent, seen from its side: what it has been told, and what it does all the same. */
  watchSight(site: Site, id: ClusterId, stores: AgentStores): AgentStores;
}

export interface AgentStores {
  readonly own: Store;
  readonly hub: Store;
}

export interface Statistics {
  calls: number;
  writes: number;
  /** Writes of agents but for their heartbeats. */
  agentWrites: number;
  /** Steps taken, of each kind. */
  readonly steps: Record<string, number>;
}

export class Observation implements Observer {
  readonly violations: Violation[] = [];
  readonly statistics: Statistics = { calls: 0, writes: 0, agentWrites: 0, steps: {} };
  readonly invariants: Invariants;
  /** The last write of an agent that was no heartbeat. */
  lastAgentWrite: { readonly atMs: number; readonly what: string } | undefined;
  readonly #time: SimTime;
  readonly #isFaultless: () => boolean;
  readonly #trace: string[] | undefined;
  #hash = hashText("");

  /** `steadyFromMs`: users do nothing from then on. */
  constructor(
    time: SimTime,
    options: { readonly steadyFromMs: number; readonly trace?: string[] | undefined },
  ) {
    this.#time = time;
    this.#trace = options.trace;
    // Before that, in worlds that become steady, nothing goes wrong.
    const { steadyFromMs } = options;
    this.#isFaultless = () => steadyFromMs < Infinity && time.nowMs < steadyFromMs;
    this.invariants = new Invariants(
      (rule, sentence) => this.report(rule, sentence),
      () => time.nowMs >= options.steadyFromMs,
      () => time.nowMs,
    );
  }

  get hash(): string {
    return this.#hash.toString(16).padStart(8, "0");
  }

  report(rule: string, sentence: string): void {
    this.note(`BROKEN ${rule}: ${sentence}`);
    this.violations.push({ atMs: this.#time.nowMs, rule, sentence });
  }

  note(text: string): void {
    const line = `${this.#time.nowMs} ${text}`;
    this.#hash = hashText(line, this.#hash);
    this.#trace?.push(line);
  }

  noteStep(kind: string, text: string): void {
    const { steps } = this.statistics;
    steps[kind] = (steps[kind] ?? 0) + 1;
    this.note(`step ${text}`);
  }

  onWrite(cluster: number, change: Change, userAgent: string | undefined): void {
    const { type, resource, key, revision } = change;
    this.statistics.writes += 1;
    this.note(`cluster ${cluster} has ${type} ${resource} ${key} ${revision} by ${userAgent}`);
    if (this.#trace !== undefined) this.#trace.push(`    ${summarise(change)}`);
    if (userAgent?.startsWith("agent ") === true) this.#noteAgentWrite(change, userAgent);
    this.invariants.checkWrite(cluster, change, userAgent);
  }

  onHubWrite(change: Change, userAgent: string | undefined): void {
    const { type, resource, key, revision } = change;
    this.statistics.writes += 1;
    this.note(`hub has ${type} ${resource} ${key} ${revision} by ${userAgent}`);
    const isHeartbeat = resource.startsWith("leases.");
    if (this.#trace !== undefined && !isHeartbeat) this.#trace.push(`    ${summarise(change)}`);
    if (userAgent?.startsWith("agent ") === true && !isHeartbeat) {
      this.#noteAgentWrite(change, userAgent);
    }
    this.invariants.checkHubWrite(change, userAgent);
  }

  #noteAgentWrite({ type, resource, key }: Change, userAgent: string): void {
    this.statistics.agentWrites += 1;
    const what = `${userAgent}: ${type} ${resource} ${key}`;
    this.lastAgentWrite = { atMs: this.#time.nowMs, what };
  }

  onCall(process: string, to: "own" | "hub", call: Call, about: string, outcome: string): void {
    this.statistics.calls += 1;
    this.note(`${process} → ${to} ${call.verb} ${call.plural} ${about}: ${outcome}`);
  }

  onLog(process: string, message: string, fields: LogFields): void {
    this.#trace?.push(`    ${process} says: ${message} ${JSON.stringify(fields)}`);
  }

  onJoin(cluster: number, id: ClusterId): void {
    this.invariants.noteId(cluster, id);
    this.note(`cluster ${cluster} is member ${id}`);
  }

  watchSight(_site: Site, id: ClusterId, stores: AgentStores): AgentStores {
    const members: Seen = new Map();
    const shares: Seen = new Map();
    const exports: Seen = new Map();
    const services: Seen = new Map();
    const sourcesOf = (namespace: string, name: string): readonly ClusterId[] => {
      const share = serviceShareName(`${namespace}/${name}` as never);
      const others = [...shares.keys()].flatMap((key) => {
        const [home = "", shared] = key.split("/");
        const source = memberOfNamespace(home);
        return shared !== share || source === undefined || source === id ? [] : [source];
      });
      // Of its own exports it need not be told by the hub.
      const key = `${namespace}/${name}`;
      const isOwn = isLiving(exports.get(key)) && isExportable(services.get(key));
      return [...others, ...(isOwn ? [id] : [])].filter((source) =>
        members.has(`${memberNamespace(source)}/${source}`),
      );
    };
    const hub = watchStore(stores.hub, {
      [CLUSTER_MEMBER.plural]: members,
      [SERVICE_SHARE.plural]: shares,
    });
    const seen = watchStore(stores.own, {
      [SERVICE_EXPORT.plural]: exports,
      [SERVICE.plural]: services,
    });
    const own: Store = {
      ...seen,
      delete: (resource, ref, deleting) => {
        if (resource.plural === SERVICE_IMPORT.plural) {
          const sources = sourcesOf(ref.namespace ?? "", ref.name);
          if (sources.length > 0) {
            this.report(
              "an import is never deleted while a valid export is visible",
              `${id} deletes ServiceImport ${ref.namespace}/${ref.name}, which it knows ${sources.join(", ")} to export`,
            );
          }
        }
        return stores.own.delete(resource, ref, deleting);
      },
    };
    const complain = (what: string): void => {
      if (this.#isFaultless()) this.report("nothing is written twice", `${id} wrote ${what} again`);
    };
    return { own: watchWaste(own, complain), hub: watchWaste(hub, complain) };
  }
}

/** What one life of an agent has been told of one kind. */
type Seen = Map<string, KubeObject>;

function watchStore(store: Store, kinds: Readonly<Record<string, Seen>>): Store {
  return {
    ...store,
    list: async <T extends KubeObject>(resource: Resource<T>, listing = {}) => {
      const page = await store.list(resource, listing);
      const seen = kinds[resource.plural];
      seen?.clear();
      for (const object of page.items) seen?.set(keyOf(object.metadata), object);
      return page;
    },
    watch: (resource, watching, onEvent) =>
      store.watch(resource, watching, (event) => {
        const seen = kinds[resource.plural];
        if (seen !== undefined && event.type !== "BOOKMARK") {
          const key = keyOf(event.object.metadata);
          if (event.type === "DELETED") seen.delete(key);
          else seen.set(key, event.object);
        }
        onEvent(event);
      }),
  };
}

function isLiving(object: KubeObject | undefined): boolean {
  return object !== undefined && object.metadata.deletionTimestamp === undefined;
}

function isExportable(service: Service | undefined): boolean {
  return isLiving(service) && service?.spec?.type !== "ExternalName";
}

function keyOf({ namespace = "", name = "" }: KubeObject["metadata"]): string {
  return `${namespace}/${name}`;
}

function summarise({ object }: Change): string {
  const { metadata, apiVersion: _, kind: __, ...rest } = object;
  const { labels, annotations, deletionTimestamp, finalizers, uid } = metadata;
  return JSON.stringify({ uid, labels, annotations, deletionTimestamp, finalizers, ...rest });
}
