// Clusterset: one import of one cluster in; whether it is what the exports ask for out, by the very plan that the controllers
// carry out: what would still be written is what it is behind by. How the cluster judges each source shows in its slices.

import { ENDPOINT_SLICE, type EndpointSlice, type IPFamily, SERVICE } from "../../api/builtin.ts";
import { derivedServiceName } from "../../api/digest.ts";
import { SERVICE_IMPORT } from "../../api/mcs.ts";
import {
  type ClusterId,
  type ServiceKey,
  SOURCE_CLUSTER_LABEL,
  serviceKey,
  splitServiceKey,
} from "../../api/names.ts";
import { isReady, recallLiveness } from "../fate.ts";
import { type ImportView, isManaged, viewMerged } from "../import.ts";
import type { Liveness } from "../liveness.ts";
import { type MergedService, mergeShares } from "../merge.ts";
import { compareText } from "../order.ts";
import { planImport } from "../plan.ts";
import { planSlices } from "../slices.ts";
import type { Write } from "../write.ts";
import {
  findContributors,
  findUnknownSources,
  type Received,
  receivedContribution,
} from "./contribution.ts";
import { judgeSource } from "./judgement.ts";
import { answerOnce } from "./memo.ts";
import {
  type ClusterRecord,
  type Clusterset,
  hasAnswered,
  hasRead,
  isJoined,
  isOnHub,
} from "./record.ts";

export type NamespaceSight = "present" | "missing" | "terminating" | "unknown";

export interface Standing {
  readonly service: ServiceKey;
  readonly importer: ClusterRecord;
  readonly namespace: NamespaceSight;
  /** What the hub has for this cluster is known. */
  readonly isOnHub: boolean;
  /** Of the Service that carries the virtual IP, if there is one. */
  readonly derivedName: string;
  /** What the importing cluster is to make of the exports; undefined when nobody exports, as far as is known. */
  readonly merged: MergedService | undefined;
  readonly view: ImportView | undefined;
  /** By source. */
  readonly received: ReadonlyMap<ClusterId, Received>;
  /** Sources whose exports could not be read: then nothing is said about what is due. */
  readonly unknown: readonly ClusterId[];
  /** How the importing cluster judges each source, by what it made of its endpoints; without an entry it cannot be told. */
  readonly judged: ReadonlyMap<ClusterId, Liveness>;
  /** What is still to be written; undefined when it cannot be told. */
  readonly due: readonly Write[] | undefined;
}

export function findStanding(
  set: Clusterset,
  importer: ClusterRecord,
  service: ServiceKey,
): Standing {
  const derivedName = nameDerived(set, service);
  const received = new Map(
    findContributors(set, service).flatMap((source) => {
      const found = receivedContribution(set, { source, importer }, service);
      return found === undefined ? [] : [[source.id, found] as const];
    }),
  );
  const contributions = [...received.values()].map(({ contribution }) => contribution);
  const merged = mergeShares(contributions.map(({ share }) => share));
  const view =
    merged &&
    viewMerged(merged, {
      families: findFamilies(importer, service, merged),
      derivedName,
    });
  const unknown = findUnknownSources(set, importer, service);
  const judged = view ? judgeSources(set, { importer, view, received }) : new Map();
  for (const [source, liveness] of recallUnanswered(set, importer, service)) {
    judged.set(source, liveness);
  }
  const namespace = findNamespace(importer, service);
  const facts = { service, importer, namespace, derivedName, isOnHub: isOnHub(set, importer) };
  const standing = { ...facts, merged, view, received, unknown, judged };
  return { ...standing, due: planDue(standing) };
}

function judgeSources(
  set: Clusterset,
  facts: Pick<Standing, "importer" | "received"> & { readonly view: ImportView },
): Map<ClusterId, Liveness> {
  const { importer, view, received } = facts;
  const judged = new Map<ClusterId, Liveness>();
  for (const [id, { contribution }] of received) {
    const slices = slicesFrom(importer, view.service, id);
    const source = set.byId.get(id);
    if (source === undefined) continue;
    const liveness = judgeSource(set, { importer, source, view, contribution, slices });
    if (liveness !== undefined) judged.set(id, liveness);
  }
  // Who flaps is held back only where others take its place: else it is late.
  const live = [...judged].flatMap(([id, liveness]) => (liveness === "live" ? id : []));
  const isReplaced = live.some((id) => slicesFrom(importer, view.service, id).some(isReady));
  for (const [id, liveness] of judged) {
    if (liveness === "flapping" && !isReplaced) judged.delete(id);
  }
  return judged;
}

/** Who does not answer here either was perhaps given up: what is left of it in the import tells, as after a restart. */
function recallUnanswered(
  set: Clusterset,
  importer: ClusterRecord,
  service: ServiceKey,
): readonly (readonly [ClusterId, Liveness])[] {
  return set.records.flatMap((source) => {
    if (source.sighting === undefined || hasAnswered(source) || isOnHub(set, source)) return [];
    const slices = slicesFrom(importer, service, source.id);
    const serviceImport = importer.imports.get(service);
    const liveness = recallLiveness(source.id, { serviceImport, slices });
    return liveness === undefined ? [] : [[source.id, liveness] as const];
  });
}

/** A hash: worth remembering. */
const nameDerived = answerOnce((_: Clusterset, service) => derivedServiceName(service));

/** Whoever wrote slices that name no cluster: one more source. No cluster id looks like this. */
export const UNNAMED_SOURCE = "(unnamed)" as ClusterId;

export function sourceOf({ metadata }: EndpointSlice): ClusterId {
  return (metadata.labels?.[SOURCE_CLUSTER_LABEL] as ClusterId | undefined) ?? UNNAMED_SOURCE;
}

