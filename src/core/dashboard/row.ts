// Dashboard: what is known of one service in every cluster in, its row out: who offers it, who is led where, whether all is well
// and if not what. Light, because it is made anew with every change: who wants to know exactly why asks `explain`.

import type { ServiceKey } from "../../api/names.ts";
import type { PortState, ServicePart, ServiceState } from "../../dashboard/state.ts";
import { count, list } from "../clusterset/explanation.ts";
import type { Liveness } from "../liveness.ts";
import { compareText } from "../order.ts";
import {
  type EndpointFact,
  type ExportFact,
  type ImportFact,
  type ShareFact,
  sumEndpoints,
} from "./facts.ts";

/** One service in one cluster. */
export interface Presence {
  readonly cluster: string;
  readonly liveness: Liveness | "unknown";
  readonly serviceExport: ExportFact | undefined;
  /** On the hub: all that is known of a cluster that nobody can ask. */
  readonly share: ShareFact | undefined;
  /** Of its own, as it has them, or as the hub has. */
  readonly offered: readonly EndpointFact[];
  readonly serviceImport: ImportFact | undefined;
  readonly imported: readonly EndpointFact[];
  /** Else nobody knows what its clients are led to, nor, without a share, what it offers. */
  readonly areSlicesRead: boolean;
  /** When the last of its imported slices went. */
  readonly lostSliceAtMs: number | undefined;
}

/** A row whose ages are not told yet. */
export interface Row {
  readonly state: ServiceState;
  /** By cluster. */
  readonly syncedAtMs: ReadonlyMap<string, number>;
}

/** Undefined when nobody exports and nobody imports it. `isWhole`: every cluster has been read. */
export function makeRow(
  service: ServiceKey,
  presences: readonly Presence[],
  isWhole: boolean,
): Row | undefined {
  const present = presences
    .filter((one) => isExported(one) || one.serviceImport !== undefined)
    .toSorted((a, b) => compareText(a.cluster, b.cluster));
  if (present.length === 0) return undefined;
  const parts = present.map(makePart);
  const conflicts = [...new Set(present.flatMap((one) => one.serviceExport?.conflicts ?? []))];
  const { type, ports } = describeKind(present);
  const { verdict, why } = judge({ present, parts, conflicts, isWhole });
  return {
    state: { key: service, type, ports, verdict, why, conflicts, parts },
    syncedAtMs: new Map(
      present.flatMap((one) => {
        const atMs = findSyncedAt(one);
        return atMs === undefined ? [] : [[one.cluster, atMs] as const];
      }),
    ),
  };
}

/** The row as it is now: ages are of this moment. */
export function renderRow({ state, syncedAtMs }: Row, nowMs: number): ServiceState {
  if (syncedAtMs.size === 0) return state;
  return {
    ...state,
    parts: state.parts.map((part) => {
      const atMs = syncedAtMs.get(part.cluster);
      if (atMs === undefined) return part;
      return { ...part, syncAgeSeconds: Math.max(0, Math.round((nowMs - atMs) / 1_000)) };
    }),
  };
}

function isExported({ serviceExport, share }: Presence): boolean {
  return serviceExport !== undefined || share !== undefined;
}

function isOfferKnown({ areSlicesRead, share }: Presence): boolean {
  return areSlicesRead || share !== undefined;
}

function makePart(presence: Presence): ServicePart {
  const { cluster, serviceImport, imported, offered } = presence;
  const bySource = new Map<string, EndpointFact[]>();
  for (const fact of imported) {
    const source = fact.source ?? cluster;
    const known = bySource.get(source);
    if (known === undefined) bySource.set(source, [fact]);
    else known.push(fact);
  }
  const sources = [...bySource]
    .toSorted(([a], [b]) => compareText(a, b))
    .map(([source, facts]) => {
      const { ready, total } = sumEndpoints(facts);
      return { cluster: source, ready, total };
    });
  const { ready, total } = sumEndpoints(offered);
  const exported = isExported(presence);
  return {
    cluster,
    exported,
    ...(exported && isOfferKnown(presence) && { offered: { ready, total } }),
    ips: serviceImport?.ips ?? [],
    sources: serviceImport === undefined ? [] : sources,
  };
}

function describeKind(present: readonly Presence[]): {
  readonly type: ServiceState["type"];
  readonly ports: readonly PortState[];
} {
  const known =
    present.find(({ serviceImport }) => serviceImport !== undefined)?.serviceImport ??
    present.find(({ share }) => share !== undefined)?.share;
  return { type: known?.type ?? "ClusterSetIP", ports: known?.ports ?? [] };
}

function findSyncedAt(presence: Presence): number | undefined {
  const { serviceImport, imported, lostSliceAtMs } = presence;
  if (serviceImport === undefined) return undefined;
  const facts = [serviceImport, ...imported, { writtenAtMs: lostSliceAtMs }];
  const times = facts.flatMap(({ writtenAtMs }) => writtenAtMs ?? []);
  return times.length === 0 ? undefined : Math.max(...times);
}

