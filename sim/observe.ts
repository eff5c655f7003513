// Observation: every write on every server at the moment it happens, every call and every line of log in; a trace, its hash,
// counts and broken rules out. Sees through faults, and changes nothing.

import { SERVICE_SHARE } from "../src/api/hubshare.ts";
import { CLUSTER_MEMBER } from "../src/api/isthmus.ts";
import { SERVICE_IMPORT } from "../src/api/mcs.ts";
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
    const members = new Set<string>();
    const shares = new Set<string>();
    const tracked = new Map<string, Set<string>>([
      [CLUSTER_MEMBER.plural, members],
      [SERVICE_SHARE.plural, shares],
    ]);
    const sourcesOf = (namespace: string, name: string): readonly ClusterId[] => {
      const share = serviceShareName(`${namespace}/${name}` as never);
      return [...shares].flatMap((key) => {
        const [home = "", shared] = key.split("/");
        const source = memberOfNamespace(home);
        if (shared !== share || source === undefined || source === id) return [];
        return members.has(`${memberNamespace(source)}/${source}`) ? [source] : [];
      });
    };
    const hub: Store = {
      ...stores.hub,
      list: async <T extends KubeObject>(resource: Resource<T>, listing = {}) => {
        const page = await stores.hub.list(resource, listing);
        const seen = tracked.get(resource.plural);
        seen?.clear();
        for (const { metadata } of page.items) seen?.add(keyOf(metadata));
        return page;
      },
      watch: (resource, watching, onEvent) =>
        stores.hub.watch(resource, watching, (event) => {
          const seen = tracked.get(resource.plural);
          if (seen !== undefined && event.type !== "BOOKMARK") {
            if (event.type === "DELETED") seen.delete(keyOf(event.object.metadata));
            else seen.add(keyOf(event.object.metadata));
          }
          onEvent(event);
        }),
    };
    const own: Store = {
      ...stores.own,
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

function keyOf({ namespace = "", name = "" }: KubeObject["metadata"]): string {
  return `${namespace}/${name}`;
}

function summarise({ object }: Change): string {
  const { metadata, apiVersion: _, kind: __, ...rest } = object;
  const { labels, annotations, deletionTimestamp, finalizers, uid } = metadata;
  return JSON.stringify({ uid, labels, annotations, deletionTimestamp, finalizers, ...rest });
}
