// Embedded server, selection: the selectors of a query in, a predicate on objects out. Never reads storage.

import type { KubeObject } from "../api/object.ts";
import type { Kind } from "./kind.ts";
import { jsonOf } from "./metadata.ts";
import {
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
  SelectorError,
} from "./selector.ts";
import { badRequest } from "./status.ts";

export interface Selection {
  readonly isAll: boolean;
  readonly matches: (object: KubeObject) => boolean;
}

const ALL: Selection = { isAll: true, matches: () => true };

/** Built-in kinds that offer nothing of their own word the refusal in another way. */
function parseFields(kind: Kind, text: string): ReturnType<typeof parseFieldSelector> {
  const { selectableFields } = kind.rules;
  if (selectableFields !== undefined || !kind.served.builtin) {
    return parseFieldSelector(text, selectableFields ?? []);
  }
  const only = '"metadata.name", "metadata.namespace"';
  const refusal = (path: string): string =>
    `${JSON.stringify(path)} is not a known field selector: only ${only}`;
  return parseFieldSelector(text, [], refusal);
}

/** `name` is that of a path which names one object: a watch of it selects just that. */
export function parseSelection(kind: Kind, query: URLSearchParams, name?: string): Selection {
  const labelText = query.get("labelSelector") ?? "";
  const fieldText = query.get("fieldSelector") ?? "";
  if (labelText === "" && fieldText === "" && name === undefined) return ALL;
  try {
    const labels = parseLabelSelector(labelText);
    const fields = parseFields(kind, fieldText);
    return {
      isAll: labels.length === 0 && fields.length === 0 && name === undefined,
      matches: (object) =>
        (name === undefined || object.metadata.name === name) &&
        matchesLabels(labels, object.metadata.labels) &&
        (fields.length === 0 || matchesFields(fields, jsonOf(object))),
    };
  } catch (error) {
    if (error instanceof SelectorError) throw badRequest(error.message);
    throw error;
  }
}
