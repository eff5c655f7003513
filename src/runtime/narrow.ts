// Runtime: JSON text in, the same JSON in one byte for each character out. Text that is kept for long is worth it: one
// character beyond Latin-1 would double the memory of all others.

const BEYOND_LATIN_1 = /[\u0100-\uffff]/;
const BEYOND_LATIN_1_ALL = /[\u0100-\uffff]/g;

/** In JSON such characters only stand inside strings, where an escape means the same. */
export function narrowJson(text: string): string {
  if (!BEYOND_LATIN_1.test(text)) return text;
  const escaped = text.replaceAll(
    BEYOND_LATIN_1_ALL,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  // Replaced text may still be stored in two bytes for each character.
  return Buffer.from(escaped, "latin1").toString("latin1");
}
