// Merge: a disagreement between exports in, a reason and a sentence that a person can act on out (R43, R45).

import type { ClusterId } from "../api/names.ts";
import type { ServiceShare } from "../api/share.ts";
import { describePort, type DroppedPort, isSameNumber, type MergedPorts } from "./ports.ts";

/** Those that the API defines. */
export const CONFLICT_REASONS = [
  "PortConflict",
  "TypeConflict",
  "SessionAffinityConflict",
  "SessionAffinityConfigConflict",
  "LabelsConflict",
  "AnnotationsConflict",
  "InternalTrafficPolicyConflict",
  "TrafficDistributionConflict",
  "IPFamilyConflict",
] as const;
export type ConflictReason = (typeof CONFLICT_REASONS)[number];

export interface Conflict {
  readonly reason: ConflictReason;
  readonly message: string;
}

/** As a condition tells it, which another version may have written. */
export interface ToldConflict {
  readonly reason: string;
  readonly message: string;
}

/** The message of a condition is bounded by the API (32768); nobody reads that much. */
const DROPPED_PORTS_NAMED = 8;
const VALUE_LENGTH_SHOWN = 256;

export function describeDisagreement(found: {
  readonly reason: ConflictReason;
  readonly field: string;
  readonly value: string;
  readonly oldest: ServiceShare;
  readonly disagreeing: number;
  readonly total: number;
}): Conflict {
  const { reason, field, value, oldest, disagreeing, total } = found;
  return {
    reason,
    message: `Conflicting ${field}. Using ${quote(value)} from ${nameOldest(oldest.cluster)}. ${count(disagreeing, total)}`,
  };
}

export function describePortConflict(
  oldest: ServiceShare,
  total: number,
  merged: MergedPorts,
): Conflict[] {
  if (merged.disagreeing.length === 0) return [];
  const dropped = merged.dropped.slice(0, DROPPED_PORTS_NAMED).map(describeDropped);
  const more = merged.dropped.length - dropped.length;
  const rest = more > 0 ? ` ${more} more ports are left out.` : "";
  const ports = merged.ports.map(describePort).join(", ");
  return [
    {
      reason: "PortConflict",
      message: `Conflicting ports. Using ${quote(ports)}, all ports merged with precedence to ${nameOldest(oldest.cluster)}. ${count(merged.disagreeing.length, total)}${dropped.join("")}${rest}`,
    },
  ];
}

function describeDropped({ cluster, port, keeps }: DroppedPort): string {
  const older = `the older ${quote(describePort(keeps))}`;
  const isNameless = port.name !== keeps.name && !isSameNumber(port, keeps);
  const why = isNameless
    ? `only a sole port may go without a name, and ${older} came first`
    : `${older} takes its place`;
  return ` Port ${quote(describePort(port))} of "${cluster}" is left out: ${why}.`;
}

function nameOldest(cluster: ClusterId): string {
  return `oldest service export in "${cluster}"`;
}

function count(disagreeing: number, total: number): string {
  return `${disagreeing}/${total} clusters disagree.`;
}

function quote(value: string): string {
  const shown =
    value.length > VALUE_LENGTH_SHOWN ? `${value.slice(0, VALUE_LENGTH_SHOWN)}…` : value;
  return `"${shown}"`;
}
