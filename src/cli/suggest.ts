// CLI: a name that nobody knows in, the known one that was probably meant out.

/** A sentence that says what to write instead. */
export function suggestName(name: string, known: readonly string[]): string {
  const nearest = findNearest(name, known);
  return nearest === undefined ? `There are ${known.join(", ")}.` : `Did you mean ${nearest}?`;
}

/** Undefined when none is near enough to be meant. Signs and letter case make no difference: "metrics-address" is metricsAddress. */
export function findNearest(name: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((each) => ({ each, distance: countEdits(squeeze(name), squeeze(each)) }))
    .toSorted((a, b) => a.distance - b.distance);
  const [first] = ranked;
  return first !== undefined && first.distance <= squeeze(first.each).length / 4
    ? first.each
    : undefined;
}

function squeeze(name: string): string {
  // A name of a setting has 18 letters at most; of more only the beginning counts, so that the work is bounded.
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, "")
    .slice(0, 64);
}

/** Letters to add, take away or replace (Levenshtein). */
function countEdits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let index = 0; index < from.length; index += 1) {
    const next = [index + 1];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (to[column - 1] === from[index] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
