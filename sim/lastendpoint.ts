// Last endpoints: slices as they are written in; endpoints of a drained cluster that an agent takes out of use though nobody else
// serves in their place out. Asked while nothing is wrong but that agents die, and that not to the drained one.

import type { EndpointSlice } from "../src/api/builtin.ts";
import {
  KUBE_SERVICE_NAME_LABEL,
  MANAGED_BY_LABEL,
  SERVICE_NAME_LABEL,
  SLICE_MANAGER,
  SOURCE_CLUSTER_LABEL,
} from "../src/api/names.ts";
import type { Change } from "../src/embedded/storage.ts";
import type { Fault } from "./fault.ts";

/** What has been so for that long, everybody concerned has seen. */
const SEEN_MS = 10_000;

interface Imported {
  readonly service: string;
  readonly source: number | undefined;
  readonly slice: EndpointSlice;
}

export class LastEndpoints {
  readonly #report: (sentence: string) => void;
  readonly #nowMs: () => number;
  /** Index of the cluster that has the id. */
  readonly #clusterOf: (id: string) => number | undefined;
  readonly #drained = new Set<number>();
  readonly #excused = new Set<number>();
  #isOver = false;
  /** By cluster, then by key. */
  readonly #imported = new Map<number, Map<string, Imported>>();
  /** Endpoints that are ready at home: "cluster service address" to since when. */
  readonly #ready = new Map<string, number>();
  /** "cluster service" to when somebody else last wrote into its slices. */
  readonly #meddled = new Map<string, number>();

  constructor(
    report: (sentence: string) => void,
    nowMs: () => number,
    clusterOf: (id: string) => number | undefined,
  ) {
    this.#report = report;
    this.#nowMs = nowMs;
    this.#clusterOf = clusterOf;
  }

  noteDrain(cluster: number): void {
    this.#drained.add(cluster);
  }

  wasDrained(cluster: number): boolean {
    return this.#drained.has(cluster);
  }

  /** Who is not heard is no longer only drained. */
  noteFault(fault: Fault): void {
    if (fault.fault === "crash") this.#excused.add(fault.cluster);
    else if (fault.fault !== "clock" && fault.fault !== "compact") this.#isOver = true;
  }

  noteSlice(cluster: number, change: Change, isAgent: boolean): void {
    const { type, key, object } = change;
    const slice = object as EndpointSlice;
    const { namespace = "", labels = {} } = slice.metadata;
    if (labels[MANAGED_BY_LABEL] !== SLICE_MANAGER) {
      this.#noteHome(cluster, `${namespace}/${labels[KUBE_SERVICE_NAME_LABEL]}`, change);
      return;
    }
    const service = `${namespace}/${labels[SERVICE_NAME_LABEL]}`;
    const source = this.#clusterOf(labels[SOURCE_CLUSTER_LABEL] ?? "");
    const imported = this.#imported.get(cluster) ?? new Map<string, Imported>();
    this.#imported.set(cluster, imported);
    if (type === "DELETED") imported.delete(key);
    else imported.set(key, { service, source, slice });
    if (!isAgent) this.#meddled.set(`${cluster} ${service}`, this.#nowMs());
    else if (type === "MODIFIED") this.#check(cluster, { service, source, slice }, change);
  }

  #noteHome(cluster: number, service: string, { type, object, previous }: Change): void {
    const now = type === "DELETED" ? [] : readyIn(object as EndpointSlice);
    const before = previous === undefined ? [] : readyIn(previous as EndpointSlice);
    for (const address of [...before, ...now]) {
      const key = `${cluster} ${service} ${address}`;
      if (!now.includes(address)) this.#ready.delete(key);
      else if (!this.#ready.has(key)) this.#ready.set(key, this.#nowMs());
    }
  }

  #check(cluster: number, { service, source, slice }: Imported, { previous }: Change): void {
    if (this.#isOver || source === undefined || previous === undefined) return;
    if (!this.#drained.has(source) || this.#excused.has(source)) return;
    if (this.#isNew(this.#meddled.get(`${cluster} ${service}`) ?? -Infinity)) return;
    const now = readyIn(slice);
    const lost = readyIn(previous as EndpointSlice).filter((address) => !now.includes(address));
    const held = lost.filter(
      (address) => !this.#isNew(this.#ready.get(`${source} ${service} ${address}`) ?? Infinity),
    );
    if (held.length === 0) return;
    const others = [...(this.#imported.get(cluster)?.values() ?? [])].filter(
      (each) => each.service === service && each.source !== source && readyIn(each.slice).length,
    );
    const served = new Set(others.flatMap((each) => routesOf(each.slice)));
    const unserved = routesOf(slice).filter((route) => !served.has(route));
    if (unserved.length === 0) return;
    this.#report(
      `cluster ${cluster} leads nobody to ${held.join()} of cluster ${source} any more, and nobody else serves ${unserved.join(", ")} of ${service}`,
    );
  }

  #isNew(sinceMs: number): boolean {
    return this.#nowMs() - sinceMs < SEEN_MS;
  }
}

function readyIn({ endpoints }: EndpointSlice): readonly string[] {
  return (endpoints ?? []).flatMap(({ addresses, conditions }) =>
    conditions?.ready === false ? [] : addresses,
  );
}

function routesOf({ addressType, ports }: EndpointSlice): readonly string[] {
  return (ports ?? []).map(({ name = "" }) => `${addressType} ${name}`);
}
