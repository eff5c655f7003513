// Page: an explanation in, a tree to open and close out: what goes wrong is open, what is well can be opened.

import { type Child, type Element, glyph, h } from "./element.ts";

/** As in src/core/clusterset/explanation.ts, which stands on code that no browser has. */
export interface Explanation {
  readonly what: string;
  readonly verdict: "good" | "bad" | "unknown";
  readonly why: string;
  readonly next?: string;
  readonly inUse?: boolean;
  readonly parts: readonly Explanation[];
}

/** What the server said about the selected service. */
export type Explained =
  | { readonly state: "asking" }
  | { readonly state: "told"; readonly explanation: Explanation }
  | { readonly state: "failed"; readonly why: string };

const LEVELS = { good: "well", bad: "bad", unknown: "unknown" } as const;
const WORDS = { good: "good", bad: "bad", unknown: "cannot be told" } as const;

export function renderExplained(explained: Explained): readonly Child[] {
  if (explained.state === "asking") return [h("p", { class: "faint" }, "Asking…")];
  if (explained.state === "failed") {
    return [h("p", { class: "state bad" }, glyph("bad", "bad"), h("span", {}, explained.why))];
  }
  const { explanation } = explained;
  const parts = explanation.parts.map((part, index) => renderPart(part, String(index)));
  return [
    h("p", {}, explanation.why),
    ...renderNext(explanation),
    h("ul", { class: "tree" }, parts),
  ];
}

function renderPart(part: Explanation, path: string): Element {
  const { what, verdict, inUse, parts } = part;
  const level = LEVELS[verdict];
  const head = [
    glyph(level, level),
    h("span", { class: "unseen" }, `${WORDS[verdict]}: `),
    h("b", {}, what),
    inUse === true && h("span", { class: "tag" }, "in use"),
  ];
  const words = [h("span", { class: "why" }, part.why), ...renderNext(part)];
  const key = `${path} ${what}`;
  if (parts.length === 0) return h("li", { key }, h("div", { class: "leaf" }, ...head), ...words);
  return h(
    "li",
    { key },
    h(
      "details",
      { open: verdict === "bad" },
      h("summary", {}, ...head),
      ...words,
      h(
        "ul",
        {},
        parts.map((each, index) => renderPart(each, `${path}.${index}`)),
      ),
    ),
  );
}

function renderNext({ next }: Explanation): readonly Child[] {
  return next === undefined ? [] : [h("span", { class: "next" }, next)];
}
