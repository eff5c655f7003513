// Check: what Isthmus made in clusters and on the hub in, what of it belongs to nobody any more out. A change that is under way
// looks the same for a few seconds, so an orphan is a warning.

import type { EndpointSlice, Service } from "../../api/builtin.ts";
import {
  DERIVED_SERVICE_ANNOTATION,
  MANAGED_BY_LABEL,
  MANAGED_LABEL,
  memberOfNamespace,
  SERVICE_NAME_LABEL,
  serviceKey,
  SLICE_MANAGER,
  SOURCE_CLUSTER_LABEL,
} from "../../api/names.ts";
import type { KubeObject } from "../../api/object.ts";
import { list, nameKeeper } from "../clusterset/explanation.ts";
import { type ClusterRecord, type Clusterset, hasRead, keyOf } from "../clusterset/record.ts";
import { findStandings } from "../clusterset/view.ts";
import { compareText } from "../order.ts";
import type { Unread } from "./inspection.ts";
import { cannotTell, type CheckCode, type CheckResult, pass, warn } from "./result.ts";

const SHOWN = 5;

/** Of a cluster that answered. */
export function checkOrphans(set: Clusterset, record: ClusterRecord): readonly CheckResult[] {
  return [
    hasRead(record, "serviceImports")
      ? checkImports(set, record)
      : cannotTell("orphans/imports", sayUnread(record), { cluster: record.id }),
    hasRead(record, "serviceImports", "services")
      ? checkServices(record)
      : cannotTell("orphans/services", sayUnread(record), { cluster: record.id }),
    hasRead(record, "serviceImports", "slices")
      ? checkSlices(set, record)
      : cannotTell("orphans/slices", sayUnread(record), { cluster: record.id }),
  ];
}

/** Why something of a cluster that answered is not there to be looked at. */
export function sayUnread({ sighting }: ClusterRecord): Unread {
  return { isRead: false, why: sighting?.problems[0] ?? "Not all of it could be read." };
}

function checkImports(set: Clusterset, record: ClusterRecord): CheckResult {
  const code = "orphans/imports";
  const unexported = [...record.imports.values()].filter(isOurs).flatMap((serviceImport) => {
    const service = keyOf(serviceImport);
    const standing = findStandings(set, service).find(({ importer }) => importer.id === record.id);
    return standing === undefined || standing.merged !== undefined ? [] : [{ service, standing }];
  });
  const orphans = unexported.filter(({ standing }) => standing.unknown.length === 0);
  if (orphans.length > 0) {
    return warn(code, {
      cluster: record.id,
      found: `Nobody exports ${listSome(orphans.map(({ service }) => service))} any more, and the import is still there.`,
      next: nameKeeper(record),
    });
  }
  const unknown = new Set(unexported.flatMap(({ standing }) => standing.unknown));
  if (unknown.size > 0) {
    return warn(code, {
      cluster: record.id,
      found: `Whether anybody still exports ${listSome(unexported.map(({ service }) => service))} cannot be told: ${list([...unknown])} could not be asked.`,
      next: `Name ${list([...unknown])} with --kubeconfig or --context, too.`,
    });
  }
  const found =
    record.imports.size === 0 ? "It imports nothing." : "Every import is exported by somebody.";
  return pass(code, { cluster: record.id, found });
}

function checkServices(record: ClusterRecord): CheckResult {
  const code = "orphans/services";
  const imports = [...record.imports.values()];
  const uids = new Set(imports.map(({ metadata }) => metadata.uid));
  const named = new Set(
    imports.flatMap(({ metadata: { namespace = "", annotations } }) => {
      const name = annotations?.[DERIVED_SERVICE_ANNOTATION];
      return name === undefined ? [] : serviceKey({ namespace, name });
    }),
  );
  const isOwned = ({ metadata: { ownerReferences = [] } }: Service): boolean =>
    ownerReferences.some(({ uid }) => uids.has(uid));
  const ours = [...record.services.values()].filter(isOurs);
  const orphans = ours.filter((service) => !named.has(keyOf(service)) && !isOwned(service));
  return conclude(code, record, {
    orphans: orphans.map(keyOf),
    none:
      ours.length === 0
        ? "It has no derived Services."
        : "Every derived Service belongs to an import.",
    some: "belongs to no import",
  });
}

