// Server-side apply, the refusal: owners and the fields that others hold in; the causes and the sentence of the 409 out.

import { type FieldSet, listPaths, renderPath } from "./fieldset.ts";
import { type Owner, ownerId } from "./managed.ts";

/** As a cause in the details of the 409. */
export interface Conflict {
  readonly reason: "FieldManagerConflict";
  readonly message: string;
  readonly field: string;
}

export interface ConflictResult {
  readonly kind: "conflict";
  /** The 409's message. */
  readonly message: string;
  readonly conflicts: readonly Conflict[];
}

export interface OwnedConflict {
  readonly owner: Owner;
  readonly fields: FieldSet;
}

export function renderConflicts(found: readonly OwnedConflict[]): ConflictResult {
  const sorted = [...found].sort((a, b) => (ownerId(a.owner) < ownerId(b.owner) ? -1 : 1));
  const conflicts = sorted.flatMap(({ owner, fields }) =>
    listPaths(fields).map(
      (path): Conflict => ({
        reason: "FieldManagerConflict",
        message: `conflict with ${renderOwner(owner)}`,
        field: renderPath(path),
      }),
    ),
  );
  const [only] = conflicts;
  if (conflicts.length === 1 && only !== undefined) {
    const message = `Apply failed with 1 conflict: ${only.message}: ${only.field}`;
    return { kind: "conflict", message, conflicts };
  }
  const lines = sorted.flatMap(({ owner, fields }) => [
    `conflicts with ${renderOwner(owner)}:`,
    ...listPaths(fields).map((path) => `- ${renderPath(path)}`),
  ]);
  const message = `Apply failed with ${conflicts.length} conflicts: ${lines.join("\n")}`;
  return { kind: "conflict", message, conflicts };
}

function renderOwner(owner: Owner): string {
  const name = JSON.stringify(owner.manager);
  const where =
    owner.subresource === ""
      ? name
      : `${name} with subresource ${JSON.stringify(owner.subresource)}`;
  return owner.operation === "Update" ? `${where} using ${owner.apiVersion}` : where;
}
