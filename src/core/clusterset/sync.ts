// Clusterset: one import in, when it was last written and how long its last change took to arrive out, as far as objects
// tell: by the times in managedFields, which are whole seconds on the clocks of two API servers.

import type { EndpointSlice } from "../../api/builtin.ts";
import { importedSliceName } from "../../api/digest.ts";
import { type ClusterId, FIELD_MANAGER } from "../../api/names.ts";
import type { KubeObject } from "../../api/object.ts";
import { compareText } from "../order.ts";
import { type Clusterset, hasRead } from "./record.ts";
import type { Standing } from "./standing.ts";
import { parseTimeMs } from "./time.ts";

export interface SyncView {
  /** When Isthmus last changed the import or its endpoints, by the importing cluster's clock. */
  readonly writtenAt?: string;
  /** From the last change of a source's endpoints at home to their arrival here: two clocks, whole seconds. */
  readonly lagSeconds?: number;
  /** Since when a change of a source's endpoints has not arrived, by the source's clock. */
  readonly pendingSince?: string;
}

export function measureSync(set: Clusterset, standing: Standing): SyncView {
  const { importer, service } = standing;
  const slices = importer.importedSlices.get(service) ?? [];
  const serviceImport = importer.imports.get(service);
  const objects: readonly KubeObject[] = [...(serviceImport ? [serviceImport] : []), ...slices];
  const writtenAt = latest(objects.flatMap((object) => timesOf(object, FIELD_MANAGER)));
  const arrivals = [...standing.received.keys()].map((source) =>
    measureSource(set, standing, source),
  );
  const pendingSince = arrivals.flatMap(({ pending }) => pending ?? []).toSorted(compareText)[0];
  const lags = arrivals.flatMap(({ lagSeconds }) => lagSeconds ?? []);
  return {
    ...(writtenAt === undefined ? {} : { writtenAt }),
    ...(lags.length === 0 ? {} : { lagSeconds: Math.max(...lags) }),
    ...(pendingSince === undefined ? {} : { pendingSince }),
  };
}

function measureSource(
  set: Clusterset,
  standing: Standing,
  cluster: ClusterId,
): { readonly lagSeconds?: number; readonly pending?: string } {
  const { importer, service, judged } = standing;
  const source = set.byId.get(cluster);
  if (source === undefined || !hasRead(source, "slices")) return {};
  const copies = new Map(
    (importer.importedSlices.get(service) ?? []).map((slice) => [slice.metadata.name, slice]),
  );
  const originals = source.sourceSlices.get(service) ?? [];
  if (!judged.has(cluster) && standing.unknown.length === 0) {
    const pending = latest(originals.flatMap((slice) => timesOf(slice)));
    return pending === undefined ? {} : { pending };
  }
  // Of the slice that arrived last: older ones tell of older times.
  const pairs = originals
    .flatMap((original) => {
      const slice = original.metadata.name ?? "";
      const copy = copies.get(importedSliceName({ service, cluster, slice }));
      const arrivedAt = copy && latest(timesOf(copy, FIELD_MANAGER));
      return arrivedAt === undefined ? [] : [{ original, arrivedAt }];
    })
    .toSorted((a, b) => compareText(b.arrivedAt, a.arrivedAt));
  const [last] = pairs;
  return last === undefined ? {} : { ...measureArrival(last.original, last.arrivedAt) };
}

/** Something of the slice that does not travel may have changed since: then nothing can be told. */
function measureArrival(original: EndpointSlice, arrivedAt: string) {
  const changedMs = parseTimeMs(latest(timesOf(original)));
  const arrivedMs = parseTimeMs(arrivedAt);
  if (changedMs === undefined || arrivedMs === undefined || arrivedMs < changedMs) return {};
  return { lagSeconds: Math.round((arrivedMs - changedMs) / 1_000) };
}

function timesOf({ metadata }: KubeObject, manager?: string): readonly string[] {
  return (metadata.managedFields ?? []).flatMap((entry) =>
    manager === undefined || entry.manager === manager ? (entry.time ?? []) : [],
  );
}

function latest(times: readonly string[]): string | undefined {
  return times.toSorted(compareText).at(-1);
}
