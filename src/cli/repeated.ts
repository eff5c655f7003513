// CLI: a flag that may be given more than once: one more value in, all of them in order out.

export function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}