/** Slices of the import that hold endpoints of that source. */
export function slicesFrom(
  importer: ClusterRecord,
  service: ServiceKey,
  source: ClusterId,
): readonly EndpointSlice[] {
  const slices = importer.importedSlices.get(service) ?? [];
  return slices.filter((slice) => sourceOf(slice) === source);
}

/** Everybody whose endpoints the import has or should have. */
export function findSources(standing: Omit<Standing, "due">): readonly ClusterId[] {
  const { importer, service, received } = standing;
  const held = (importer.importedSlices.get(service) ?? []).map(sourceOf);
  const listed = importer.imports.get(service)?.status?.clusters ?? [];
  const ids = [...received.keys(), ...held, ...listed.map(({ cluster }) => cluster)];
  return ([...new Set(ids)] as ClusterId[]).toSorted(compareText);
}

function findNamespace(importer: ClusterRecord, service: ServiceKey): NamespaceSight {
  if (importer.imports.has(service)) return "present";
  if (!hasRead(importer, "namespaces")) return "unknown";
  const { namespace } = splitServiceKey(service);
  const found = importer.sighting?.namespaces.find(({ metadata }) => metadata.name === namespace);
  if (found === undefined) return "missing";
  return found.metadata.deletionTimestamp === undefined ? "present" : "terminating";
}

/**
 * Which families a cluster can serve is not written anywhere: what the import shows is taken for that, since where it is
 * wrong its condition says so.
 */
function findFamilies(
  importer: ClusterRecord,
  service: ServiceKey,
  merged: MergedService,
): readonly IPFamily[] {
  const serviceImport = importer.imports.get(service);
  const ready = serviceImport?.status?.conditions?.find(({ type }) => type === "Ready");
  const shown = serviceImport?.spec?.ipFamilies ?? merged.ipFamilies;
  return ready?.reason === "IPFamilyNotSupported" ? [] : shown;
}

function planDue(standing: Omit<Standing, "due">): readonly Write[] | undefined {
  const { importer, service, merged, view, received, unknown } = standing;
  if (!hasRead(importer, "serviceImports", "services", "slices")) return undefined;
  if (unknown.length > 0 || standing.namespace === "unknown") return undefined;
  // What it is let in of the others is decided by what the hub declares of them.
  if (isJoined(importer) && !standing.isOnHub) return undefined;
  if (standing.namespace !== "present") return [];
  const serviceImport = importer.imports.get(service);
  if (merged === undefined) {
    if (serviceImport === undefined || !isManaged(serviceImport)) return [];
    const { namespace = "", name = "", uid } = serviceImport.metadata;
    return [{ verb: "delete", resource: SERVICE_IMPORT, ref: { namespace, name }, uid }];
  }
  const { namespace } = splitServiceKey(service);
  const derivedKey = serviceKey({ namespace, name: standing.derivedName });
  const writes = planImport({
    cluster: importer.id,
    service,
    families: view?.ipFamilies ?? [],
    namespace: "present",
    makesNamespace: false,
    // Slices are planned apart, source by source: most were already, when it was looked how each is judged.
    contributions: [...received.values()].map(({ contribution: { share } }) => ({
      share,
      endpoints: [],
    })),
    rejections: [],
    livenessOf: () => "live",
    isAwaited: () => false,
    // What was told of rejections stands: its condition is read as it is.
    isComplete: false,
    observed: { serviceImport, derived: importer.services.get(derivedKey), slices: [] },
    now: "",
  });
  return [...writes, ...planDueSlices(standing)];
}

/** Of sources whose slices fit no judgement, and of those that share nothing any more. */
function planDueSlices(standing: Omit<Standing, "due">): readonly Write[] {
  const { importer, service, view, received, judged } = standing;
  if (view === undefined) return [];
  const late = [...received.keys()].filter((source) => !judged.has(source));
  const left = findSources(standing).filter((source) => !received.has(source));
  return [...late, ...left].flatMap((source) => {
    const contribution = received.get(source)?.contribution;
    const input = {
      cluster: importer.id,
      view,
      contributions: contribution === undefined ? [] : [contribution],
      livenessOf: () => "live" as const,
      isAwaited: () => false,
    };
    return planSlices(input, slicesFrom(importer, service, source));
  });
}

/** A clause for each thing that is due: "2 of its EndpointSlices are out of date". */
export function describeDue(due: readonly Write[]): readonly string[] {
  const of = (resource: { readonly plural: string }): readonly Write[] =>
    due.filter((write) => write.resource.plural === resource.plural);
  const imports = of(SERVICE_IMPORT);
  const spec = imports.find((write) => write.verb === "delete" || !write.subresource);
  const slices = of(ENDPOINT_SLICE);
  const gone = slices.filter(({ verb }) => verb === "delete").length;
  const wrong = slices.length - gone;
  return [
    ...(spec === undefined
      ? []
      : [
          spec.verb === "delete"
            ? "nobody exports the service any more, and the ServiceImport is still there"
            : "its ServiceImport is missing, or does not show what the exports agree on",
        ]),
    ...(of(SERVICE).length === 0
      ? []
      : ["the Service that carries its virtual IP is missing or wrong"]),
    ...(wrong === 0
      ? []
      : [`${wrong} EndpointSlice${wrong === 1 ? " is" : "s are"} missing or out of date`]),
    ...(gone === 0 ? [] : [`${gone} EndpointSlice${gone === 1 ? " has" : "s have"} to go`]),
    ...(imports.length > 0 && spec === undefined ? ["its status is out of date"] : []),
  ];
}