function checkSlices(set: Clusterset, record: ClusterRecord): CheckResult {
  const code = "orphans/slices";
  const slices = [...record.importedSlices.values()].flat().filter(isImportedByUs);
  const homeless = slices.filter((slice) => {
    const { namespace = "", labels = {} } = slice.metadata;
    return !record.imports.has(serviceKey({ namespace, name: labels[SERVICE_NAME_LABEL] ?? "" }));
  });
  const { hub } = set.observation;
  const isHubKnown = hub !== undefined && hub.problem === undefined && record.member !== undefined;
  const strangers = isHubKnown
    ? slices.filter(({ metadata }) => {
        const source = metadata.labels?.[SOURCE_CLUSTER_LABEL];
        return !set.records.some(({ id, member }) => id === source && member !== undefined);
      })
    : [];
  if (strangers.length > 0) {
    const sources = strangers.map(({ metadata }) => metadata.labels?.[SOURCE_CLUSTER_LABEL] ?? "?");
    return warn(code, {
      cluster: record.id,
      found: `${listSome(strangers.map(keyOf))} holds endpoints of ${list([...new Set(sources)].toSorted(compareText))}, which is no member of the hub.`,
      next: nameKeeper(record),
    });
  }
  return conclude(code, record, {
    orphans: homeless.map(keyOf),
    none:
      slices.length === 0
        ? "It has no imported EndpointSlices."
        : "Every imported EndpointSlice belongs to an import.",
    some: "belongs to no import",
  });
}

function isImportedByUs({ metadata }: EndpointSlice): boolean {
  return metadata.labels?.[MANAGED_BY_LABEL] === SLICE_MANAGER;
}

function isOurs({ metadata }: KubeObject): boolean {
  return metadata.labels?.[MANAGED_LABEL] === "true";
}

function conclude(
  code: CheckCode,
  record: ClusterRecord,
  words: {
    readonly orphans: readonly string[];
    readonly none: string;
    readonly some: string;
  },
): CheckResult {
  const { orphans, none, some } = words;
  if (orphans.length === 0) return pass(code, { cluster: record.id, found: none });
  const found = `${listSome(orphans)} ${orphans.length === 1 ? some : some.replace("belongs", "belong")}.`;
  return warn(code, { cluster: record.id, found, next: nameKeeper(record) });
}

/** Of members that are gone; who evicts them takes everything away, unless it is stopped half way. */
export function checkHubOrphans({ observation: { hub } }: Clusterset): readonly CheckResult[] {
  if (hub === undefined || hub.problem !== undefined) return [];
  const members = new Set(hub.members.map(({ metadata }) => metadata.name));
  const owners = [...hub.serviceShares, ...hub.endpointShares].flatMap(
    ({ metadata }) => memberOfNamespace(metadata.namespace ?? "") ?? [],
  );
  const leases = hub.leases.flatMap(({ metadata }) => metadata.name ?? []);
  const gone = [...new Set([...owners, ...leases])].filter((id) => !members.has(id));
  if (gone.length === 0) {
    return [pass("orphans/hub", { found: "The hub holds nothing of clusters that are gone." })];
  }
  return [
    warn("orphans/hub", {
      found: `The hub holds shares or a Lease of ${list(gone.toSorted(compareText))}, which ${gone.length === 1 ? "is no member" : "are no members"} any more.`,
      next: `Let an administrator of the hub run: isthmus hub evict ${gone.join(" ")}`,
    }),
  ];
}

function listSome(names: readonly string[]): string {
  const shown = names.slice(0, SHOWN);
  const more = names.length - shown.length;
  return more > 0 ? `${shown.join(", ")} and ${more} more` : list(shown);
}
