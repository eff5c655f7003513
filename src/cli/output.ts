// CLI: objects in, YAML for kubectl out; outcomes in, a table or a sentence out.

import { stringify } from "yaml";
import { apiVersionOf, type KubeObject } from "../api/object.ts";
import type { Placed } from "../controllers/place.ts";
import type { Removal } from "../hub/manifest/resource.ts";
import type { CliContext } from "./context.ts";
import { renderRows } from "./table.ts";
import { plain } from "./terminal.ts";

/** One document for each; `title` becomes a comment in front of the first. */
export function printYaml(
  context: CliContext,
  title: string,
  objects: readonly KubeObject[],
): void {
  for (const [index, object] of objects.entries()) {
    const comment = index === 0 ? `# ${title}\n` : "";
    const text = stringify(object, { aliasDuplicateObjects: false, lineWidth: 0 });
    context.out(`---\n${comment}${text.trimEnd()}`);
  }
}

/** As much of an object as kubectl delete needs. */
export function renderDoomed(removals: readonly Removal[]): readonly KubeObject[] {
  return removals.map(({ resource, ref }) => ({
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { ...ref },
  }));
}

export function printPlaced(context: CliContext, placed: readonly Placed[]): void {
  const rows = placed.map(({ resource, ref, outcome }) => [
    resource.kind,
    ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`,
    outcome,
  ]);
  for (const line of renderRows(["KIND", "NAME", "RESULT"], rows)) context.out(line);
}

/** "3 ServiceImports, 1 Service"; "nothing". */
export function countKinds(removed: readonly Removal[]): string {
  const counts = new Map<string, number>();
  for (const { resource } of removed) {
    counts.set(resource.kind, (counts.get(resource.kind) ?? 0) + 1);
  }
  const parts = [...counts].map(
    ([kind, count]) => `${count} ${count === 1 ? kind : pluralOf(kind)}`,
  );
  return parts.length === 0 ? "nothing" : parts.join(", ");
}

function pluralOf(kind: string): string {
  return kind.endsWith("y") ? `${kind.slice(0, -1)}ies` : `${kind}s`;
}

export function warn(context: CliContext, sentences: readonly string[]): void {
  for (const sentence of sentences) context.error(`warning: ${plain(sentence)}`);
}
