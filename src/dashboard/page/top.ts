// Page: the head: how it all is, and whether what is shown is of now.

import type { Connection } from "./feed.ts";
import { type Child, glyph, h } from "./element.ts";
import type { Model } from "./model.ts";
import { summarize } from "./summary.ts";
import { formatTime } from "./timeline.ts";

export function renderTop(model: Model | undefined, connection: Connection): readonly Child[] {
  const { level, words, counts } = summarize(model);
  return [
    h("p", { class: `verdict ${level}`, id: "verdict" }, glyph(level, level), h("span", {}, words)),
    h("p", { class: "counts" }, counts),
    h(
      "p",
      { class: `connection ${connection.state}`, id: "connection" },
      h("span", { class: "dot" }),
      sayConnection(connection),
    ),
  ];
}

function sayConnection({ state, since }: Connection): string {
  if (state === "live") return "Live";
  if (since === undefined) return "Connecting…";
  return `Reconnecting… as of ${formatTime(since)}`;
}