interface Evidence {
  readonly present: readonly Presence[];
  readonly parts: readonly ServicePart[];
  readonly conflicts: readonly string[];
  readonly isWhole: boolean;
}

type Judgement = Pick<ServiceState, "verdict" | "why">;

/** The first that is found is the most important. */
function judge(evidence: Evidence): Judgement {
  const bad = findNowhere(evidence) ?? findBroken(evidence);
  if (bad !== undefined) return { verdict: "bad", why: bad };
  const warn =
    evidence.conflicts[0] ??
    findAway(evidence) ??
    findRefused(evidence) ??
    findUnimported(evidence) ??
    findUnexported(evidence) ??
    findMissing(evidence) ??
    findUnready(evidence);
  return warn === undefined ? { verdict: "well", why: "" } : { verdict: "warn", why: warn };
}

function findNowhere({ present, parts }: Evidence): string | undefined {
  const nowhere = present.flatMap(({ cluster, serviceImport, areSlicesRead }, index) => {
    if (serviceImport === undefined || serviceImport.isPending || !areSlicesRead) return [];
    const isLed = parts[index]?.sources.some(({ ready }) => ready > 0) === true;
    return isLed ? [] : cluster;
  });
  if (nowhere.length === 0 || !parts.some(({ exported }) => exported)) return undefined;
  if (parts.every(({ exported, offered }) => !exported || offered?.ready === 0)) {
    return "Nobody who exports it has a ready endpoint.";
  }
  return `${list(nowhere)} ${nowhere.length === 1 ? "leads" : "lead"} nowhere: no endpoint is ready there.`;
}

/** An import that cannot be served, or exports none of which counts. */
function findBroken({ present }: Evidence): string | undefined {
  const broken = present.find(
    ({ serviceImport }) => serviceImport?.problem !== undefined && !serviceImport.isPending,
  );
  if (broken !== undefined) return `In ${broken.cluster}: ${broken.serviceImport?.problem ?? ""}`;
  const exporters = present.filter(isExported);
  const refused = exporters.filter(({ serviceExport }) => serviceExport?.problem !== undefined);
  const [first] = refused;
  if (first === undefined || refused.length < exporters.length) return undefined;
  return `The export in ${first.cluster} does not count: ${first.serviceExport?.problem ?? ""}`;
}

function findAway({ present }: Evidence): string | undefined {
  const away = present.filter(
    (one) => isExported(one) && (one.liveness === "silent" || one.liveness === "lost"),
  );
  const [first] = away;
  if (first === undefined) return undefined;
  const names = away.map(({ cluster }) => cluster);
  return names.length === 1
    ? `${first.cluster} is ${first.liveness}: clients are led to the others.`
    : `${list(names)} are not heard: clients are led to the others.`;
}

function findRefused({ present }: Evidence): string | undefined {
  const refused = present.find(({ serviceExport }) => serviceExport?.problem !== undefined);
  if (refused === undefined) return undefined;
  return `The export in ${refused.cluster} does not count: ${refused.serviceExport?.problem ?? ""}`;
}

function findUnimported({ present, isWhole }: Evidence): string | undefined {
  const isImported = present.some(({ serviceImport }) => serviceImport !== undefined);
  if (isImported || !isWhole) return undefined;
  const exporters = present.map(({ cluster }) => cluster);
  return `${list(exporters)} ${exporters.length === 1 ? "exports" : "export"} it, and no cluster has imported it.`;
}

function findUnexported({ present, isWhole }: Evidence): string | undefined {
  if (!isWhole || present.some(isExported)) return undefined;
  const left = present.filter(({ serviceImport }) => serviceImport?.isManaged === true);
  if (left.length === 0) return undefined;
  const names = left.map(({ cluster }) => cluster);
  return `Nobody exports it, and ${list(names)} still ${names.length === 1 ? "has" : "have"} it.`;
}

/** A cluster that has nothing of a source that has something ready, both being well. */
function findMissing({ present, parts }: Evidence): string | undefined {
  for (const [place, source] of present.entries()) {
    const offered = parts[place]?.offered;
    if (offered === undefined || offered.ready === 0 || source.liveness !== "live") continue;
    const without = present.flatMap((one, index) => {
      const { cluster, serviceImport, liveness, areSlicesRead } = one;
      if (serviceImport === undefined || liveness !== "live" || !areSlicesRead) return [];
      const isThere = parts[index]?.sources.some((one) => one.cluster === source.cluster);
      return isThere === true ? [] : cluster;
    });
    if (without.length > 0) {
      return `${list(without)} ${without.length === 1 ? "has" : "have"} no endpoint of ${source.cluster}, which has ${count(offered.ready, "ready one")}.`;
    }
  }
  return undefined;
}

function findUnready({ parts }: Evidence): string | undefined {
  const offers = parts.flatMap(({ offered }) => offered ?? []);
  const total = offers.reduce((sum, one) => sum + one.total, 0);
  const unready = total - offers.reduce((sum, one) => sum + one.ready, 0);
  if (unready === 0) return undefined;
  return `${unready} of ${count(total, "endpoint")} ${unready === 1 ? "is" : "are"} not ready.`;
}
