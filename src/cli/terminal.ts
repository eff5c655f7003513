// CLI: text that others wrote in, text of which a terminal obeys nothing out. In a file of its own, because every command may
// fail with such text, and none should load tables and YAML for that.

/** On one line. */
export function plain(text: string): string {
  return plainLine(text.replaceAll(/\s*\n\s*/g, " "));
}

/** Line by line. */
export function plainLines(text: string): string {
  return text.split("\n").map(plainLine).join("\n");
}

function plainLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "?");
}
