// Page: the two ways to see the same thing: a picture or a table.

import { type Child, h } from "./element.ts";

export function renderSwitch(subject: string, shown: string): readonly Child[] {
  return ["picture", "table"].map((shape) =>
    h(
      "button",
      { type: "button", do: `show ${subject} ${shape}`, "aria-pressed": String(shown === shape) },
      shape === "picture" ? "Picture" : "Table",
    ),
  );
}
