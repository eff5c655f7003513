// Clusterset: one import and a cluster that would be gone in, the slices of drained sources that would be used again out: who
// is drained is held back only as long as others serve.

import type { EndpointSlice } from "../../api/builtin.ts";
import { type ClusterId, SOURCE_CLUSTER_LABEL } from "../../api/names.ts";
import { isReady } from "../fate.ts";
import { planSlices } from "../slices.ts";
import type { Standing } from "./standing.ts";

export function findReserve(standing: Standing, without: ClusterId): readonly EndpointSlice[] {
  const { importer, service, view, received, judged } = standing;
  const isHeldBack = (id: ClusterId): boolean => id !== without && judged.get(id) === "drained";
  const contributions = [...received].flatMap(([id, { contribution }]) =>
    isHeldBack(id) ? contribution : [],
  );
  if (view === undefined || contributions.length === 0) return [];
  const left = (importer.importedSlices.get(service) ?? []).filter(
    ({ metadata }) => metadata.labels?.[SOURCE_CLUSTER_LABEL] !== without,
  );
  const input = {
    cluster: importer.id,
    view,
    contributions,
    livenessOf: (id: ClusterId) => (isHeldBack(id) ? ("drained" as const) : ("live" as const)),
    isAwaited: (id: ClusterId) => !isHeldBack(id),
  };
  return planSlices(input, left).flatMap((write) => {
    if (write.verb === "delete") return [];
    const slice = write.object as EndpointSlice;
    return isReady(slice) ? [slice] : [];
  });
}
