// CLI: two texts in, what changed between them out, as lines that begin with "-", "+" or a space.

const CONTEXT_LINES = 2;

type Step = readonly [sign: " " | "-" | "+", line: string];

/** Only changed lines and two around each; empty when the texts are equal. */
export function renderDiff(before: string, after: string): readonly string[] {
  const steps = compare(before.split("\n"), after.split("\n"));
  const isNear = (at: number): boolean =>
    steps.slice(Math.max(0, at - CONTEXT_LINES), at + CONTEXT_LINES + 1).some(([s]) => s !== " ");
  const lines: string[] = [];
  let isGap = false;
  for (const [at, [sign, line]] of steps.entries()) {
    if (!isNear(at)) {
      isGap = true;
      continue;
    }
    if (isGap && lines.length > 0) lines.push("  …");
    isGap = false;
    lines.push(`${sign} ${line}`.trimEnd());
  }
  return lines;
}

/** The longest common subsequence stays; configuration files are small. */
function compare(before: readonly string[], after: readonly string[]): readonly Step[] {
  const common = [...before, ""].map(() => Array.from({ length: after.length + 1 }, () => 0));
  const at = (row: number, column: number): number => common[row]?.[column] ?? 0;
  for (let row = before.length - 1; row >= 0; row -= 1) {
    for (let column = after.length - 1; column >= 0; column -= 1) {
      const line = common[row];
      if (line === undefined) continue;
      line[column] =
        before[row] === after[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const steps: Step[] = [];
  for (let [row, column] = [0, 0]; row < before.length || column < after.length; ) {
    const [old, fresh] = [before[row], after[column]];
    if (old !== undefined && old === fresh) {
      steps.push([" ", old]);
      row += 1;
      column += 1;
    } else if (
      old !== undefined &&
      (fresh === undefined || at(row + 1, column) >= at(row, column + 1))
    ) {
      steps.push(["-", old]);
      row += 1;
    } else {
      steps.push(["+", fresh ?? ""]);
      column += 1;
    }
  }
  return steps;
}
