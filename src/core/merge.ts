// Merge: all clusters' shares of one service in, the merged service and its conflicts out. Every cluster runs this
// on the same shares and reaches the same answer; nothing here knows which cluster it runs in (R21).

import type { ClusterId } from "../api/names.ts";
import { pickTrafficPolicy, type ServiceShare, type SharedService } from "../api/share.ts";
import {
  type Conflict,
  type ConflictReason,
  describeDisagreement,
  describePortConflict,
} from "./conflict.ts";
import { compareText, orderShares } from "./order.ts";
import { mergePorts } from "./ports.ts";

export interface MergedService extends SharedService {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Contributing clusters, sorted (R16). */
  readonly clusters: readonly ClusterId[];
  readonly conflicts: readonly Conflict[];
}

/** Undefined when nobody exports the service. */
export function mergeShares(shares: readonly ServiceShare[]): MergedService | undefined {
  const ordered = orderShares(shares);
  const [oldest] = ordered;
  if (oldest === undefined) return undefined;
  const ports = mergePorts(ordered);
  return {
    service: oldest.service,
    type: oldest.type,
    ports: ports.ports,
    ipFamilies: oldest.ipFamilies,
    // Affinity and its config come from one winner, else the pair could be inconsistent (R31, R32).
    ...pickTrafficPolicy(oldest),
    labels: oldest.labels ?? {},
    annotations: oldest.annotations ?? {},
    clusters: ordered.map((share) => share.cluster).toSorted(compareText),
    conflicts: [
      ...describePortConflict(oldest, ordered.length, ports),
      ...findDisagreements(oldest, ordered),
    ],
  };
}

interface Property {
  readonly reason: ConflictReason;
  readonly field: string;
  readonly read: (share: ServiceShare) => string;
  /** Absent: all. */
  readonly among?: readonly ServiceShare[];
}

/** The properties where the oldest wins whole (R30–R37), in the order their reasons are joined (R45). */
function findDisagreements(oldest: ServiceShare, ordered: readonly ServiceShare[]): Conflict[] {
  // The usual case, met at every look at every service: nobody disagrees with itself.
  if (ordered.length === 1) return [];
  const sameAffinity = ordered.filter(
    (share) => (share.sessionAffinity ?? "None") === (oldest.sessionAffinity ?? "None"),
  );
  const properties: readonly Property[] = [
    { reason: "TypeConflict", field: "type", read: (share) => share.type },
    {
      reason: "SessionAffinityConflict",
      field: "session affinity",
      read: (share) => share.sessionAffinity ?? "None",
    },
    {
      reason: "SessionAffinityConfigConflict",
      field: "session affinity config",
      read: (share) => canonical(share.sessionAffinityConfig),
      // A config can only be compared under the same affinity; the rest is reported by the reason above.
      among: sameAffinity,
    },
    {
      reason: "LabelsConflict",
      field: "exported labels",
      read: (share) => canonical(share.labels ?? {}),
    },
    {
      reason: "AnnotationsConflict",
      field: "exported annotations",
      read: (share) => canonical(share.annotations ?? {}),
    },
    {
      reason: "InternalTrafficPolicyConflict",
      field: "internal traffic policy",
      read: (share) => share.internalTrafficPolicy ?? "Cluster",
    },
    {
      reason: "TrafficDistributionConflict",
      field: "traffic distribution",
      read: (share) => share.trafficDistribution ?? "unset",
    },
    {
      reason: "IPFamilyConflict",
      field: "IP families",
      // Only a backend that cannot be reached over a family in use is a conflict (R37): having more families is none.
      read: (share) =>
        oldest.ipFamilies.filter((family) => share.ipFamilies.includes(family)).join(","),
    },
  ];
  return properties.flatMap(({ reason, field, read, among = ordered }) => {
    const value = read(oldest);
    const disagreeing = among.filter((share) => read(share) !== value).length;
    if (disagreeing === 0) return [];
    return [
      describeDisagreement({ reason, field, value, oldest, disagreeing, total: ordered.length }),
    ];
  });
}

/** JSON with sorted keys: equal data, equal text. */
function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_, part: unknown) =>
      part !== null && typeof part === "object" && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => compareText(a, b)))
        : part,
    ) ?? "unset"
  );
}
