// Policy: a JSON value with places to fill in, the CEL expression for it out. Pure.

/** A place in a text, and the CEL expression of the text that belongs there. */
export type Places = Readonly<Record<string, string>>;

/** `renderCel({ name: "join-<token>" }, { "<token>": "variables.token" })` is `{'name': 'join-' + variables.token}`. */
export function renderCel(value: unknown, places: Places = {}): string {
  if (typeof value === "string") return renderText(value, places);
  if (Array.isArray(value)) return `[${value.map((item) => renderCel(item, places)).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const fields = Object.entries(value).map(
      ([key, item]) => `${renderCel(key)}: ${renderCel(item, places)}`,
    );
    return `{${fields.join(", ")}}`;
  }
  return JSON.stringify(value);
}

function renderText(text: string, places: Places): string {
  let parts: readonly { readonly text?: string; readonly cel?: string }[] = [{ text }];
  for (const [place, cel] of Object.entries(places)) {
    parts = parts.flatMap((part) => {
      if (part.text === undefined) return [part];
      const pieces = part.text.split(place).map((piece) => ({ text: piece }));
      return pieces.flatMap((piece, index) => (index === 0 ? [piece] : [{ cel }, piece]));
    });
  }
  const terms = parts.flatMap((part) => part.cel ?? (part.text ? [quote(part.text)] : []));
  return terms.length === 0 ? "''" : terms.join(" + ");
}

function quote(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
