// Clusterset: one source of one import in, how the importing cluster judges it out, by what it made of its endpoints.

import type { EndpointSlice } from "../../api/builtin.ts";
import type { ClusterId } from "../../api/names.ts";
import type { ImportView } from "../import.ts";
import type { Liveness } from "../liveness.ts";
import { planSlices } from "../slices.ts";
import type { Received } from "./contribution.ts";
import { isHeard } from "./liveness.ts";
import { type ClusterRecord, type Clusterset, drainOf, isOnHub } from "./record.ts";

interface Facts {
  readonly importer: ClusterRecord;
  readonly source: ClusterRecord;
  readonly view: ImportView;
  readonly contribution: Received["contribution"];
  /** Those of the source. */
  readonly slices: readonly EndpointSlice[];
}

/** Undefined when it cannot be told: the slices fit no judgement, or may be late. */
export function judgeSource(set: Clusterset, facts: Facts): Liveness | undefined {
  const shown = judgeDrained(set, facts) ?? judgeBySlices(facts);
  return shown && believe(set, { ...facts, shown });
}

/** In this order: endpoints that are not ready at home look the same whatever is thought of their cluster. */
const JUDGEMENTS: readonly Liveness[] = ["live", "silent", "lost"];

function judgeBySlices(facts: Facts): Liveness | undefined {
  const { importer, view, contribution, slices } = facts;
  return JUDGEMENTS.find((liveness) => {
    const input = {
      cluster: importer.id,
      view,
      contributions: [contribution],
      livenessOf: () => liveness,
      isAwaited: () => false,
    };
    return planSlices(input, slices).length === 0;
  });
}

/**
 * That it is drained, if the slices are as they are to be then: not ready where others serve, and in use where nobody
 * does. Undefined also while the importing cluster has not acted on it.
 */
function judgeDrained(set: Clusterset, facts: Facts): Liveness | undefined {
  const { importer, view, source, contribution } = facts;
  const isDrained = (record: ClusterRecord | undefined): boolean =>
    record !== undefined && drainOf(record) !== undefined;
  if (!isDrained(source)) return undefined;
  // Not heard it is silent or lost rather than drained, unless its endpoints are to be kept then.
  if (!isHeard(set, source) && contribution.share.whenLost !== "keep") return undefined;
  const input = {
    cluster: importer.id,
    view,
    contributions: [contribution],
    livenessOf: (id: ClusterId) => (isDrained(set.byId.get(id)) ? "drained" : "live") as Liveness,
    // What others have there stays as it is, and counts.
    isAwaited: (id: ClusterId) => id !== source.id,
  };
  const slices = importer.importedSlices.get(view.service) ?? [];
  return planSlices(input, slices).length === 0 ? "drained" : undefined;
}

/**
 * Endpoints that are not there, or not ready, may as well be late as held back. So a source that is heard is not taken for
 * silent; on a hub it may be one that came and went too often. Nobody loses itself.
 */
function believe(
  set: Clusterset,
  found: {
    readonly importer: ClusterRecord;
    readonly source: ClusterRecord;
    readonly shown: Liveness;
  },
): Liveness | undefined {
  const { importer, source, shown } = found;
  if (shown === "live" || shown === "drained") return shown;
  if (importer.id === source.id) return undefined;
  if (!isHeard(set, source)) return shown;
  return shown === "silent" && isOnHub(set, source) ? "flapping" : undefined;
}
